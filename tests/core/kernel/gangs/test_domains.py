"""A gang that asks for one topology domain goes to the one that it fills best, and stays there."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import Scenario, a_node, a_pod, by_node
from treadle.core.events import ApplicationSeen, NodeSeen, PodSeen
from treadle.core.model import ApplicationSpec, Constraints, GangSpec, PodRules, PodSpec, PodTerm, Requirement, SpreadTerm

ZONE = "zone"


def zones(*cpus: int, nodes: int = 2) -> Scenario:
    """Zones z0, z1, … with so many nodes each, of so many cores."""
    at = Scenario()
    for number, cpu in enumerate(cpus):
        for each in range(nodes):
            at.tell(NodeSeen(a_node(f"z{number}-{each}", cpu=cpu, labels={ZONE: f"z{number}"})))
    return at


def member(name: str, least: int, topology: tuple[str, bool] | None = (ZONE, True), **fields: Any) -> PodSpec:
    return a_pod(name, gang="w", gang_minimums=(("w", least),), gang_topology=topology, **fields)


def come(at: Scenario, count: int, least: int, prefix: str = "w", **fields: Any) -> Scenario:
    return at.tell(*(PodSeen(member(f"{prefix}-{number}", least, **fields)) for number in range(count)))


def zones_of(binds: list[Any]) -> set[str]:
    return {bind.node.partition("-")[0] for bind in binds}


def test_all_go_to_one_zone_though_others_have_room() -> None:
    at = zones(4, 4, 4)
    binds = come(at, 8, 8).plan()
    assert len(binds) == 8
    assert len(zones_of(binds)) == 1


def test_the_zone_in_which_least_is_left_is_taken() -> None:
    at = zones(8, 3, 5)
    assert zones_of(come(at, 6, 6).plan()) == {"z1"}
    assert zones_of(come(at, 6, 6, "v", application="other").plan()) == {"z2"}


def test_a_gang_that_no_zone_has_room_for_waits_and_says_how_many_fit_in_one() -> None:
    at = zones(3, 2)
    assert come(at, 8, 8).plan() == []
    assert at.why("w-0") == (
        "Unschedulable",
        'gang "w" starts with 8 pods: 0 are placed, and of the 8 others at most 6 fit now in one zone',
    )
    at.tell(NodeSeen(a_node("z0-2", cpu=2, labels={ZONE: "z0"})))
    assert zones_of(at.plan()) == {"z0"}


def test_what_is_only_preferred_goes_to_several_zones_where_one_has_no_room() -> None:
    at = zones(3, 2)
    assert zones_of(come(at, 6, 6, topology=(ZONE, False)).plan()) == {"z0"}
    binds = come(zones(3, 2), 8, 8, topology=(ZONE, False)).plan()
    assert len(binds) == 8
    assert zones_of(binds) == {"z0", "z1"}


@pytest.mark.parametrize("required", [True, False])
def test_pods_beyond_the_minimum_go_where_the_others_are(*, required: bool) -> None:
    at = zones(4, 8)
    start = come(at, 4, 4, topology=(ZONE, required)).plan()
    assert zones_of(start) == {"z0"}
    more = come(at, 6, 4, "more", topology=(ZONE, required)).plan()
    assert len(more) == (4 if required else 6)
    assert sum(bind.node.startswith("z0") for bind in more) == 4
    if required:
        assert "6 node(s)" not in at.why("more-5")[1]
        assert "2 node(s) weren't in the topology domain of the gang" in at.why("more-5")[1]


def test_a_pod_that_replaces_one_that_is_lost_comes_into_the_zone_of_the_others() -> None:
    at = zones(4, 4)
    binds = come(at, 8, 8).plan()
    at.confirm(binds)
    (zone,) = zones_of(binds)
    at.gone(binds[0].uid)
    again = at.tell(PodSeen(member("again", 8))).plan()
    assert zones_of(again) == {zone}


def test_the_word_of_the_application_goes_before_that_of_the_pods() -> None:
    at = zones(4, 4).tell(ApplicationSeen(ApplicationSpec("ns/app", gangs=(GangSpec("w", 8, ZONE),))))
    assert len(zones_of(come(at, 8, 3, topology=None).plan())) == 1


def test_an_edit_of_the_topology_holds_for_what_waits() -> None:
    at = zones(3, 2).tell(ApplicationSeen(ApplicationSpec("ns/app", gangs=(GangSpec("w", 8, ZONE),))))
    assert come(at, 8, 8, topology=None).plan() == []
    at.tell(ApplicationSeen(ApplicationSpec("ns/app", gangs=(GangSpec("w", 8, ZONE, required=False),))))
    assert len(at.plan()) == 8


def test_nodes_without_the_label_are_in_no_domain() -> None:
    at = Scenario().nodes(2, cpu=8)
    assert come(at, 4, 4).plan() == []
    assert at.why("w-0")[0] == "Unschedulable"
    assert len(come(Scenario().nodes(2, cpu=8), 4, 4, topology=(ZONE, False)).plan()) == 4


def test_other_rules_of_its_pods_hold_within_the_domain() -> None:
    alone = PodRules("ns", anti_affinity=(PodTerm("host", (Requirement("app", "In", ("x",)),), ("ns",)),))
    at = Scenario()
    for zone, count in (("z0", 2), ("z1", 3)):
        for number in range(count):
            at.tell(NodeSeen(a_node(f"{zone}-{number}", cpu=8, labels={ZONE: zone, "host": f"{zone}-{number}"})))
    binds = come(at, 3, 3, labels=(("app", "x"),), constraints=Constraints(pods=alone)).plan()
    assert by_node(binds) == {"z1-0": 1, "z1-1": 1, "z1-2": 1}


def test_what_a_try_walked_is_found_again_by_other_pods() -> None:
    """Shapes that share their orders of nodes, and asks of the gang that found none, see all nodes after a try that came to nothing."""
    spread = PodRules("ns", spread=(SpreadTerm(ZONE, 8, (Requirement("app", "In", ("x",)),), self_match=True),))
    other = PodRules("ns", spread=(SpreadTerm(ZONE, 9, (Requirement("app", "In", ("y",)),), self_match=True),))
    at = zones(4, 4)
    like = {"labels": (("app", "x"),), "constraints": Constraints(pods=spread), "topology": None}
    come(at, 16, 17, **like)
    at.tell(PodSeen(member("large", 17, topology=None, cpu=2)))
    assert at.plan() == []
    plain = {"labels": (("app", "y"),), "constraints": Constraints(pods=other)}
    at.tell(*(PodSeen(a_pod(f"y-{number}", application="y", **plain)) for number in range(14)))
    assert len(at.plan()) == 14
    at.gone(*(f"y-{number}" for number in range(14)))
    at.tell(NodeSeen(a_node("z0-9", cpu=2, labels={ZONE: "z0"})))
    assert len(at.plan()) == 17
