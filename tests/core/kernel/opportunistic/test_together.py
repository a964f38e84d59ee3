"""Gangs of opportunistic pods start together or not at all, and go one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from core.builders import Scenario
from core.kernel.opportunistic.idle_pods import bound, evicted, idle, seen
from treadle.core.effects import Withhold
from treadle.core.events import ApplicationSeen, BindFailed, PodSeen
from treadle.core.model import ApplicationSpec, Constraints, GangSpec, HostPort, Limit, PodSpec

PORT = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))


def gang(name: str, count: int, least: int, cpu: int = 1, **fields: Any) -> list[PodSpec]:
    """Pods of a gang of the application of its name."""
    return [
        idle(f"{name}{at}", application=name, cpu=cpu, gang="g", gang_minimums=(("g", least),), **fields) for at in range(count)
    ]


def test_a_gang_starts_when_there_is_room_for_as_many_as_it_starts_with() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 3, 3))
    assert bound(scenario) == {}
    reason, message = scenario.why("a0")
    assert reason == "NoIdleRoom"
    assert message.startswith('gang "g" needs room for 3 pods at once; opportunistic pods get what no pod requests')
    assert set(bound(scenario.node("more", cpu=1).wait(1))) == {"a0", "a1", "a2"}


def test_pods_beyond_the_minimum_come_one_by_one() -> None:
    scenario = seen(Scenario().nodes(1, cpu=3), *gang("a", 5, 2))
    assert len(bound(scenario)) == 3
    assert len(bound(scenario.node("more", cpu=1).wait(1))) == 1


def test_one_that_finds_no_room_leaves_it_to_others() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 3, 3), *gang("b", 2, 2), idle("o", application="c"))
    assert set(bound(scenario)) <= {"b0", "b1"}
    assert scenario.core.state.opportunistic.by_application == {"ns/b": [2 * (1 << 30), 2000]}


def test_a_gang_waits_until_all_that_it_starts_with_are_there() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *gang("a", 2, 3))
    assert bound(scenario) == {}
    words = 'gang "g" starts with 3 pods: 0 are placed and 2 wait, the others are not there yet'
    assert scenario.why("a0") == ("GangIncomplete", words)
    seen(scenario, replace(gang("a", 1, 3)[0], uid="late", name="late"))
    assert len(bound(scenario.wait(1))) == 3


def test_the_word_of_its_application_counts() -> None:
    scenario = Scenario().nodes(1, cpu=8)
    scenario.tell(ApplicationSeen(ApplicationSpec("ns/a", gangs=(GangSpec("g", 3),))))
    assert bound(seen(scenario, *gang("a", 2, 2))) == {}
    assert scenario.why("a0")[0] == "GangIncomplete"


def test_one_that_nobody_says_the_minimum_of_waits_for_it() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *(replace(one, gang_minimums=()) for one in gang("a", 2, 2)))
    assert bound(scenario) == {}
    assert scenario.why("a0")[0] == "GangIncomplete"


def test_rules_between_its_pods_hold_while_they_are_tried() -> None:
    scenario = seen(Scenario().nodes(1, cpu=8), *gang("a", 2, 2, constraints=PORT))
    assert bound(scenario) == {}, "both want the same port"
    assert scenario.core.state.opportunistic.of == {}
    assert set(bound(scenario.node("more", cpu=8).wait(1)).values()) == {"node-0", "more"}


def test_a_gang_that_lost_a_pod_is_completed_by_the_one_that_comes() -> None:
    scenario = seen(Scenario().queue("root.a").nodes(1, cpu=2), *gang("a", 2, 2, queue="root.a"))
    assert len(bound(scenario)) == 2
    scenario.pod("g", "root.a", cpu=1)
    bound(scenario.wait(5))
    (lost,) = evicted(scenario)
    scenario.gone(lost)
    seen(scenario.node("more", cpu=1).wait(1000), replace(gang("a", 1, 2, queue="root.a")[0], uid="again", name="again"))
    assert bound(scenario.wait(1)) == {"again": "more"}


def test_the_maximum_of_its_queue_counts_for_all_of_it() -> None:
    scenario = Scenario().queue("root.a", max_opportunistic={"cpu": Limit(2000)}).nodes(1, cpu=8)
    seen(scenario, *(replace(one, queue="root.a") for one in gang("a", 3, 3)))
    assert bound(scenario) == {}
    scenario.queue("root.a", max_opportunistic={"cpu": Limit(3000)})
    assert len(bound(scenario.wait(1))) == 3


def test_one_whose_bind_fails_takes_back_the_others_that_were_not_sent() -> None:
    scenario = seen(Scenario().nodes(1, cpu=2), *gang("a", 2, 2))
    first, second = scenario.plan()
    scenario.tell(BindFailed(first.uid, "transient", "no"))
    scenario.plan()
    assert [one.uids for one in scenario.effects if isinstance(one, Withhold)] == [(second.uid,)]
    scenario.tell(BindFailed(second.uid, "transient", "not sent"))
    assert len(bound(scenario.wait(60))) == 2


def test_a_gang_that_is_to_have_one_value_of_a_label_is_told_that_it_cannot() -> None:
    scenario = seen(Scenario().nodes(1, cpu=4), *gang("a", 2, 2, gang_topology=("zone", True)))
    assert bound(scenario) == {}
    assert scenario.why("a0")[0] == "NotTogether"


@settings(max_examples=100, deadline=None)
@given(
    nodes=st.lists(st.integers(1, 4), max_size=4),
    gangs=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=5),
    more=st.lists(st.integers(1, 4), max_size=3),
)
def test_no_gang_ever_has_fewer_than_it_starts_with(
    nodes: list[int], gangs: list[tuple[int, int, int, bool]], more: list[int]
) -> None:
    scenario = Scenario()
    for number, cpu in enumerate(nodes):
        scenario.node(f"n{number}", cpu=cpu)
    least = {}
    for number, (count, minimum, cpu, port) in enumerate(gangs):
        least[f"a{number}x"] = minimum
        seen(scenario, *gang(f"a{number}x", count, minimum, cpu, constraints=PORT if port else Constraints()))
    for number, cpu in enumerate([0, *more]):
        if cpu:
            scenario.node(f"more{number}", cpu=cpu)
        binds = scenario.wait(2).plan()
        running = Counter(one.application.partition("/")[2] for one in scenario.core.state.opportunistic.of.values())
        assert all(count >= least[name] for name, count in running.items())
        for bind in binds:
            scenario.tell(PodSeen(replace(scenario.core.state.pods[bind.uid].spec, node=bind.node)))
