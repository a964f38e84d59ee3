"""Of the node that comes closest it is said what would have to change, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, a_node, a_pod
from core.ruled_worlds import TAINT, about
from treadle.core.events import NodeSeen, PodSeen
from treadle.core.model import Constraints, HostPort, Limit, PodRules, Requirement, SpreadTerm, Wish
from treadle.core.views.closest import Closest
from treadle.core.views.holding import Held

PORT = (HostPort("0.0.0.0", "TCP", 80),)
ZONE = {"zone": "z"}


def held(scenario: Scenario, **pod: Any) -> Held:
    """What holds back a pod of the application ``web``."""
    scenario.tell(PodSeen(a_pod("w", labels=(("app", "web"),), **pod))).wait(1).plan()
    found = scenario.core.view.held("w")
    assert found is not None
    return found


def ruled(**rules: Any) -> Constraints:
    return Constraints(pods=PodRules("ns", labels=(("app", "web"),), **rules))


def running(scenario: Scenario, app: str, **fields: Any) -> Scenario:
    return scenario.tell(PodSeen(a_pod("r", node="n", labels=(("app", app),), **fields)))


OR_ADDED = "; or a node is added that admits the pod and has room for it"
SELECTS = "the labels are such as the pod's node selector and affinity ask for, or the pod asks for others"


@pytest.mark.parametrize(
    ("node", "constraints", "change"),
    [
        ({"taints": (TAINT,)}, Constraints(), "the taint {dedicated: batch} goes, or the pod tolerates it"),
        ({"unschedulable": True}, Constraints(), "scheduling is allowed again (uncordon)"),
        ({}, Constraints(selector=(("zone", "z"),)), SELECTS),
        ({}, Constraints(wish=Wish(("other",), relax=False)), "nothing helps, since the pod insists on other nodes or racks"),
        ({}, Constraints(features=("Sidecars",)), "the features are declared that the pod needs"),
        (
            {"labels": ZONE},
            ruled(affinity=(about("db", "zone"),)),
            "a pod runs on the nodes with its zone that the pod's affinity asks for",
        ),
        (
            {},
            ruled(affinity=(about("db", "zone"),)),
            "the label zone is set, and a pod runs on the nodes with its zone that the pod's affinity asks for",
        ),
        (
            {},
            ruled(spread=(SpreadTerm("zone", 1, (Requirement("app", "In", ("web",)),), self_match=True),)),
            "the label zone is set",
        ),
        ({"taints": (TAINT,), "unschedulable": True}, Constraints(), None),
    ],
)
def test_a_node_that_refuses_a_pod_says_what_undoes_it(
    node: dict[str, Any], constraints: Constraints, change: str | None
) -> None:
    said = held(Scenario().node("n", **node), constraints=constraints).change
    both = "scheduling is allowed again (uncordon), the taint {dedicated: batch} goes, or the pod tolerates it"
    assert said == f"on the closest node {change or both}{OR_ADDED}"


def test_pods_that_are_in_the_way_have_to_leave() -> None:
    there = running(Scenario().node("n", labels=ZONE), "web", constraints=Constraints(host_ports=PORT))
    assert "the pod goes that holds its host port" in held(there, constraints=Constraints(host_ports=PORT)).change
    there = running(Scenario().node("n", labels=ZONE), "db")
    said = held(there, constraints=ruled(anti_affinity=(about("db", "zone"),))).change
    assert said == f"on the closest node the pods leave the nodes with its zone that the pod's anti-affinity is about{OR_ADDED}"
    there = running(Scenario().node("n", labels=ZONE), "db", constraints=ruled(anti_affinity=(about("web", "zone"),)))
    said = held(there).change
    assert said == f"on the closest node the pods leave the nodes with its zone whose anti-affinity is about this pod{OR_ADDED}"


def test_a_node_that_is_too_small_is_told_from_one_that_is_full() -> None:
    full = running(Scenario().node("n", cpu=4), "db", cpu=3)
    assert held(full, cpu=2).change == "1 of cpu come free on a node that admits the pod, or a node is added with room for it"
    small = held(Scenario().node("n", cpu=4), cpu=6)
    assert small.change == (
        "a node is added with room for the pod: none that admits it is large enough, even if it were empty, and the closest has 2 of cpu too little"
    )
    assert small.nodes is not None
    assert small.nodes.closest == Closest("n", (), {"cpu": 2000}, {"cpu": 2000})


def test_pods_that_come_and_go_are_less_in_the_way_than_what_a_node_is() -> None:
    scenario = Scenario().node("tainted", cpu=64, taints=(TAINT,)).node("small", cpu=1, memory=64).node("full", cpu=8, memory=16)
    scenario.tell(PodSeen(a_pod("r", node="full", cpu=8, memory=1, labels=(("app", "db"),))))
    said = held(scenario, cpu=2, memory=1, constraints=ruled(anti_affinity=(about("db", "host"),)))
    assert said.nodes is not None
    assert said.nodes.closest == Closest("full", (), {"cpu": 2000}, {})


def test_a_pod_that_a_rule_keeps_off_a_full_node_needs_both() -> None:
    scenario = running(Scenario().node("n", cpu=4, labels=ZONE), "db", cpu=4, memory=1)
    said = held(scenario, cpu=1, memory=1, constraints=ruled(anti_affinity=(about("db", "zone"),)))
    assert said.nodes is not None
    assert said.nodes.closest is not None
    assert [one.topology for one in said.nodes.closest.refusals] == ["zone"]
    assert said.change.endswith(f"anti-affinity is about, 1 of cpu come free{OR_ADDED}")


def test_without_nodes_none_is_closest() -> None:
    said = held(Scenario())
    assert said.nodes is not None
    assert (said.nodes.known, said.nodes.closest) == (0, None)
    assert said.change == "0/0 nodes are available."


def test_of_many_nodes_the_one_that_lacks_the_least_is_closest() -> None:
    scenario = Scenario()
    for number in range(5):
        scenario.tell(NodeSeen(a_node(f"n{number}", cpu=4 + number, memory=64)))
    said = held(scenario, cpu=16, memory=1)
    assert said.nodes is not None
    assert said.nodes.closest == Closest("n4", (), {"cpu": 8000}, {"cpu": 8000})


def test_a_gang_says_how_many_of_its_pods_lack_room() -> None:
    scenario = Scenario().node("n", cpu=4, memory=64)
    for number in range(3):
        scenario.tell(PodSeen(a_pod(f"g{number}", cpu=3, gang="w", gang_minimums=(("w", 3),))))
    scenario.wait(1).plan()
    said = scenario.core.view.held("g0")
    assert said is not None
    assert said.change == "room for 2 more of the pods with which the gang starts is there at once"
    scenario.node("n", cpu=2, memory=64).wait(1).plan()
    said = scenario.core.view.held("g0")
    assert said is not None
    assert said.change.startswith("room for 3 more of the pods with which the gang starts is there at once: a node is added")


def test_a_gang_that_has_begun_needs_room_for_those_alone_that_are_there() -> None:
    scenario = Scenario().node("n", cpu=12, memory=64)
    for number in range(3):
        scenario.tell(PodSeen(a_pod(f"g{number}", cpu=3, gang="w", gang_minimums=(("w", 3),))))
    scenario.wait(1).confirm(scenario.plan()).gone("g0", "g1")
    scenario.tell(PodSeen(a_pod("r", cpu=8, application="other", node="n")))
    scenario.tell(PodSeen(a_pod("again", cpu=3, gang="w", gang_minimums=(("w", 3),)))).wait(1).plan()
    said = scenario.core.view.held("again")
    assert said is not None
    assert said.message.startswith(
        'gang "w" starts with 3 pods: 1 are placed, and of the 1 that are there in place of those it lost at most 0 fit now'
    )
    assert said.change == (
        "room for 1 more of the pods that are there in place of those that the gang lost is there at once: "
        "2 of cpu come free on a node that admits the pod, or a node is added with room for it"
    )


def test_a_gang_whose_queue_is_full_says_of_what() -> None:
    scenario = Scenario().node("n", cpu=8, memory=64)
    scenario.queue("root.a", maximum={"cpu": Limit(4000)})
    scenario.pod("r", "root.a", cpu=2).wait(1).confirm(scenario.plan())
    for number in range(3):
        scenario.tell(PodSeen(a_pod(f"g{number}", "root.a", "gang", cpu=1, gang="w", gang_minimums=(("w", 3),))))
    scenario.wait(1).plan()
    said = scenario.core.view.held("g0")
    assert said is not None
    assert (said.reason, said.change) == ("QueueMaximum", "queue root.a lets go of 1 of cpu, or may have so much more")
    assert said.limit is not None
    assert (said.limit.used, said.limit.most, said.limit.wanted, said.limit.missing) == (2000, 4000, 3000, 1000)
