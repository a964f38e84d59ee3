"""Topology spread, by the decisions of a core."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from core.ruled import WEB, a_ruled_pod, placed, zones
from treadle.core.events import PodGone, PodSeen
from treadle.core.kernel.nodes.rules.topology_spread import NO_LABEL, UNEVEN
from treadle.core.model import PodSpec, SpreadTerm, Taint

EVENLY = SpreadTerm("zone", 1, WEB, self_match=True)


def spread_pods(count: int, *constraints: SpreadTerm) -> list[PodSeen]:
    return [PodSeen(a_ruled_pod(f"p{number}", spread=constraints)) for number in range(count)]


def by_zone(found: dict[str, str]) -> Counter[str]:
    return Counter(node.partition("-")[0] for node in found.values())


def foreign(name: str, node: str, **fields: Any) -> PodSpec:
    return replace(a_ruled_pod(name), scheduler="other", node=node, **fields)


def test_pods_are_spread_evenly_within_one_pass() -> None:
    at = zones(3).tell(*spread_pods(9, EVENLY))

    assert by_zone({bind.uid: bind.node for bind in at.plan()}) == {"z0": 3, "z1": 3, "z2": 3}


def test_a_full_zone_holds_up_those_that_would_go_to_others() -> None:
    at = zones(2).tell(PodSeen(replace(foreign("big", "z1-0"), labels=(), demand=(("cpu", 4000),))))
    at.tell(PodSeen(replace(foreign("big2", "z1-1"), labels=(), demand=(("cpu", 4000),)))).tell(*spread_pods(3, EVENLY))

    assert by_zone(placed(at)) == {"z0": 1}
    assert at.why("p2")[1].startswith(f"0/4 nodes are available: 2 Insufficient cpu, 2 {UNEVEN}.")


def test_room_in_the_zone_with_the_fewest_lets_the_others_go_on() -> None:
    at = (
        zones(2, 1)
        .tell(PodSeen(replace(foreign("big", "z1-0"), labels=(), demand=(("cpu", 4000),))))
        .tell(*spread_pods(3, EVENLY))
    )
    assert by_zone(placed(at)) == {"z0": 1}

    at.tell(PodGone("big"))
    assert by_zone(placed(at)) == {"z1": 1, "z0": 1}


def test_a_node_without_the_label_takes_none_and_says_so() -> None:
    at = zones(1, 1).node("bare").tell(*spread_pods(1, SpreadTerm("rack", 1, WEB, self_match=True)))

    assert placed(at) == {}
    assert at.why("p0")[1].startswith(f"0/2 nodes are available: 2 {NO_LABEL}.")


def test_with_fewer_domains_than_wanted_the_fewest_are_none() -> None:
    at = zones(2).tell(*spread_pods(6, replace(EVENLY, min_domains=3)))

    assert by_zone(placed(at)) == {"z0": 1, "z1": 1}


def test_pods_that_are_being_deleted_do_not_count() -> None:
    at = zones(2, 1).tell(PodSeen(foreign("old", "z0-0", deleting=True)), *spread_pods(2, EVENLY))

    assert by_zone(placed(at)) == {"z0": 1, "z1": 1}


def test_tainted_nodes_are_domains_unless_the_policy_leaves_them_out() -> None:
    tainted = (Taint("gpu", "", "NoSchedule"),)
    for honor, expected in ((False, {"z0": 1}), (True, {"z0": 3})):
        at = zones(1, 1).node("z1-0", labels={"zone": "z1"}, taints=tainted)
        at.tell(*spread_pods(3, replace(EVENLY, honor_taints=honor)))

        assert by_zone(placed(at)) == expected


def test_a_new_zone_holds_up_the_others_until_it_has_as_many() -> None:
    at = zones(1, 2).tell(*spread_pods(2, EVENLY))
    assert by_zone(placed(at)) == {"z0": 2}

    at.node("z9-0", cpu=1, labels={"zone": "z9"}).tell(PodSeen(a_ruled_pod("next", spread=(EVENLY,))))
    assert placed(at) == {"next": "z9-0"}


def test_a_zone_that_is_gone_holds_up_nobody() -> None:
    at = (
        zones(2, 1)
        .tell(PodSeen(replace(foreign("big", "z1-0"), labels=(), demand=(("cpu", 4000),))))
        .tell(*spread_pods(3, EVENLY))
    )
    assert by_zone(placed(at)) == {"z0": 1}

    at.without_node("z1-0")
    assert by_zone(placed(at)) == {"z0": 2}


def test_hosts_are_used_evenly_too() -> None:
    at = zones(1, 20).tell(*spread_pods(40, SpreadTerm("host", 1, WEB, self_match=True)))

    assert set(Counter(placed(at).values()).values()) == {2}
