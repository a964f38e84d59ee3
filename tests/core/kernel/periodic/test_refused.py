"""Pods that the kubelet of their node did not take: the owner is told, and the node is left alone for a while by pods that are alike."""

from __future__ import annotations

from typing import Any

from core.builders import Scenario, a_pod
from treadle.core import Core
from treadle.core.effects import Bind, RecordEvent
from treadle.core.events import PodRefused, PodSeen
from treadle.core.model import Constraints, HostPort, PodSpec


def refused(at: Scenario, name: str, node: str = "node-0", reason: str = "OutOfcpu", **fields: Any) -> Scenario:
    """Let the kubelet refuse a pod that was bound."""
    return at.tell(PodRefused(a_pod(name, node=node, **fields), reason, "Node didn't have enough resource: cpu, requested: 1000"))


def warnings(at: Scenario) -> list[RecordEvent]:
    return [effect for effect in at.effects if isinstance(effect, RecordEvent) and effect.reason == "RefusedByKubelet"]


def nodes_of(binds: list[Bind]) -> list[str]:
    return [bind.node for bind in binds]


def test_the_owner_is_told_which_node_refused_the_pod_why_and_who_is_there() -> None:
    at = Scenario().nodes(1, cpu=4).pod("a", cpu=2)
    at.confirm(at.plan())
    at.pod("theirs", scheduler="default-scheduler", node="node-0", cpu=1).pod("ours", node="node-0", application="other", cpu=1)
    refused(at, "a", cpu=2).plan()
    (event,) = warnings(at)
    assert event.name == "a"
    assert event.note == (
        "The kubelet of node node-0 did not take the pod (OutOfcpu): Node didn't have enough resource: cpu, requested: 1000. "
        "Known there: 1 pods of ours, 1 of default-scheduler; cpu 2 wanted, 2 of 4 taken; memory 1Gi wanted, 2Gi of 16Gi taken. "
        "Pods like it are not placed there for 5 s, or until the node changes"
    )
    assert at.core.view.refused == {"OutOfcpu": 1}
    assert at.plan() == []
    assert not warnings(at), "it is told once"


def test_what_was_counted_for_it_is_free_again() -> None:
    at = Scenario().nodes(1, cpu=4).pod("a", cpu=3)
    at.confirm(at.plan())
    refused(at, "a", cpu=3)
    assert at.free("node-0") == 4


def test_the_pod_that_replaces_it_goes_elsewhere_and_comes_back_when_the_pause_is_over() -> None:
    at = Scenario().nodes(1)
    refused(at, "a").pod("b")
    assert at.plan() == []
    assert at.why("b")[1] == "0/1 nodes are available: 1 node(s) refused such a pod a moment ago."
    assert at.core.state.refused.pauses
    at.nodes(1, prefix="other")
    assert nodes_of(at.plan()) == ["other-0"]
    at.pod("c", cpu=1).without_node("other-0")
    assert at.wait(4.9).plan() == []
    assert nodes_of(at.wait(0.1).plan()) == ["node-0"]


def test_pods_of_another_size_or_with_other_constraints_may_go_there() -> None:
    at = Scenario().nodes(1)
    refused(at, "a").pod("small", memory=2).pod("ports", constraints=Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),)))
    assert len(at.plan()) == 2


def test_the_pause_doubles_with_every_pod_that_is_refused_after_it_up_to_five_minutes() -> None:
    at = Scenario().nodes(1)
    pauses = []
    for number in range(9):
        refused(at, f"p-{number}").plan()
        ends = at.core.next_timer()
        assert ends is not None
        pauses.append(ends - at.now)
        at.wait(pauses[-1]).plan()
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_pods_that_were_on_their_way_when_the_first_was_refused_do_not_lengthen_the_pause() -> None:
    at = Scenario().nodes(1)
    refused(at, "a")
    refused(at, "b")
    at.plan()
    assert at.core.next_timer() == 5.0
    assert len(warnings(at)) == 2, "but each owner is told"


def test_a_change_of_the_node_ends_the_pause_and_what_it_had_grown_to() -> None:
    at = Scenario().nodes(1)
    refused(at, "a").wait(5).plan()
    refused(at, "b").pod("c")
    assert at.core.next_timer() == 15.0
    at.nodes(1, cpu=8)
    assert nodes_of(at.plan()) == ["node-0"]
    refused(at, "c").plan()
    assert at.core.next_timer() == 10.0


def test_a_node_that_is_gone_and_comes_back_is_another_one() -> None:
    at = Scenario().nodes(1)
    refused(at, "a").pod("b").without_node("node-0").nodes(1)
    assert nodes_of(at.plan()) == ["node-0"]


def test_pods_of_other_schedulers_that_are_refused_are_no_concern_of_ours() -> None:
    at = Scenario().nodes(1)
    refused(at, "a", scheduler="default-scheduler").pod("b")
    assert nodes_of(at.plan()) == ["node-0"]
    assert at.core.view.refused == {}


def test_a_controller_that_makes_a_refused_pod_anew_does_not_loop() -> None:
    """An hour of a kubelet that refuses whatever comes: a pod a second would be 3,600."""
    at = Scenario().nodes(1)
    made = 0
    while at.now < 3600:
        at.pod(f"p-{made}")
        for bind in at.plan():
            at.confirm([bind])
            refused(at, bind.name)
            made += 1
        at.wait(1.0)
    assert made <= 6 + 3600 // 300 + 1


def test_a_gang_and_pods_with_rules_about_others_leave_the_node_alone_as_well() -> None:
    at = Scenario().nodes(1)
    refused(at, "a")
    at.tell(*(PodSeen(a_pod(f"w-{n}", gang="w", gang_minimums=(("w", 2),))) for n in range(2)))
    assert at.plan() == []
    at.nodes(1, prefix="other")
    assert nodes_of(at.plan()) == ["other-0", "other-0"]


def test_a_core_that_is_told_what_another_knows_goes_on_with_the_pause() -> None:
    at = Scenario().nodes(1)
    refused(at, "a").pod("b").plan()
    again = Core(at.core.state.settings, validate=True)
    for event in at.core.facts():
        again.handle(event, at.now)
    assert not [one for one in again.plan(at.now) if isinstance(one, Bind)]
    assert not [one for one in again.plan(4.9) if isinstance(one, Bind)]
    assert [one.node for one in again.plan(5.0) if isinstance(one, Bind)] == ["node-0"]


def test_no_more_pauses_are_remembered_than_there_is_room_for() -> None:
    at = Scenario().nodes(1)
    for number in range(1100):
        at.core.handle(
            PodRefused(PodSpec(f"u{number}", "ns", "p", "treadle", "node-0", demand=(("cpu", number),)), "OutOfcpu", ""), 0.0
        )
    assert len(at.core.state.refused.pauses) == 1024
    at.plan()
    assert len(warnings(at)) == 256
    at.wait(5 + 300).plan()
    assert not at.core.state.refused.pauses
