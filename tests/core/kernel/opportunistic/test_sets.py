"""Opportunistic pods of an application whose pods are placed as a set."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.builders import GIB, Scenario, a_node, limits
from core.kernel.opportunistic.idle_pods import bound, seen
from core.kernel.together.sets import a_cluster, discontent, tagged
from treadle.core.events import ApplicationSeen, NodeSeen, PodGone
from treadle.core.kernel.opportunistic import sets
from treadle.core.model import ApplicationSpec, Constraints, HostPort, PodSpec
from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL


def idle(name: str, *tags: str, constraint: str = "", cpu: int = 1, **fields: Any) -> PodSpec:
    found = tagged(name, *tags, constraint=constraint, cpu=0, memory=0, **fields)
    return replace(found, opportunistic=(("cpu", cpu * 1000), ("memory", GIB)))


def on(at: Scenario, *pods: PodSpec) -> dict[str, str]:
    return bound(seen(at, *pods))


def test_one_that_needs_a_later_one_is_placed_in_the_same_pass() -> None:
    found = on(a_cluster(), idle("web", "web", constraint="in,node,db"), idle("db", "db"))
    assert found["web"] == found["db"]


def test_a_later_one_does_not_break_what_an_earlier_one_demands() -> None:
    loud = [idle(f"loud{number}", "loud", constraint="notin,node,loud") for number in range(3)]
    assert len(set(on(a_cluster(4), idle("shy", "shy", constraint="notin,node,loud"), *loud).values())) == 4


def test_a_placement_that_a_later_one_breaks_is_taken_back_and_tried_elsewhere() -> None:
    found = on(a_cluster(2), idle("shy", "shy", constraint="notin,node,loud"), idle("loud", "loud"))
    assert found == {"loud": "n0", "shy": "n1"}


def test_what_is_left_says_so_and_is_placed_when_a_node_suits_it() -> None:
    at = a_cluster(2)
    found = on(at, *(idle(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(3)))
    assert sorted(found.values()) == ["n0", "n1"]
    (left,) = {"p0", "p1", "p2"} - found.keys()
    reason, words = at.why(left)
    assert reason == "NoIdleRoom"
    assert "2 nodes have cpu=1, memory=1Gi idle now, but COULD_NOT_PLACE_ON_NODE: it was tried together with" in words
    assert "constraint notin,node,hbase" in words
    assert bound(at.node("n2").wait(1)) == {left: "n2"}


def test_each_takes_room_from_the_others_and_as_many_as_have_room_are_placed() -> None:
    at = a_cluster(2, cpu=2)
    assert Counter(on(at, *(idle(f"p{number}") for number in range(6))).values()) == {"n0": 2, "n1": 2}
    assert at.core.state.opportunistic.by_application == {"ns/app": [4 * GIB, 4000]}


def test_the_maximum_of_the_queue_holds_within_a_set() -> None:
    at = a_cluster(2).queue("root.a", max_opportunistic=limits(cpu=3))
    assert len(on(at, *(idle(f"p{number}", queue="root.a") for number in range(6)))) == 3
    assert {at.why(f"p{number}")[0] for number in range(6)} >= {"OpportunisticMaximum"}


def test_those_with_the_higher_priority_go_first() -> None:
    at = a_cluster(1, cpu=1)
    assert set(on(at, idle("low"), idle("high", priority=5))) == {"high"}


def test_an_iterator_is_followed() -> None:
    pods = [idle("a", "rare"), *(idle(f"c{number}", "common") for number in range(2)), idle("d", "common", cpu=2)]
    assert set(on(a_cluster(1, SERIAL, cpu=1), *pods)) == {"a"}
    assert set(on(a_cluster(1, POPULAR_TAGS, cpu=1), *pods)) < {"c0", "c1"}


def test_guaranteed_pods_of_the_application_are_placed_before_and_count() -> None:
    at = a_cluster(2)
    found = on(at, idle("shy", "shy", constraint="notin,node,loud"), tagged("loud", "loud"))
    assert found["shy"] != found["loud"]


def test_what_a_guaranteed_pod_of_the_same_pass_demands_is_not_broken() -> None:
    shy = tagged("shy", "shy", constraint="notin,node,loud")
    assert set(on(a_cluster(1), shy, idle("loud", "loud"))) == {"shy"}


def test_each_goes_only_where_its_own_rules_let_it() -> None:
    at = a_cluster(1, cpu=8).node("ssd", cpu=8, labels={"disk": "ssd"})
    there = Constraints(selector=(("disk", "ssd"),))
    pods = [replace(idle(f"s{number}"), constraints=there) for number in range(3)]
    found = on(at, idle("a"), *pods)
    assert {found[f"s{number}"] for number in range(3)} == {"ssd"}


def test_of_two_that_want_one_port_one_is_on_a_node() -> None:
    port = Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),))
    found = on(a_cluster(2), *(replace(idle(f"p{number}"), constraints=port) for number in range(3)))
    assert sorted(found.values()) == ["n0", "n1"]


def test_no_more_come_to_a_node_than_it_has_slots() -> None:
    assert Counter(on(a_cluster(2, pods=2), *(idle(f"p{number}") for number in range(6))).values()) == {"n0": 2, "n1": 2}


@pytest.mark.parametrize("slots", [1, 110])
def test_nobody_is_woken_by_what_was_tried_and_taken_out_again(slots: int) -> None:
    at = seen(a_cluster(1, pods=slots), idle("shy", "shy", constraint="notin,node,loud"), idle("loud", "loud"))
    before = at.core.state.nodes.improved.end, at.core.state.nodes.slots.end
    assert len(at.plan()) == 1
    assert (at.core.state.nodes.improved.end, at.core.state.nodes.slots.end) == before


def test_gangs_and_masters_are_placed_by_themselves() -> None:
    at = a_cluster(1, cpu=4)
    gang = {"gang": "g", "gang_minimums": (("g", 2),)}
    found = on(at, idle("a", **gang), idle("b", **gang), idle("m", role="master"), idle("s"))
    assert set(found) == {"a", "b", "m", "s"}


def test_a_large_set_is_not_tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "PAIRS", 1)
    at = a_cluster(2)
    pods = [idle(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(4)]
    assert len(on(at, *pods)) == 2
    at.tell(NodeSeen(a_node("n2")))
    assert bound(at.wait(2)) == {}
    assert at.core.next_timer() is not None
    assert set(on(at.wait(1), idle("master", role="master"))) == {"master"}, "it is in no set"
    assert len(bound(at.wait(6))) == 1


def test_one_that_rests_is_tried_again_though_nothing_has_changed_since_it_had_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "PAIRS", 1)
    at = a_cluster(2)
    assert len(on(at, *(idle(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(4)))) == 2
    assert bound(at.node("n2").wait(2)) == {}
    assert bound(at.wait(5)) == {}
    assert len(bound(at.wait(1))) == 1


def test_one_that_was_left_alone_by_its_application_is_placed_like_any_other() -> None:
    at = a_cluster(2)
    on(at, *(idle(f"p{number}", "hbase", constraint="notin,node,hbase") for number in range(2)))
    at.tell(ApplicationSeen(ApplicationSpec("ns/app")))
    assert on(at.wait(1), idle("other")) != {}
    at.tell(*(PodGone(uid) for uid in ("p0", "p1", "other")))
    assert at.core.state.opportunistic.of == {}


constraint = st.sampled_from(
    ["", "notin,node,a", "notin,node,b", "in,node,a", "notin,rack,b", "cardinality,node,a,0,1", "in,rack,b"]
)


@settings(max_examples=150, deadline=None)
@given(
    nodes=st.integers(1, 4),
    iterator=st.sampled_from([SERIAL, POPULAR_TAGS]),
    kinds=st.lists(st.tuples(st.sampled_from("ab"), constraint, st.integers(1, 3), st.integers(1, 3)), max_size=4),
)
def test_all_that_is_placed_may_be_where_it_is_and_none_is_given_more_than_there_is(
    nodes: int, iterator: str, kinds: list[tuple[str, str, int, int]]
) -> None:
    at = a_cluster(nodes, iterator, cpu=4)
    pods = [
        idle(f"k{number}x{each}", tag, constraint=rule, cpu=cpu)
        for number, (tag, rule, cpu, count) in enumerate(kinds)
        for each in range(count)
    ]
    found = on(at, *pods)
    assert discontent(at, pods, found) == []
    given = Counter[str]()
    for pod in pods:
        if pod.uid in found:
            given[found[pod.uid]] += dict(pod.opportunistic)["cpu"]
    assert all(cpu <= 4000 for cpu in given.values())
