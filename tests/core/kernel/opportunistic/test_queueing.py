"""Queues at nodes: who finds no room waits for that of some nodes, in the order in which it came there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from core.builders import Scenario, amounts, limits
from core.kernel.opportunistic.idle_pods import bound, idle, seen
from treadle.core.events import NodeSampled, PodGone, QueueSeen, SchedulerSeen
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.room import Room
from treadle.core.model import Constraints, HostPort, QueueSpec, SchedulerSpec, Taint, Toleration
from treadle.core.model.opportunistic import METRICS, NodePolicy, NodeQueueSettings, OpportunisticSettings, Threshold


def with_queues(**said: Any) -> Scenario:
    return Scenario().scheduler(opportunistic=OpportunisticSettings(node_queues=NodeQueueSettings(**said)))


def standing(scenario: Scenario) -> dict[str, list[str]]:
    """Who stands at which node, in order."""
    return {node: list(line) for node, line in scenario.core.state.opportunistic.queues.at.items()}


def filled(scenario: Scenario, nodes: int = 1, cpu: int = 4) -> Scenario:
    """Nodes whose room opportunistic pods of one core each have taken: ``f-NODE-NUMBER``."""
    scenario.nodes(nodes, cpu=cpu)
    for at in range(nodes):
        for number in range(cpu):
            seen(scenario, idle(f"f-{at}-{number}"))
    assert len(bound(scenario)) == nodes * cpu
    return scenario


def test_a_pod_that_finds_no_room_stands_at_as_many_nodes_as_it_may() -> None:
    scenario = filled(with_queues(nodes_per_pod=2), nodes=3)
    seen(scenario, idle("o"))
    assert bound(scenario.wait(1)) == {}
    assert list(standing(scenario).values()) == [["o"], ["o"]]
    nodes = list(standing(scenario))
    reason, message = scenario.why("o")
    assert reason == "NoIdleRoom"
    assert f"it stands at {nodes[0]} (number 1 of 1), {nodes[1]} (number 1 of 1)" in message


def test_it_goes_to_the_first_of_its_nodes_that_has_room_and_stands_nowhere_then() -> None:
    scenario = filled(with_queues(nodes_per_pod=2), nodes=2)
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    gone = next(uid for uid, one in scenario.core.state.opportunistic.of.items() if one.row == 1)
    assert bound(scenario.gone(gone).wait(1)) == {"o": "node-1"}
    assert standing(scenario) == {}


def test_a_smaller_pod_does_not_overtake_the_head_of_a_queue_for_the_room_of_its_node() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("large", cpu=3))
    bound(scenario.wait(1))
    seen(scenario, idle("small"))
    assert bound(scenario.wait(1)) == {}
    for at in range(2):
        assert bound(scenario.gone(f"f-0-{at}").wait(1)) == {}
    assert bound(scenario.gone("f-0-2").wait(1)) == {"large": "node-0"}
    assert bound(scenario.gone("f-0-3").wait(1)) == {"small": "node-0"}


def test_without_queues_the_smaller_one_goes_first() -> None:
    scenario = filled(Scenario())
    seen(scenario, idle("large", cpu=3))
    bound(scenario.wait(1))
    seen(scenario, idle("small"))
    assert bound(scenario.gone("f-0-0").wait(1)) == {"small": "node-0"}
    assert standing(scenario) == {}


def test_a_node_without_a_queue_takes_whoever_comes_those_that_stand_elsewhere_too() -> None:
    scenario = filled(with_queues(nodes_per_pod=1))
    seen(scenario, idle("o1"), idle("o2"))
    assert bound(scenario.wait(1)) == {}
    assert bound(scenario.node("new", cpu=1).wait(1)) == {"o1": "new"}
    assert standing(scenario) == {"node-0": ["o2"]}


def test_no_more_stand_at_a_node_than_may_and_the_others_come_when_there_are_places() -> None:
    scenario = filled(with_queues(nodes_per_pod=1, least=1, most=2))
    seen(scenario, *(idle(f"o{at}") for at in range(4)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o0", "o1"]}
    assert "it stands at no node" in scenario.why("o3")[1]
    assert bound(scenario.gone("f-0-0").wait(1)) == {"o0": "node-0"}
    assert standing(scenario) == {"node-0": ["o1", "o2"]}
    seen(scenario, idle("o4"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o1", "o2"]}, "where all are full nobody is sent away"
    figures = scenario.core.view.opportunistic()
    assert (figures.waiting, figures.queued, figures.queue_limit, figures.shed) == (4, 2, 2, 0)


def test_a_queue_far_longer_than_the_others_gives_up_its_last_pods_and_they_come_to_the_others() -> None:
    said = {"nodes_per_pod": 1, "deviations": 0.0, "least": 1, "most": 8}
    scenario = filled(with_queues(**said))
    seen(scenario, *(idle(f"o{at}") for at in range(8)))
    bound(scenario.wait(1))
    assert len(standing(scenario)["node-0"]) == 8
    for at in range(1, 4):
        scenario.node(f"node-{at}", cpu=1)
        seen(scenario, idle(f"f{at}", priority=9))
    bound(scenario.wait(1))
    for _ in range(6):
        seen(scenario, idle(f"late{scenario.now}", cpu=9))  # no node is large enough: it stands nowhere
        bound(scenario.wait(1))
    lengths = {node: len(line) for node, line in standing(scenario).items()}
    assert max(lengths.values()) <= 2
    assert scenario.core.view.opportunistic().shed > 0


def test_by_wait_the_node_is_better_whose_pods_have_run_for_less_long() -> None:
    scenario = filled(with_queues(by_wait=True, nodes_per_pod=1, candidates=1), nodes=1)
    scenario.wait(100).node("young", cpu=4)
    seen(scenario, *(idle(f"y{at}") for at in range(4)))
    bound(scenario)
    seen(scenario.wait(1), idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"young": ["o"]}


def test_one_that_is_held_by_a_rule_and_not_by_room_does_not_keep_back_those_behind_it() -> None:
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    scenario = with_queues().nodes(1, cpu=2)
    bound(seen(scenario, idle("web", constraints=port), idle("f")))
    seen(scenario.wait(1), idle("second", constraints=port))
    bound(scenario)
    seen(scenario.wait(1), idle("o"))
    bound(scenario)
    assert standing(scenario) == {"node-0": ["second", "o"]}
    assert bound(scenario.gone("f").wait(1)) == {"o": "node-0"}


def test_one_whose_queue_has_its_maximum_lets_others_go_first() -> None:
    scenario = with_queues().tell(QueueSeen(QueueSpec("root.a", max_opportunistic=limits(cpu=1))))
    scenario.tell(QueueSeen(QueueSpec("root.b"))).nodes(1, cpu=2)
    bound(seen(scenario, idle("a0", "root.a", "a"), idle("b0", "root.b", "b")))
    seen(scenario.wait(1), idle("a1", "root.a", "a"))
    bound(scenario.wait(1))
    seen(scenario, idle("b1", "root.b", "b"))
    bound(scenario.wait(1))
    assert bound(scenario.gone("b0").wait(1)) == {"b1": "node-0"}


def test_those_that_wait_for_their_maximum_or_a_rule_close_no_node_to_others() -> None:
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    scenario = with_queues(nodes_per_pod=1, least=1, most=2).tell(QueueSeen(QueueSpec("root.a", max_opportunistic=limits(cpu=1))))
    scenario.tell(QueueSeen(QueueSpec("root.b"))).nodes(1, cpu=3)
    bound(seen(scenario, idle("a0", "root.a", "a"), idle("web", "root.b", constraints=port), idle("f", "root.b")))
    seen(scenario.wait(1), *(idle(f"a{at}", "root.a", "a") for at in range(1, 4)))
    seen(scenario, *(idle(f"web{at}", "root.b", constraints=port) for at in range(2)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["web0", "web1"]}
    seen(scenario, idle("o", "root.b"))
    assert bound(scenario.gone("f").wait(1)) == {"o": "node-0"}


@pytest.mark.parametrize(
    ("settings", "largest"),
    [
        (OpportunisticSettings(policy=NodePolicy(most=500), node_queues=NodeQueueSettings()), 2),
        (OpportunisticSettings(node_queues=NodeQueueSettings()), 4),
    ],
)
def test_one_that_a_node_could_never_give_its_room_does_not_stand_there(settings: OpportunisticSettings, largest: int) -> None:
    scenario = Scenario().scheduler(opportunistic=settings).nodes(1, cpu=4)
    bound(seen(scenario, idle("f", cpu=largest)))
    seen(scenario.wait(1), idle("huge", cpu=largest + 1), idle("large", cpu=largest))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large"]}


def test_who_stands_at_a_node_that_becomes_too_small_for_it_leaves_it() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("large", cpu=4), idle("small"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large", "small"]}
    half = OpportunisticSettings(policy=NodePolicy(most=500), node_queues=NodeQueueSettings())
    scenario.tell(SchedulerSeen(SchedulerSpec(opportunistic=half)))
    scenario.gone("f-0-0", "f-0-1", "f-0-2")
    assert bound(scenario.wait(1)) == {"small": "node-0"}
    assert standing(scenario) == {}


def test_nobody_stands_at_a_node_of_which_it_is_not_known_what_it_uses() -> None:
    by_usage = OpportunisticSettings(
        METRICS, policy=NodePolicy((("cpu", Threshold(800, 900)),)), node_queues=NodeQueueSettings(nodes_per_pod=4)
    )
    scenario = Scenario().scheduler(opportunistic=by_usage).nodes(2, cpu=4)
    scenario.tell(NodeSampled("node-0", (("cpu", 4000), ("memory", 0)), scenario.now))
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o"]}
    scenario.wait(120).tell(NodeSampled("node-1", (("cpu", 4000), ("memory", 0)), scenario.now))
    bound(scenario.wait(1))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-1": ["o"]}


def test_gangs_stand_nowhere_and_start_with_what_queues_leave() -> None:
    scenario = filled(with_queues())
    gang = {"gang": "crew", "gang_minimums": (("crew", 2),)}
    seen(scenario, idle("large", cpu=4))
    bound(scenario.wait(1))
    seen(scenario, *(idle(f"g{at}", application="crew", **gang) for at in range(2)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large"]}
    assert bound(scenario.gone("f-0-0", "f-0-1").wait(1)) == {"g0": "node-0", "g1": "node-0"}


def test_who_is_gone_and_what_is_gone_leave_the_queues() -> None:
    scenario = filled(with_queues(), nodes=2)
    seen(scenario, idle("o1"), idle("o2"))
    bound(scenario.wait(1))
    scenario.gone("o1")
    assert all(line == ["o2"] for line in standing(scenario).values())
    scenario.without_node("node-0").plan()
    seen(scenario.wait(1), idle("o3"))
    bound(scenario)
    assert standing(scenario) == {"node-1": ["o2", "o3"]}


def test_one_that_is_edited_while_it_stands_keeps_its_place_and_one_that_becomes_guaranteed_has_none() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("o1"), idle("o2"))
    bound(scenario.wait(1))
    seen(scenario, replace(idle("o1"), version="2"))
    assert standing(scenario) == {"node-0": ["o1", "o2"]}
    assert "number 1 of 2" in scenario.why("o1")[1]
    assert bound(scenario.gone("f-0-0").wait(1)) == {"o1": "node-0"}
    seen(scenario, idle("o3"))
    bound(scenario.wait(1))
    seen(scenario, replace(idle("o2"), opportunistic=(), demand=amounts(9)))
    scenario.gone("f-0-1")
    assert bound(scenario.wait(1)) == {"o3": "node-0"}
    assert standing(scenario) == {}


@pytest.mark.parametrize("what", ["gated", "gone"])
def test_what_was_kept_for_one_that_waits_no_longer_is_had_by_the_next(what: str) -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("large", cpu=2))
    bound(scenario.wait(1))
    seen(scenario, idle("small"))
    assert bound(scenario.wait(1).gone("f-0-0").wait(1)) == {}, "it is kept for the large one"
    assert bound(scenario.wait(1)) == {}
    if what == "gated":
        seen(scenario, replace(idle("large", cpu=2), gated=True))
    else:
        scenario.gone("large")
    assert bound(scenario.wait(1)) == {"small": "node-0"}


def test_there_are_no_queues_any_more_when_the_scheduler_does_not_say_so() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o"]}
    scenario.tell(SchedulerSeen(SchedulerSpec()))
    assert bound(scenario.gone("f-0-0").wait(1)) == {"o": "node-0"}
    assert standing(scenario) == {}


def one_after_the_other(scenario: Scenario, running: list[str], until: str) -> list[str]:
    """Let the oldest pod end again and again until one runs; returns in which order pods started."""
    started: list[str] = []
    while until not in started:
        placed = [*bound(scenario.gone(running.pop(0)).wait(1))]
        assert placed, f"{until} never starts"
        started += placed
        running += placed
    return started


def test_pods_that_fit_no_node_do_not_keep_others_from_standing() -> None:
    scenario = filled(with_queues())
    seen(scenario, *(idle(f"huge{at}", cpu=99) for at in range(300)))
    bound(scenario.wait(1))
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o"]}


@pytest.mark.parametrize("size", [1, 2])
def test_who_comes_to_stand_is_decided_by_the_order_of_queues(size: int) -> None:
    scenario = with_queues().queue("root.a").queue("root.b").nodes(1, cpu=4)
    seen(scenario, *(idle(f"f{at}", "root.a", "a", cpu=size) for at in range(4 // size)))
    running = [*bound(scenario)]
    seen(scenario, *(idle(f"a{at}", "root.a", "a", cpu=size) for at in range(60)))
    bound(scenario.wait(1))
    assert len(standing(scenario)["node-0"]) == 15
    seen(scenario, idle("b", "root.b", "b", cpu=size))
    assert len(one_after_the_other(scenario, running, "b")) == 16, "it comes after those that stand, and before those that do not"


def test_of_an_application_those_with_the_highest_priority_come_to_stand_first() -> None:
    scenario = filled(with_queues())
    seen(scenario, *(idle(f"o{at}") for at in range(300)))
    bound(scenario.wait(1))
    seen(scenario, idle("first", priority=5))
    assert len(one_after_the_other(scenario, [f"f-0-{at}" for at in range(4)], "first")) == 16


def test_one_that_may_not_be_placed_takes_no_place_of_another_that_comes_to_stand() -> None:
    scenario = filled(with_queues(most=5))
    unsupported = Constraints(unsupported=("spec.resourceClaims",))
    seen(scenario, *(idle(f"bad{at}", priority=5, constraints=unsupported) for at in range(9)), idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o"]}


def test_one_pod_of_a_gang_gets_what_queues_leave_as_a_whole_gang_does() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("large", cpu=4))
    bound(scenario.wait(1))
    seen(scenario, idle("g", application="crew", gang="crew", gang_minimums=(("crew", 1),)))
    assert bound(scenario.wait(1)) == {}
    assert bound(scenario.gone("f-0-0").wait(1)) == {"g": "node-0"}
    assert standing(scenario) == {"node-0": ["large"]}


def test_one_that_comes_to_be_of_a_gang_while_it_stands_starts_with_the_others() -> None:
    scenario = filled(with_queues())
    pods = [idle(f"g{at}", application="crew") for at in range(3)]
    seen(scenario, *pods)
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["g0", "g1", "g2"]}
    seen(scenario, *(replace(pod, gang="crew", gang_minimums=(("crew", 3),)) for pod in pods))
    assert bound(scenario.gone("f-0-0").wait(1)) == {}
    assert standing(scenario) == {}
    assert len(bound(scenario.gone("f-0-1", "f-0-2").wait(1))) == 3


def test_one_that_becomes_guaranteed_behind_a_head_that_waits_leaves_its_place_to_others() -> None:
    scenario = filled(with_queues(nodes_per_pod=1, least=1, most=3))
    seen(scenario, idle("large", cpu=4), idle("o1"), idle("o2"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large", "o1", "o2"]}
    seen(scenario, *(replace(idle(name), opportunistic=()) for name in ("o1", "o2")))
    bound(scenario.wait(1))
    seen(scenario, idle("late"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large", "late"]}
    assert "number 2 of 2" in scenario.why("late")[1]


@pytest.mark.parametrize("by_wait", [False, True])
def test_those_that_come_in_one_pass_are_spread_over_nodes_that_are_alike(by_wait: bool) -> None:
    scenario = filled(with_queues(by_wait=by_wait, nodes_per_pod=1), nodes=200, cpu=1).wait(100)
    seen(scenario, *(idle(f"o{at}") for at in range(150)))
    bound(scenario.wait(1))
    assert [len(line) for line in standing(scenario).values()] == [1] * 150


def test_a_pod_stands_at_as_many_nodes_as_is_said_though_fewer_are_candidates() -> None:
    scenario = filled(with_queues(nodes_per_pod=4, candidates=1), nodes=5)
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    assert len(standing(scenario)) == 4
    assert scenario.why("o")[1].endswith(" (number 1 of 1), and 1 more")


def test_the_limit_is_that_of_the_settings_before_anybody_stands_and_when_nobody_does_any_more() -> None:
    scenario = filled(with_queues(nodes_per_pod=1, least=7, most=20))
    assert scenario.core.view.opportunistic().queue_limit == 7
    seen(scenario, *(idle(f"o{at}") for at in range(12)))
    bound(scenario.wait(1))
    bound(scenario.gone("f-0-0").wait(1))
    assert scenario.core.view.opportunistic().queue_limit == 11
    scenario.gone(*(f"o{at}" for at in range(12))).wait(1).plan()
    assert scenario.core.view.opportunistic().queue_limit == 7


def test_one_behind_a_larger_one_is_told_for_whom_the_room_is_kept() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("large", cpu=4), idle("small"))
    bound(scenario.wait(1))
    bound(scenario.gone("f-0-0").wait(1))
    assert (
        "1 node has cpu=1, memory=1Gi idle now, but it is kept for the larger ones that stand there first"
        in scenario.why("small")[1]
    )


def test_one_at_a_node_without_a_slot_is_not_told_that_its_room_is_kept_for_others() -> None:
    scenario = with_queues().nodes(1, cpu=4, pods=2)
    seen(scenario, idle("f0"), idle("f1"))
    bound(scenario)
    seen(scenario, idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o"]}
    assert "idle now, but it cannot go there" in scenario.why("o")[1]


def test_one_whose_queue_comes_to_its_maximum_at_another_node_keeps_no_room() -> None:
    scenario = with_queues(nodes_per_pod=1).queue("root.a", max_opportunistic=limits(cpu=4)).queue("root.b")
    for name in ("one", "two"):
        scenario.node(name, cpu=4)
        seen(scenario.wait(1), *(idle(f"{name}-{at}", "root.b", "b") for at in range(4)))
        bound(scenario)
    for pod in (
        idle("a0", "root.a", "a", cpu=4),
        idle("a1", "root.a", "a", cpu=4),
        idle("b0", "root.b", "b"),
        idle("b1", "root.b", "b"),
    ):
        seen(scenario.wait(1), pod)
        bound(scenario)
    (first, (head, _)), (second, (late, small)) = sorted(standing(scenario).items(), key=lambda line: line[1])
    assert (head, late) == ("a0", "a1")
    assert bound(scenario.gone(*(f"{first}-{at}" for at in range(4))).wait(1)) == {"a0": first}
    assert bound(scenario.gone(f"{second}-0").wait(1)) == {small: second}
    assert scenario.why("a1")[0] == "OpportunisticMaximum"


def test_those_that_stand_leave_the_nodes_that_are_more_than_is_said_later() -> None:
    scenario = filled(with_queues(nodes_per_pod=3), nodes=3)
    seen(scenario, idle("o1"), idle("o2"))
    bound(scenario.wait(1))
    assert [len(line) for line in standing(scenario).values()] == [2, 2, 2]
    scenario.scheduler(opportunistic=OpportunisticSettings(node_queues=NodeQueueSettings(nodes_per_pod=1)))
    bound(scenario.wait(1))
    assert sorted(uid for line in standing(scenario).values() for uid in line) == ["o1", "o2"]


def only_on(disk: str) -> Constraints:
    return Constraints(selector=(("disk", disk),))


def with_a_node_that_suits_nobody(**said: Any) -> Scenario:
    """Twelve pods may stand at one node alone, and nobody at the other."""
    scenario = with_queues(nodes_per_pod=2, **said).node("here", cpu=1, labels={"disk": "a"}).node("there", cpu=1)
    bound(seen(scenario, idle("f0", constraints=only_on("a")), idle("f1")))
    seen(scenario, *(idle(f"o{at}", constraints=only_on("a")) for at in range(12)))
    return scenario


@pytest.mark.parametrize("deviations", [0.0, 0.5])
def test_one_that_had_to_leave_a_queue_does_not_come_back_to_it_in_a_loop(deviations: float) -> None:
    scenario = with_a_node_that_suits_nobody(deviations=deviations)
    shed = []
    for at in range(20):
        seen(scenario, idle(f"huge{at}", cpu=9))  # it stands nowhere: there is something to look at in each pass
        bound(scenario.wait(1))
        shed.append(scenario.core.view.opportunistic().shed)
    assert shed[0] == 0
    assert shed[3] > 0
    assert shed[3:] == [shed[3]] * 17
    assert standing(scenario) == {"here": ["o0", "o1", "o2", "o3", "o4"]}
    assert bound(scenario.gone("f0").wait(1)) == {"o0": "here"}
    assert standing(scenario) == {"here": ["o1", "o2", "o3", "o4", "o5"]}, "it comes back where it need not leave any more"


def test_of_queues_that_are_nearly_alike_none_gives_up_the_same_pods_again_and_again() -> None:
    """19 queues of three and one of two, at a node that suits nobody: with each pod more the deviation, and the limit with it, sinks and rises."""
    scenario = with_queues(nodes_per_pod=1, deviations=100.0, least=1, most=8)
    for at in range(20):
        scenario.node(f"n{at}", cpu=1, labels={"disk": str(at)})
        bound(seen(scenario, idle(f"f{at}", constraints=only_on(str(at)))))
        seen(scenario, *(idle(f"o{at}-{number}", constraints=only_on(str(at))) for number in range(3 if at else 2)))
        bound(scenario.wait(1))
    seen(scenario, idle("late", constraints=only_on("7")))
    for at in range(30):
        seen(scenario, idle(f"huge{at}", cpu=9))
        bound(scenario.wait(1))
    assert scenario.core.view.opportunistic().shed <= 2


def test_one_that_stands_at_fewer_nodes_than_it_may_comes_to_more_when_there_are_more() -> None:
    scenario = filled(with_queues(nodes_per_pod=3, most=5))
    seen(scenario, *(idle(f"o{at}") for at in range(2)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o0", "o1"]}
    bound(seen(scenario.node("later", cpu=1), idle("f", priority=9)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o0", "o1"], "later": ["o0", "o1"]}
    bound(scenario.node("node-2", cpu=1, unschedulable=True).wait(1))
    bound(scenario.node("node-2", cpu=0, memory=0).wait(1))
    assert set(standing(scenario)) == {"node-0", "later"}, "it is too small for them"
    scenario.node("node-3", cpu=1)
    bound(seen(scenario, idle("g", priority=9)))
    bound(scenario.wait(1))
    assert standing(scenario)["node-3"] == ["o0", "o1"]
    assert all(len(nodes) == 3 for nodes in scenario.core.state.opportunistic.queues.of.values())


def test_those_that_stand_nowhere_come_before_those_that_would_stand_at_more() -> None:
    scenario = filled(with_queues(nodes_per_pod=2, least=1, most=2))
    seen(scenario, *(idle(f"o{at}") for at in range(4)))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["o0", "o1"]}
    bound(seen(scenario.node("later", cpu=1), idle("f", priority=9)).wait(1))
    assert standing(scenario) == {"node-0": ["o0", "o1"], "later": ["o2", "o3"]}


def test_one_that_stands_at_no_node_is_told_which_rules_refuse_and_which_queues_are_full() -> None:
    scenario = filled(with_queues(nodes_per_pod=1, least=1, most=1), nodes=1)
    scenario.node("tiny", cpu=1).node("off", unschedulable=True).node("tainted", taints=(Taint("gpu", "", "NoSchedule"),))
    bound(seen(scenario, idle("t")))
    seen(scenario, idle("first", cpu=2), idle("second", cpu=2))
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["first"]}
    assert scenario.why("second")[1].endswith(
        "; it stands at no node: 0/4 queues have a place for it: 1 node(s) could never give it so much, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 1 queue(s) were full"
    )


def test_one_that_had_to_leave_a_queue_is_told_so() -> None:
    scenario = with_a_node_that_suits_nobody(deviations=0.0)
    for at in range(4):
        seen(scenario, idle(f"huge{at}", cpu=9))
        bound(scenario.wait(1))
    assert scenario.why("o9")[1].endswith(
        "; it stands at no node: 0/2 queues have a place for it: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 queue(s) were as long as they may be for a pod that had to leave one for its length"
    )


def test_who_finds_a_place_with_the_next_pass_is_told_so() -> None:
    scenario = filled(with_queues())
    seen(scenario, idle("o"))
    words = "; it stands at no node: 1/1 queues have a place for it; it comes to stand there with one of the next passes"
    assert scenario.why("o")[1].endswith(words)


def test_those_behind_a_head_that_may_stay_leave_a_node_that_does_not_admit_them_any_more() -> None:
    tolerates = Constraints(tolerations=(Toleration("", "Exists"),))
    scenario = filled(with_queues(nodes_per_pod=2), nodes=2)
    seen(scenario, idle("large", cpu=4, constraints=tolerates), idle("o"))
    bound(scenario.wait(1))
    assert standing(scenario)["node-0"] == ["large", "o"]
    scenario.node("node-0", cpu=4, taints=(Taint("gpu", "", "NoSchedule"),))
    assert "it stands at node-1 (number 2 of 2)" in scenario.why("o")[1], "what it waits for is told before the next pass"
    bound(scenario.wait(1))
    assert standing(scenario) == {"node-0": ["large"], "node-1": ["large", "o"]}


steps = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(1, 4)),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("guaranteed"), st.integers(1, 3)),
        st.tuples(st.just("node"), st.integers(0, 3)),
        st.tuples(st.just("plan"), st.integers(1, 3)),
    ),
    min_size=10,
    max_size=50,
)


@pytest.mark.parametrize("by_wait", [False, True])
@settings(max_examples=150, deadline=None)
@given(steps=steps, per_pod=st.integers(1, 3), most=st.integers(1, 6), deviations=st.integers(0, 2))
def test_room_of_a_node_with_a_queue_goes_to_its_head_and_none_of_it_is_left_that_the_head_could_have(
    by_wait: bool, steps: list[tuple[str, int]], per_pod: int, most: int, deviations: int
) -> None:
    """The core checks its counts itself (``validate``); here every placement is held against the queues as they were before."""
    scenario = with_queues(by_wait=by_wait, nodes_per_pod=per_pod, least=1, most=most, deviations=float(deviations))
    scenario.nodes(2, cpu=4)
    state, kept = scenario.core.state, scenario.core.state.opportunistic
    for number, (what, size) in enumerate(steps):
        if what == "come":
            seen(scenario, idle(f"o{number}", cpu=size, application=f"app{size}"))
        elif what == "guaranteed":
            scenario.pod(f"g{number}", cpu=size)
        elif what == "node":
            scenario.node(f"node-{size}", cpu=4)
        elif what == "end" and state.pods:
            scenario.tell(PodGone(sorted(state.pods)[size % len(state.pods)]))
        before = {node: list(line) for node, line in kept.queues.at.items()}
        sizes = {uid: vector(record.spec.opportunistic) for uid, record in kept.waiting.items()}
        placed = bound(scenario.wait(2))
        for node, line in before.items():
            there = [uid for uid in line if placed.get(uid) == node]
            left = [uid for uid in line if uid in kept.waiting]
            for uid in there:
                assert not any(line.index(one) < line.index(uid) for one in left), "nobody overtakes"
            others = [uid for uid, at in placed.items() if at == node and uid in sizes and uid not in line]
            assert not (others and left), "the queue goes first"
        room = Room(state)
        for node, line in kept.queues.at.items():
            first = kept.waiting[line_first(line)]
            assert not room.has(state.nodes.row[node], vector(first.spec.opportunistic)), "its head could go"
        assert all(len(line) <= most for line in kept.queues.at.values())


def line_first(line: dict[str, None]) -> str:
    return next(iter(line))
