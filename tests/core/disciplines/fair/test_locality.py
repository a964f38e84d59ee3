"""Pods that would like to be near something: what is taken first, how long they wait for it, and when it is a must."""

from __future__ import annotations

from core.builders import places, racks, wish
from treadle.core.model import RACK_LABEL


def test_without_delays_what_is_liked_is_taken_first_then_its_rack_then_anything() -> None:
    scenario = racks().pods(8, "p", cpu=1, **wish("a2"))
    assert places(scenario.plan()) == ["a2", "a2", "a1", "a1", "b1", "b1", "b2", "b2"]


def test_terms_are_weighed_and_a_name_goes_before_them() -> None:
    scenario = racks().pods(2, "p", cpu=1, **wish(hdd=1, ssd=5)).pods(3, "q", "", "other", cpu=1, **wish("a1", ssd=100))
    binds = {bind.name: bind.node for bind in scenario.plan()}
    assert binds == {"p-0": "b2", "p-1": "b2", "q-0": "a1", "q-1": "a1", "q-2": "b1"}


def test_an_ask_waits_for_its_nodes_then_for_their_racks_and_then_takes_any() -> None:
    scenario = racks(node_delay=5.0, rack_delay=10.0).pods(6, "p", cpu=1, **wish("a1"))
    assert places(scenario.plan()) == ["a1", "a1"]
    reason, message = scenario.why("p-2")
    assert reason == "WaitingForLocality"
    assert message == (
        "there is no room on the nodes that it prefers; it waits for them for 5 s at the most, then their racks will do"
    )
    assert scenario.wait(5.0).plan() == []
    due = scenario.core.next_timer()
    assert due is not None
    assert 5.0 < due < 5.1
    scenario.now = due
    assert places(scenario.plan()) == ["a2", "a2"]
    assert scenario.wait(10.0).plan() == []
    scenario.wait(0.01)
    assert places(scenario.plan()) == ["b1", "b1"]


def test_a_liked_node_that_gets_room_is_taken_at_once() -> None:
    scenario = racks(node_delay=500.0, rack_delay=500.0).pods(3, "p", cpu=1, **wish("a1"))
    scenario.confirm(scenario.plan())
    scenario.pod("other", "", "other").confirm(scenario.plan()).gone("other")
    assert scenario.plan() == []
    scenario.gone("p-1")
    assert places(scenario.plan()) == ["a1"]


def test_a_liked_node_that_joins_is_taken() -> None:
    scenario = racks(node_delay=500.0, rack_delay=500.0).pods(3, "p", cpu=1, **wish("a1"))
    scenario.plan()
    scenario.node("a3", cpu=2, labels={RACK_LABEL: "a"})
    assert scenario.plan() == []
    scenario.node("a1", cpu=3, labels={RACK_LABEL: "a"})
    assert places(scenario.plan()) == ["a1"]


def test_nobody_waits_for_places_that_are_not_there() -> None:
    scenario = racks(node_delay=500.0, rack_delay=500.0).pod("p", **wish("nowhere")).pod("q", "", "other", **wish(racks=("b",)))
    assert {bind.name: bind.node[0] for bind in scenario.plan()} == {"p": "b", "q": "b"}


def test_shorter_delays_take_effect_on_what_waits() -> None:
    scenario = racks(node_delay=500.0, rack_delay=500.0).pods(3, "p", cpu=1, **wish("a1"))
    scenario.plan()
    scenario.scheduler()
    assert places(scenario.plan()) == ["a2"]


def test_who_insists_gets_the_named_places_or_none() -> None:
    scenario = racks(cpu=1).pods(4, "p", cpu=1, **wish("a1", racks=("b",), relax=False))
    assert places(scenario.plan()) == ["a1", "b1", "b2"]
    reason, message = scenario.why("p-3")
    assert reason == "Unschedulable"
    assert "1 node(s) were not among the nodes and racks that the pod insists on" in message


def test_full_nodes_are_no_reason_to_wait_for_locality() -> None:
    scenario = racks(cpu=1, node_delay=5.0, rack_delay=5.0).pod("p", cpu=2, **wish("a1"))
    assert scenario.plan() == []
    assert scenario.why("p")[0] == "Unschedulable"


def test_others_are_not_held_up_by_one_that_waits() -> None:
    scenario = racks(node_delay=5.0, rack_delay=5.0).pods(3, "p", cpu=1, created=1.0, **wish("a1"))
    scenario.pods(2, "q", "", "other", cpu=1, created=2.0)
    assert {"q-0", "q-1"} <= {bind.name for bind in scenario.plan()}
    assert scenario.why("p-2")[0] == "WaitingForLocality"
