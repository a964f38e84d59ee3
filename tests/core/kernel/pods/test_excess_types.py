"""Sums that no column of 64 bits can hold: each amount is allowed by itself, and whoever asks for it must not stop the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.builders import Scenario, a_pod, replaced
from treadle.core.events import NodeSeen, PodSeen
from treadle.core.kernel.pods.excess_types import MOST_TYPES
from treadle.core.model import NodeSpec
from treadle.core.units.resources import UNBOUNDED

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


def odd_demand(number: int, count: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted([("cpu", 1000), ("pods", 1), *((f"example.com/{number}-{each}", 1) for each in range(count))]))


def test_pods_that_name_thousands_of_resource_types_do_not_blow_up_every_vector() -> None:
    scenario = Scenario().nodes(3).queue("root.a")
    for number in range(50):
        scenario.tell(PodSeen(replaced(a_pod(f"odd-{number}", "root.a"), demand=odd_demand(number, 100))))
    scenario.tell(PodSeen(replaced(a_pod("theirs", "root.a"), demand=odd_demand(99, 100), scheduler="other", node="node-0")))
    scenario.pods(2, "p", "root.a", "modest")
    assert {bind.uid for bind in scenario.plan()} == {"p-0", "p-1"}
    assert len(scenario.core.state.types) <= MOST_TYPES
    reason, words = scenario.why("odd-7")
    assert reason == "InvalidPod"
    assert "no node has example.com/7-0, and 3 resource types are counted already; at most 64" in words
    scenario.gone("odd-7").wait(1.0).plan()
    assert "odd-7" not in scenario.core.state.excess_types


def test_a_few_types_that_no_node_has_yet_are_waited_for_by_name() -> None:
    scenario = Scenario().nodes(1).queue("root.a")
    scenario.tell(PodSeen(replaced(a_pod("gpu", "root.a"), demand=(("cpu", 1000), ("nvidia.com/gpu", 1), ("pods", 1)))))
    scenario.plan()
    assert "Insufficient nvidia.com/gpu" in scenario.why("gpu")[1]


def test_a_pod_that_asks_for_too_many_types_is_looked_at_again_when_a_node_has_them() -> None:
    scenario = Scenario().nodes(1).queue("root.a")
    scenario.tell(PodSeen(replaced(a_pod("waits", "root.a"), demand=odd_demand(0, 100))))
    scenario.tell(PodSeen(replaced(a_pod("runs", "root.a", "other"), demand=odd_demand(0, 100), node="rich")))
    assert scenario.plan() == []
    scenario.node("rich", resources={f"example.com/0-{each}": 2 for each in range(100)}).wait(1.0)
    assert [(bind.uid, bind.node) for bind in scenario.plan()] == [("waits", "rich")]
    assert scenario.free("rich", "example.com/0-42") == 0
    assert not scenario.core.state.excess_types
