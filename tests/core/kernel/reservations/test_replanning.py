"""When capacity is lost for long who was accepted last is moved, or dropped where there is no place."""

from __future__ import annotations

import pytest

from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Reserving, asked, wanted
from treadle.core.kernel.reservations.following import default_path

both = pytest.mark.parametrize("discipline", DISCIPLINES)


def lose(it: Reserving) -> Reserving:
    """Half of the cluster goes: the plan has 5 cores of 10."""
    it.without_node("node-1").wait(1).plan()
    return it


def told(it: Reserving) -> list[tuple[str, str]]:
    return [(one.id.partition("/")[2], one.reason) for one in it.decided if one.reason]


@both
def test_nothing_is_done_before_capacity_has_been_missing_for_a_while(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, hours=2), start=0, end=2))
    it.plan()
    lose(it).wait(58).plan()
    assert it.phase("a") == "Active"
    assert it.shares()["a"] == 5
    it.nodes(2, cpu=10, memory=100).wait(1).plan()
    assert it.shares()["a"] == 10
    it.wait(600).plan()
    assert (it.phase("a"), told(it)) == ("Active", [])


@both
def test_who_was_accepted_last_is_dropped_when_there_is_no_other_place(discipline: str) -> None:
    it = Reserving(discipline)
    for name in ("first", "second", "third"):
        it.ask(wanted(name, asked(cpu=3, hours=2), start=0, end=2))
        it.plan()
    lose(it)
    timer = it.core.next_timer()
    assert timer is not None
    it.now = timer
    while it.phase("third") == "Active":
        it.now = max(it.now + 1, it.core.next_timer() or 0)
        it.plan()
        assert it.now < 100
    assert it.now >= 60
    assert [it.phase(name) for name in ("first", "second", "third")] == ["Active", "Dropped", "Dropped"]
    assert sorted(told(it)) == [("second", "ReservationDropped"), ("third", "ReservationDropped")]
    reason, words = it.said("second")
    assert reason == "CapacityLost"
    assert "queue root.plan has cpu 5 since it lost capacity" in words
    assert it.shares() == {"first": 3, "default": 2}


@both
def test_what_has_not_begun_is_moved_before_anything_is_dropped(discipline: str) -> None:
    it = Reserving(discipline, agent="Greedy")
    it.ask(wanted("a", asked(cpu=5, hours=1), start=0.5, end=4))
    it.plan()
    it.ask(wanted("b", asked(cpu=5, hours=1), start=0.5, end=4))
    it.plan()
    assert (it.steps("a")[0][0], it.steps("b")[0][0]) == (0.5, 0.5)
    lose(it).wait(60).plan()
    assert it.steps("a") == [(0.5, 1.5, {"cpu": 5})]
    assert it.steps("b") == [(1.5, 2.5, {"cpu": 5})]
    assert told(it) == [("b", "ReservationMoved")]
    assert it.decided[-1].note == (
        "queue root.plan has lost capacity: what began at 1970-01-01T00:30:00Z begins at 1970-01-01T01:30:00Z now"
    )
    assert (it.phase("b"), it.said("b")) == ("Accepted", ("", ""))


@both
def test_what_is_too_much_only_after_the_window_stays(discipline: str) -> None:
    it = Reserving(discipline, enforcement=HOUR).ask(wanted("a", asked(cpu=10, hours=1), start=5, end=6))
    it.plan()
    lose(it).wait(600).plan()
    assert it.phase("a") == "Accepted"


@both
def test_applications_of_what_was_dropped_go_on_in_the_queue_for_all_else(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("a", asked(cpu=10, hours=2), start=0, end=2)).inside("app", "a")
    it.plan()
    it.pods(2, "p")
    it.confirm(it.plan())
    lose(it).wait(60).plan()
    it.pod("late")
    it.plan()
    assert it.phase("a") == "Dropped"
    assert it.queue_of("app") == default_path(PLAN).rpartition("-")[0]


def test_an_edit_of_what_was_dropped_is_decided_anew() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2), start=0, end=2))
    it.plan()
    lose(it).wait(60).plan()
    assert it.phase("a") == "Dropped"
    it.ask(wanted("a", asked(cpu=4, hours=1), start=0, end=2, generation=2))
    it.plan()
    assert it.phase("a") == "Active"


def test_what_was_dropped_stays_dropped_for_who_leads_next() -> None:
    it = Reserving().ask(wanted("a", asked(cpu=10, hours=2), start=0, end=2))
    it.plan()
    lose(it).wait(60).plan()
    again = Reserving().ask(wanted("a", asked(cpu=10, hours=2), start=0, end=2), it.figures("a").decided)
    again.plan()
    assert (again.phase("a"), again.decided) == ("Dropped", [])


def test_lost_devices_are_noticed_though_the_plan_has_none_left() -> None:
    it = Reserving().node("gpus", cpu=1, memory=1, resources={"gpu": 8}).wait(1)
    it.plan()
    it.ask(wanted("a", asked(cpu=0, gpu=2, hours=2), start=0, end=3))
    it.plan()
    assert it.phase("a") == "Active"
    it.without_node("gpus").wait(1).plan()
    it.wait(60).plan()
    assert it.phase("a") == "Dropped"


@both
def test_what_comes_again_later_takes_nothing_from_what_was_promised_before_it_begins(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("once", asked(cpu=10, hours=2), start=0, end=2))
    it.plan()
    it.ask(wanted("daily", asked(cpu=10, hours=1), start=49, end=50, period=24 * HOUR))
    it.plan()
    assert (it.phase("once"), it.phase("daily")) == ("Active", "Accepted")
    it.at(1).plan()
    assert [plan.promised["cpu"] for plan in it.core.view.plans()] == [10_000]
    for _ in range(4):
        it.wait(61).plan()
    assert (it.phase("once"), it.phase("daily"), told(it)) == ("Active", "Accepted", [])
    assert it.shares() == {"once": 10, "default": 0}


@both
def test_of_what_is_too_much_only_what_has_begun_by_then_goes(discipline: str) -> None:
    it = Reserving(discipline).ask(wanted("daily", asked(cpu=4, hours=1), start=49, end=50, period=24 * HOUR))
    it.plan()
    it.ask(wanted("once", asked(cpu=6, hours=2), start=0, end=2))
    it.plan()
    lose(it).at(1).plan()
    it.wait(61).plan()
    assert (it.phase("once"), it.phase("daily")) == ("Dropped", "Accepted")


@both
def test_who_has_nothing_of_what_is_missing_stays_though_accepted_last(discipline: str) -> None:
    it = Reserving(discipline)
    it.nodes(2, "gpu", cpu=1, memory=1, resources={"nvidia.com/gpu": 8}).wait(1).plan()
    it.ask(wanted("first", asked(cpu=1, hours=2, **{"nvidia.com/gpu": 8}), start=0, end=3)).plan()
    it.ask(wanted("last", asked(cpu=8, hours=2), start=0, end=3)).plan()
    it.without_node("gpu-0").wait(1).plan()
    it.wait(60).plan()
    assert (it.phase("first"), it.phase("last")) == ("Dropped", "Active")
