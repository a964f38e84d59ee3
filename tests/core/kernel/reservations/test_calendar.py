"""What begins at several times of a period, as the times of a calendar are told: decided, kept, followed and told at each of them."""

from __future__ import annotations

from typing import Any

import pytest

from core.kernel.reservations.planned import DISCIPLINES, HOUR, PLAN, Reserving, asked, wanted
from treadle.core.effects import Expire
from treadle.core.events import ReservationSeen
from treadle.core.model.reservations import PlanSpec, ReservationSpec

both = pytest.mark.parametrize("discipline", DISCIPLINES)


def calendar(
    name: str,
    *starts: float,
    cpu: int = 6,
    hours: float = 1,
    window: float = 2,
    period: float = 24,
    start: float = 0,
    **fields: Any,
) -> ReservationSpec:
    """A reservation that begins at these hours of each period, from ``start`` on."""
    return wanted(
        name,
        asked(cpu=cpu, hours=hours),
        start=start,
        end=start + window,
        period=round(period * HOUR),
        starts=tuple(round(at * HOUR) for at in starts),
        apart=round(fields.pop("apart", period) * HOUR),
        **fields,
    )


@both
def test_each_time_has_its_window_its_queue_and_its_guarantee(discipline: str) -> None:
    it = Reserving(discipline).ask(calendar("a", 3, 9, 15)).inside("app", "a")
    it.plan()
    assert [(start, end) for start, end, _ in it.steps("a")] == [(3, 4), (9, 10), (15, 16)]
    seen = []
    for hour in (0, 3, 4.5, 5, 8.9, 9, 11, 15, 17, 27, 29, 33):
        it.at(hour).plan()
        seen.append((hour, it.phase("a"), it.shares().get("a")))
    assert seen == [
        (0, "Accepted", None),
        (3, "Active", 6),
        (4.5, "Active", 0),
        (5, "Accepted", None),
        (8.9, "Accepted", None),
        (9, "Active", 6),
        (11, "Accepted", None),
        (15, "Active", 6),
        (17, "Accepted", None),
        (27, "Active", 6),
        (29, "Accepted", None),
        (33, "Active", 6),
    ]


@both
def test_the_core_wakes_for_each_time(discipline: str) -> None:
    it = Reserving(discipline).ask(calendar("a", 3, 9))
    it.plan()
    woken = set[float]()
    for _ in range(60):
        timer = it.core.next_timer()
        if timer is None or timer > 36 * 3600:
            break
        it.now = max(timer, it.now)
        it.plan()
        woken.add(it.now / 3600)
    assert {3, 4, 5, 9, 10, 11, 27, 28, 29, 33, 34, 35} <= woken
    assert len([hour for hour in woken if hour > 1]) <= 14


def test_it_begins_at_the_first_of_its_times_at_or_after_its_arrival() -> None:
    it = (
        Reserving()
        .ask(calendar("a", 3, 9, start=4))
        .ask(calendar("b", 3, 9, start=9, cpu=1))
        .ask(calendar("c", 3, start=4, cpu=1))
    )
    it.plan()
    promises = [it.figures(name).decided.promise for name in "abc"]  # type: ignore[union-attr]
    assert [None if one is None else (one.arrival / HOUR, one.deadline / HOUR, one.starts) for one in promises] == [
        (9, 11, (0, 18 * HOUR)),
        (9, 11, (0, 18 * HOUR)),
        (27, 29, ()),
    ]
    assert it.figures("a").next_start == 9 * HOUR


def test_one_that_is_made_long_after_its_arrival_begins_with_the_first_window_that_is_not_over() -> None:
    it = Reserving().at(100.5).ask(calendar("a", 3, 9))
    it.plan()
    promise = it.figures("a").decided.promise  # type: ignore[union-attr]
    assert promise is not None
    assert promise.arrival / HOUR == 99
    assert it.phase("a") == "Active"


@both
def test_pods_wait_for_the_next_of_the_times(discipline: str) -> None:
    it = Reserving(discipline).ask(calendar("a", 3, 9)).inside("app", "a")
    it.plan()
    it.at(5).pod("p").plan()
    assert it.why("p") == ("ReservationNotStarted", "reservation ns/a begins at 1970-01-01T09:00:00Z")
    assert len(it.at(9).plan()) == 1


def test_pods_are_deleted_when_the_window_of_any_time_is_over_where_the_queue_says_so() -> None:
    it = Reserving(move=False).ask(calendar("a", 3, 9)).inside("app", "a")
    it.plan()
    it.at(9).pod("p")
    it.confirm(it.plan())
    it.at(11).plan()
    gone = [effect for effect in it.effects if isinstance(effect, Expire)]
    assert [(one.name, one.why) for one in gone] == [("p", "was to run in reservation ns/a until 1970-01-01T11:00:00Z")]


def test_times_that_stand_for_one_another_are_promised_once_where_they_overlap() -> None:
    it = Reserving().ask(calendar("a", 1, 2, hours=4, window=4)).ask(calendar("b", 1, 2, cpu=4, hours=4, window=4))
    it.plan()
    assert it.steps("a") == [(1, 6, {"cpu": 6})]
    assert it.phase("b") == "Accepted"
    assert it.at(1).ask(calendar("c", 5.5, cpu=1, window=2.5)).plan() == []
    assert it.phase("c") == "Accepted"  # it has its hour after the others
    assert [(start, end) for start, end, _ in it.steps("c")] == [(6.5, 7.5)]


@pytest.mark.parametrize("length", [4, 3.5])
def test_windows_that_overlap_by_one_clock_are_refused(length: float) -> None:
    it = (
        Reserving()
        .ask(calendar("a", 1, 2, 4, 5, window=length, apart=3))
        .ask(calendar("b", 1, 2, 4, 5, window=3, apart=3, cpu=1))
    )
    it.plan()
    reason, words = it.said("a")
    assert reason == "PeriodTooShort"
    assert words.startswith("spec.recurrence: 3h is shorter than the window from arrival to deadline, which is ")
    assert it.phase("b") == "Accepted"


def test_a_week_needs_a_queue_whose_longest_period_it_divides() -> None:
    it = Reserving().ask(calendar("a", 3, 27, period=168))
    it.plan()
    assert it.said("a") == (
        "PeriodNoDivisor",
        "spec.recurrence: 168h, after which it is the same again, does not divide the longest period of queue root.plan, which is 24h (spec.reservations.maximumPeriod)",
    )
    it = Reserving(cycle=168 * HOUR).ask(calendar("a", 3, 27, period=168))
    it.plan()
    assert it.phase("a") == "Accepted"


def test_too_many_times_and_times_too_near_each_other_are_refused() -> None:
    often = [at / 10 for at in range(300)]
    it = Reserving(cycle=168 * HOUR)
    it.ask(calendar("many", *often, period=168, window=0.1, hours=0.1, apart=1)).ask(
        calendar("near", 1, 1.1, apart=0.1, hours=0.1)
    )
    it.plan()
    assert it.said("many") == ("TooManySteps", "spec.recurrence: it begins at 300 times within 168h, and at most 256 are kept")
    assert it.said("near")[0] == "PeriodTooShort" or it.said("near")[1].startswith("spec.recurrence: 6m is shorter")


def test_a_refusal_says_that_any_of_the_times_may_have_no_room() -> None:
    it = Reserving().ask(wanted("once", asked(cpu=6, hours=2), start=9, end=11))
    it.plan()
    it.ask(calendar("a", 3, 9, hours=2)).plan()
    reason, words = it.said("a")
    assert reason == "NoRoom"
    assert (
        "from 1970-01-01T03:00:00Z until 1970-01-01T05:00:00Z, or at another of the 2 times at which it begins, beside what"
        in words
    )


def test_the_deadline_that_is_offered_is_one_for_the_window_that_the_object_has() -> None:
    taken = wanted("once", asked(cpu=6, hours=2), start=27, end=29)
    it = Reserving().at(11).ask(taken)
    it.plan()
    it.ask(calendar("a", 3, 9, hours=2, start=1))
    it.ask(wanted("p", asked(cpu=6, hours=2), start=3, end=5, period=24 * HOUR))
    it.plan()
    for name, start in (("a", 1), ("p", 3)):
        decided = it.figures(name).decided
        assert decided is not None
        later = next(one.deadline for one in decided.alternatives if one.deadline is not None)
        assert later / HOUR == pytest.approx(start + 4, abs=0.1)
        again = it.core.state.plans.known[f"ns/{name}"].spec
        other = ReservationSpec(
            again.id, 2, again.queue, again.arrival, later, again.requests, period=again.period, user="ann", uid=name,
            starts=again.starts, apart=again.apart,
        )  # fmt: skip
        fresh = Reserving().at(11).ask(taken)
        fresh.plan()
        fresh.ask(other).plan()
        assert fresh.phase(name) in {"Accepted", "Active"}


@both
def test_promises_are_put_back_as_they_were_and_an_edit_takes_their_place(discipline: str) -> None:
    it = Reserving(discipline).ask(calendar("a", 3, 9))
    it.plan()
    decided = it.figures("a").decided
    again = Reserving(discipline)
    again.at(5).tell(ReservationSeen(calendar("a", 3, 9), decided))
    again.plan()
    assert again.figures("a").decided == decided
    seen = []
    for hour in (5, 9, 10, 27):
        again.at(hour).plan()
        seen.append(again.shares().get("a"))
    assert seen == [None, 6, 0, 6]
    again.ask(calendar("a", 4, 20, cpu=8, generation=2))
    again.plan()
    assert [(start, end, has["cpu"]) for start, end, has in again.steps("a")] == [(28, 29, 8), (44, 45, 8)]
    again.ask(calendar("a", 4, 20, cpu=11, generation=3))
    again.plan()
    assert again.said("a")[0] == "GangTooLarge"
    assert again.figures("a").next_start == 28 * HOUR
    again.withdraw("a").plan()
    assert again.core.state.plans.of[PLAN].plan.load.empty


def test_a_core_that_is_made_anew_knows_all_times() -> None:
    it = Reserving().ask(calendar("a", 3, 9))
    it.plan()
    fresh = it.core.fresh()
    for fact in it.core.facts():
        fresh.handle(fact, it.now)
    it.core = fresh
    it.at(9).plan()
    assert it.shares() == {"a": 6, "default": 4}


def test_capacity_that_is_lost_moves_or_drops_it_as_a_whole() -> None:
    it = Reserving(patience=0, enforcement=24 * HOUR, cycle=24 * HOUR).ask(calendar("a", 3, 9))
    it.plan()
    it.without_node("node-1").wait(1).plan()
    it.wait(1).plan()
    assert it.phase("a") == "Dropped"
    assert it.core.state.plans.of[PLAN].plan.load.empty
    assert PlanSpec().cycle == 24 * HOUR
