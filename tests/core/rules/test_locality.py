"""Delay scheduling: how long an application is kept from looser places for the sake of better ones."""

from __future__ import annotations

from treadle.core.rules.locality import Level, Locality

NODES = 10


def by_chances(locality: Locality, of_node: float = 0.5, of_rack: float = 0.5) -> Level:
    return locality.by_chances("key", NODES, of_node, of_rack)


def passed_over(locality: Locality, times: int) -> None:
    for _ in range(times):
        locality.offered("key")


def test_at_first_only_the_node_will_do() -> None:
    assert by_chances(Locality()) is Level.NODE


def test_more_chances_than_the_part_of_the_nodes_loosen_it_step_by_step() -> None:
    locality = Locality()
    by_chances(locality)
    passed_over(locality, 5)
    assert by_chances(locality) is Level.NODE
    passed_over(locality, 1)
    assert by_chances(locality) is Level.RACK
    passed_over(locality, 5)
    assert by_chances(locality) is Level.RACK, "the chances are counted anew for the rack"
    passed_over(locality, 1)
    assert by_chances(locality) is Level.ANYWHERE


def test_a_negative_threshold_is_no_delay() -> None:
    assert by_chances(Locality(), of_node=-1.0) is Level.ANYWHERE
    assert Locality().by_time("key", 0.0, -1.0, 5.0) is Level.ANYWHERE


def test_delays_loosen_it_step_by_step() -> None:
    locality = Locality()
    found = [locality.by_time("key", now, 5.0, 2.0) for now in (0.0, 5.0, 5.1, 7.0, 7.2)]
    assert found == [Level.NODE, Level.NODE, Level.RACK, Level.RACK, Level.ANYWHERE]


def test_a_closer_placement_tightens_it_again() -> None:
    locality = Locality()
    for now in (0.0, 6.0, 9.0):
        level = locality.by_time("key", now, 5.0, 2.0)
    assert level is Level.ANYWHERE
    locality.placed("key", Level.NODE)
    assert locality.by_time("key", 9.5, 5.0, 2.0) is Level.NODE


def test_a_looser_placement_than_is_allowed_changes_nothing() -> None:
    locality = Locality()
    by_chances(locality)
    locality.placed("key", Level.ANYWHERE)
    assert by_chances(locality) is Level.NODE


def test_keys_wait_each_for_itself() -> None:
    locality = Locality()
    by_chances(locality)
    passed_over(locality, 6)
    assert by_chances(locality) is Level.RACK
    assert locality.by_chances("other", NODES, 0.5, 0.5) is Level.NODE
