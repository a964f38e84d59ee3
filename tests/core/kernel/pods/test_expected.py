"""Pods of other schedulers that are about to be on a node count there: those that are nominated, and those of DaemonSets."""

from __future__ import annotations

from typing import Any

from core.builders import Scenario, a_pod
from treadle.core.events import PodSeen
from treadle.core.model import Constraints, HostPort, PodRules, PodTerm, Requirement

THEIRS = {"scheduler": "default-scheduler"}


def theirs(at: Scenario, name: str, expected: str = "", **fields: Any) -> Scenario:
    return at.tell(PodSeen(a_pod(name, expected=expected, **{**THEIRS, **fields})))


def test_room_that_another_scheduler_has_made_for_its_pod_is_not_taken() -> None:
    at = Scenario().nodes(1, cpu=4)
    theirs(at, "nominated", "node-0", cpu=3).pod("a", cpu=2)
    assert at.plan() == []
    assert at.why("a")[1] == "0/1 nodes are available: 1 Insufficient cpu."
    theirs(at, "nominated", cpu=3)
    assert len(at.plan()) == 1, "it is nominated no longer"


def test_it_goes_on_counting_when_it_is_bound_wherever_that_is() -> None:
    at = Scenario().nodes(2, cpu=4)
    theirs(at, "nominated", "node-0", cpu=3)
    theirs(at, "nominated", "node-0", node="node-1", cpu=3)
    assert (at.free("node-0"), at.free("node-1")) == (4, 1)
    at.gone("nominated")
    assert (at.free("node-0"), at.free("node-1")) == (4, 4)


def test_what_is_gone_or_being_deleted_or_gated_is_expected_nowhere() -> None:
    at = Scenario().nodes(1, cpu=4)
    theirs(at, "gated", "node-0", gated=True)
    theirs(at, "deleting", "node-0", deleting=True)
    theirs(at, "gone", "node-0").gone("gone")
    assert at.free("node-0") == 4


def test_a_nomination_of_our_own_pod_is_stale_and_does_not_count() -> None:
    at = Scenario().nodes(1, cpu=4)
    at.tell(PodSeen(a_pod("ours", expected="node-0", cpu=4))).pod("other", application="other", cpu=4)
    assert [bind.name for bind in at.plan()] == ["ours"]


def test_its_host_ports_are_taken_and_its_labels_are_there() -> None:
    at = Scenario().nodes(1)
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    theirs(at, "web", "node-0", constraints=port, labels=(("app", "web"),))
    at.pod("ported", constraints=port)
    away = PodTerm("zone", (Requirement("app", "In", ("web",)),), ("ns",))
    at.nodes(1, labels={"zone": "z"}).pod(
        "apart", application="b", constraints=Constraints(pods=PodRules("ns", anti_affinity=(away,)))
    )
    assert at.plan() == []
    assert "free ports" in at.why("ported")[1]
    assert "anti-affinity" in at.why("apart")[1]
    theirs(at, "web", constraints=port, labels=(("app", "web"),))
    assert len(at.plan()) == 2


def test_its_own_anti_affinity_keeps_ours_away() -> None:
    at = Scenario().nodes(1, labels={"zone": "z"})
    away = PodTerm("zone", (Requirement("app", "In", ("ours",)),), ("ns",))
    theirs(at, "alone", "node-0", constraints=Constraints(pods=PodRules("ns", anti_affinity=(away,))))
    at.pod("a", labels=(("app", "ours"),))
    assert at.plan() == []
    at.gone("alone")
    assert len(at.plan()) == 1


def test_a_node_that_is_not_known_yet_is_less_when_it_comes() -> None:
    at = Scenario()
    theirs(at, "agent", "node-0", cpu=1).nodes(1, cpu=4)
    assert at.free("node-0") == 3


def test_when_the_other_scheduler_becomes_ours_its_pod_waits_like_any_other() -> None:
    at = Scenario().nodes(1, cpu=4).tell(PodSeen(a_pod("p", expected="node-0", scheduler="yunikorn", cpu=4)))
    assert at.free("node-0") == 0
    at.scheduler(aliases=("yunikorn",))
    assert [bind.name for bind in at.plan()] == ["p"]


def test_it_is_no_more_shared_among_queues_than_what_it_leaves() -> None:
    at = Scenario().nodes(1, cpu=4)
    theirs(at, "nominated", "node-0", cpu=3).plan()
    state = at.core.state
    assert state.cluster.total[state.types.index["cpu"]] == 1000
