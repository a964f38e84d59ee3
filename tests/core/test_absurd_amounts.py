"""Sums that no column of 64 bits can hold: each amount is allowed by itself, and whoever asks for it must not stop the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.builders import Scenario, a_pod, replaced
from treadle.core.events import NodeSeen, PodSeen
from treadle.core.model import NodeSpec
from treadle.core.resources import UNBOUNDED

HUGE = (("cpu", UNBOUNDED), ("ephemeral-storage", UNBOUNDED), ("memory", UNBOUNDED), ("pods", 1))
MANY = 40


def huge_pods(scenario: Scenario, prefix: str = "huge", **fields: str) -> None:
    for number in range(MANY):
        one = a_pod(f"{prefix}-{number}", "root.greedy", f"greedy-{number % 3}")
        scenario.tell(PodSeen(replaced(one, demand=HUGE, **fields)))


def huge_nodes(scenario: Scenario) -> None:
    for number in range(MANY):
        scenario.tell(NodeSeen(NodeSpec(f"huge-{number}", {"cpu": UNBOUNDED, "memory": UNBOUNDED, "pods": 110})))
    huge_pods(scenario)


SITUATIONS: dict[str, Callable[[Scenario], None]] = {
    "others' pods fill a node": lambda scenario: huge_pods(scenario, scheduler="other", node="node-0"),
    "pods wait": huge_pods,
    "pods are on a node": lambda scenario: huge_pods(scenario, node="node-0"),
    "pods are on a node that is not there": lambda scenario: huge_pods(scenario, node="nowhere"),
    "nodes have it": huge_nodes,
}


@pytest.mark.parametrize("discipline", ["Fair", "Capacity"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_whoever_asks_for_more_than_can_be_counted_does_not_stop_the_others(situation: str, discipline: str) -> None:
    scenario = Scenario().scheduler(discipline=discipline).nodes(3).queue("root.greedy").queue("root.modest")
    scenario.plan()
    SITUATIONS[situation](scenario)
    for _ in range(4):
        scenario.wait(5.0).confirm(scenario.plan())
        scenario.core.refresh_shares()
    scenario.pods(2, "p", "root.modest", "modest")
    assert {bind.uid for bind in scenario.plan()} >= {"p-0", "p-1"}
    scenario.core.refresh_shares()
    scenario.everybody_says_why()


def test_others_pods_take_no_more_from_what_is_shared_than_their_nodes_have() -> None:
    scenario = Scenario().nodes(2).queue("root.a")
    huge_pods(scenario, scheduler="other", node="node-0")
    huge_pods(scenario, "lost", scheduler="other", node="nowhere")
    scenario.wait(1.0).plan()
    state = scenario.core.state
    assert state.cluster.total[state.types.index["cpu"]] == 4000
    scenario.node("node-0", cpu=8).wait(1.0).plan()
    assert state.cluster.total[state.types.index["cpu"]] == 4000
    scenario.gone(*(f"huge-{number}" for number in range(MANY))).wait(1.0).plan()
    assert state.cluster.total[state.types.index["cpu"]] == 12000
