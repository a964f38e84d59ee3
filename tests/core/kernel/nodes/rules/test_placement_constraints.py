"""Placement constraints, by the decisions of a core; Hadoop's answers on single nodes are among the conformance cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from core.builders import Scenario, a_pod
from core.ruled import placed
from treadle.core.events import ApplicationSeen, PodGone, PodSeen
from treadle.core.kernel.nodes.rules.placement_constraints import REASON
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, PodRules, PodSpec
from treadle.core.rules.constraints.parsing import parse_expression


def racks(count: int = 2, nodes: int = 2) -> Scenario:
    """Nodes ``r0-0``, ``r0-1``, …: so many in so many racks."""
    at = Scenario()
    for rack in range(count):
        for number in range(nodes):
            at.node(f"r{rack}-{number}", labels={RACK_LABEL: f"r{rack}", "java": f"1.{7 + number}"})
    return at


def tagged(name: str, *tags: str, constraint: str = "", application: str = "app", **fields: Any) -> PodSpec:
    """A pod with allocation tags, and a placement constraint."""
    rules = PodRules("ns", placement=(parse_expression(constraint),), application=f"ns/{application}") if constraint else None
    return a_pod(name, application=application, tags=tags, constraints=Constraints(pods=rules), **fields)


def on(at: Scenario, *pods: PodSpec) -> dict[str, str]:
    at.tell(*(PodSeen(pod) for pod in pods))
    return placed(at)


def test_containers_that_avoid_their_own_tag_get_a_node_each() -> None:
    at = racks()
    found = on(at, *(tagged(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(5)))

    assert sorted(found.values()) == ["r0-0", "r0-1", "r1-0", "r1-1"]
    assert at.why("p4")[1].startswith(f"0/4 nodes are available: 4 {REASON}.")


def test_a_cardinality_does_not_count_the_container_itself() -> None:
    found = on(racks(1, 2), *(tagged(f"p{number}", "spark", constraint="cardinality,node,spark,0,1") for number in range(6)))

    assert Counter(found.values()) == {"r0-0": 2, "r0-1": 2}


def test_containers_go_to_the_rack_of_those_they_want_to_be_near() -> None:
    at = racks()
    on(at, tagged("zk", "zk", node="r1-0"))

    found = on(at, *(tagged(f"p{number}", constraint="in,rack,zk") for number in range(4)))
    assert {node.partition("-")[0] for node in found.values()} == {"r1"}


def test_only_containers_of_the_same_application_count_unless_a_namespace_says_otherwise() -> None:
    at = racks(1, 2)
    on(at, tagged("other", "zk", application="b", node="r0-0"))

    assert on(at, tagged("p", constraint="in,node,zk")) == {}
    assert on(at, tagged("q", constraint="in,node,all/zk")) == {"q": "r0-0"}
    assert on(at, tagged("r", constraint="notin,node,not-self/zk")) == {"r": "r0-1"}


def test_one_of_several_will_do() -> None:
    at = racks(1, 3)
    on(at, tagged("zk", "zk", node="r0-1"))

    assert on(at, tagged("p", constraint="or(in,node,zk:java=1.9)"))["p"] in {"r0-1", "r0-2"}
    assert on(at, tagged("q", constraint="and(notin,node,zk:java!=1.9)")) == {"q": "r0-0"}


def test_a_container_that_comes_lets_those_be_placed_that_wait_to_be_near_it() -> None:
    at = racks()
    assert on(at, tagged("p", constraint="or(in,rack,zk:in,node,hbase)")) == {}

    found = on(at, tagged("zk", "zk"))
    assert found["p"].partition("-")[0] == found["zk"].partition("-")[0]


def test_a_container_that_ends_makes_room_for_one_that_avoids_it() -> None:
    at = racks(1, 1)
    on(at, tagged("a", "zk"))
    assert on(at, tagged("b", constraint="notin,rack,zk")) == {}

    at.tell(PodGone("a"))
    assert placed(at) == {"b": "r0-0"}


def test_the_constraints_of_an_application_hold_for_each_of_its_pods_as_they_are_now() -> None:
    alone = (parse_expression("notin,node,w"),)
    at = racks(1, 2).tell(ApplicationSeen(ApplicationSpec("ns/app", placement=alone)))
    assert len(on(at, *(tagged(f"p{number}", "w") for number in range(4)))) == 2

    at.tell(ApplicationSeen(ApplicationSpec("ns/app")))
    assert len(placed(at)) == 2


def test_what_waits_is_held_back_by_constraints_that_its_application_gets_later() -> None:
    at = racks(1, 1).tell(PodSeen(replace(a_pod("full", cpu=4), scheduler="other", node="r0-0")))
    on(at, tagged("a", "w"), tagged("b", "w"))
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", placement=(parse_expression("notin,node,w"),))), PodGone("full"))

    assert len(placed(at)) == 1


def test_nodes_that_name_no_rack_are_in_one() -> None:
    at = Scenario().node("n0").node("n1")
    on(at, tagged("zk", "zk", node="n0"))

    assert on(at, tagged("p", constraint="and(in,rack,zk:notin,node,zk)")) == {"p": "n1"}


def test_the_constraints_of_the_cluster_hold_for_the_pods_with_their_tag_as_they_are_now() -> None:
    alone = (("w", parse_expression("notin,node,all/w")),)
    at = racks(1, 2).scheduler(placement=alone)
    pods = [tagged(f"p{number}", "w", application=f"a{number}") for number in range(4)]
    assert len(on(at, *pods, tagged("free", "x"))) == 3

    at.scheduler()
    assert len(placed(at)) == 2


def test_constraints_of_the_pod_its_application_and_the_cluster_must_all_hold() -> None:
    at = racks(2, 2).scheduler(placement=(("w", parse_expression("java=1.8")),))
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", placement=(parse_expression("notin,rack,zk"),))))
    on(at, tagged("zk", "zk", application="app", node="r0-0"))

    assert on(at, tagged("p", "w", constraint="notin,node,hbase")) == {"p": "r1-1"}
