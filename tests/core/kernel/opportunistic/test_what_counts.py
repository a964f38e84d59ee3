"""What counts as an opportunistic pod is what the pod that runs requests, whoever bound it and however it was edited before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.builders import Scenario, amounts
from core.kernel.opportunistic.idle_pods import bound, idle, on_node, seen
from treadle.core.events import BindFailed, PodSeen

REQUESTS = amounts(1, 2)


def scene() -> Scenario:
    return Scenario().queue("root.a").nodes(2, cpu=4)


def counted(scenario: Scenario) -> tuple[set[str], float]:
    """Who counts as opportunistic, and the memory that the queue is charged, in GiB."""
    return set(scenario.core.state.opportunistic.of), scenario.used("root.a", "memory")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_one_whose_requests_were_edited_while_its_bind_was_under_way_and_whom_another_bound_is_guaranteed(
    elsewhere: bool,
) -> None:
    scenario = seen(scene(), idle("o", "root.a"))
    (bind,) = scenario.plan()
    edited = replace(idle("o", "root.a"), demand=REQUESTS, version="2")
    scenario.tell(PodSeen(edited))
    assert counted(scenario) == ({"o"}, 0), "what was decided counts until it is known what became of it"
    there = bind.node if not elsewhere else next(f"node-{at}" for at in range(2) if f"node-{at}" != bind.node)
    scenario.tell(PodSeen(on_node(edited, there)), BindFailed("o", "gone", "409"))
    scenario.plan()
    assert counted(scenario) == (set(), 2)
    assert scenario.free(there, "memory") == 14


def test_one_that_was_edited_twice_is_held_against_what_was_decided() -> None:
    scenario = seen(scene(), idle("o", "root.a"))
    (bind,) = scenario.plan()
    edited = replace(idle("o", "root.a"), demand=REQUESTS)
    seen(scenario, replace(edited, version="2"), replace(edited, priority=1, version="3"))
    seen(scenario, on_node(replace(edited, priority=1), bind.node)).plan()
    assert counted(scenario) == (set(), 2)


def test_a_guaranteed_one_whose_requests_were_edited_meanwhile_counts_for_what_it_requests() -> None:
    scenario = scene().pod("g", "root.a", cpu=1, memory=1)
    (bind,) = scenario.plan()
    edited = replace(scenario.core.state.pods["g"].spec, demand=REQUESTS)
    seen(scenario, edited, on_node(edited, bind.node)).plan()
    assert counted(scenario) == (set(), 2)
    assert scenario.free(bind.node, "memory") == 14


def test_one_that_waits_and_is_edited_and_bound_by_another_is_guaranteed() -> None:
    scenario = seen(scene(), *(idle(f"f{at}", "root.a", cpu=4) for at in range(2)))
    bound(scenario)
    edited = replace(idle("o", "root.a"), demand=REQUESTS)
    seen(scenario, idle("o", "root.a"), edited, on_node(edited, "node-0"))
    scenario.plan()
    assert counted(scenario) == ({"f0", "f1"}, 2)


def test_one_whose_bind_fails_after_an_edit_waits_as_what_it_is_by_now() -> None:
    scenario = seen(scene(), idle("o", "root.a"))
    (bind,) = scenario.plan()
    seen(scenario, replace(idle("o", "root.a"), demand=REQUESTS, version="2"))
    scenario.fail(bind).wait(5)
    (again,) = scenario.plan()
    assert (again.uid, *counted(scenario)) == ("o", set(), 2)


def test_a_core_that_is_told_of_a_bind_under_way_and_an_edit_counts_what_was_decided() -> None:
    scenario = seen(scene(), idle("o", "root.a"))
    (bind,) = scenario.plan()
    edited = replace(idle("o", "root.a"), opportunistic=(), demand=REQUESTS, version="2")
    scenario.tell(PodSeen(edited))
    heir = Scenario().wait(scenario.now).tell(*scenario.core.facts())
    assert counted(heir) == counted(scenario) == ({"o"}, 0)
    seen(heir, on_node(edited, bind.node)).plan()
    assert counted(heir) == (set(), 2)
