"""A plan: what is promised and what may still be (worked examples of ``TestInMemoryPlan``)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import counts, fixed, plan_of, size
from treadle.core.model.reservations import ReservationDefinition
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.errors import OvercommitError, PlanningError, UnknownReservation
from treadle.core.rules.reservations.plan import Plan, Reservation
from treadle.core.rules.reservations.sharing import NoOvercommit


def periodic() -> Plan:
    """Ten containers at 10 and fifty at 11 of every 20."""
    plan, shape = plan_of(), Cycle(2, 20)
    shape.add(10, 11, size(10))
    shape.add(11, 12, size(50))
    plan.add(Reservation("p", 1, "u", ReservationDefinition(10, 12, recurrence="20"), shape), 0)
    return plan


def test_a_periodic_reservation_is_committed_in_each_period() -> None:
    plan = periodic()
    assert [plan.committed(time)[1] for time in (10, 11, 12, 30, 31, 91, 111)] == [10, 50, 0, 10, 50, 50, 50]


def test_what_is_free_each_period_is_the_least_of_all_occurrences() -> None:
    found = periodic().available("u", None, 130, 170, 50)
    at = {time: value[1] for start, end, value in found for time in range(start, end)}
    assert [at[time] for time in (129 + 1, 140, 150)] == [90, 90, 90]
    assert [at[time] for time in (131, 141, 132)] == [50, 50, 100]


def test_an_interval_longer_than_the_period_is_refused() -> None:
    with pytest.raises(PlanningError, match="recurrence: 50 ms is shorter than the interval of 180 ms"):
        periodic().available("u", None, 150, 330, 50)
    with pytest.raises(PlanningError, match="recurrence: 30 ms does not divide the largest period, which is 100 ms"):
        periodic().available("u", None, 0, 10, 30)


def test_what_is_over_is_archived_after_the_window_of_the_policy() -> None:
    plan = plan_of()
    plan.settings.sharing.window = 1
    for number, end in ((1, 105), (2, 106), (3, 107)):
        plan.add(fixed(number, [(100, end, 1)]), 0)
    assert plan.archive(106) == ["r1"]
    assert plan.archive(107) == ["r2"]
    assert list(plan.reservations) == ["r3"]
    plan.settings.sharing.window = 0
    forever = periodic()
    assert forever.archive(10_000) == []


def test_names_are_told_apart() -> None:
    plan = plan_of()
    plan.add(fixed(1, [(0, 5, 10)]), 0)
    with pytest.raises(UnknownReservation, match="'r1' is in the plan already"):
        plan.add(fixed(1, [(0, 5, 10)]), 0)
    with pytest.raises(UnknownReservation, match="'r2' is not in the plan"):
        plan.delete("r2")
    with pytest.raises(UnknownReservation, match="'r2' is not in the plan"):
        plan.update(fixed(2, [(0, 5, 10)]), 0)


class OnlyBeside(NoOvercommit):
    """A policy that takes a reservation of the name ``r1`` only while one of that name is there."""

    def validate(self, plan: Plan, wanted: Reservation) -> None:
        if plan.reservations and wanted.name not in plan.reservations:
            raise PlanningError("not without the old one")


def test_what_cannot_be_replaced_stays_though_nobody_would_accept_it_any_more() -> None:
    plan = plan_of(sharing=OnlyBeside())
    plan.restore(fixed(2, [(0, 5, 10)]))
    old = fixed(1, [(0, 5, 100)])
    plan.restore(old)
    old.accepted = 7
    plan.capacity = size(90)
    assert not plan.update(fixed(1, [(0, 5, 20)]), 9)
    assert plan.known("r1") is old
    assert (old.accepted, plan.committed(3)[1]) == (7, 110)


def test_an_update_may_use_what_the_old_one_has() -> None:
    plan = plan_of()
    plan.add(fixed(1, [(0, 5, 60)]), 0)
    assert plan.update(fixed(1, [(2, 7, 100)]), 3)
    assert counts(plan.load.once) == [(2, 100), (7, 0)]
    with pytest.raises(OvercommitError):
        plan.update(fixed(1, [(2, 7, 101)]), 4)
    assert plan.reservations["r1"].accepted == 3


def test_queries_by_time_and_by_user() -> None:
    plan = plan_of()
    plan.add(fixed(1, [(0, 5, 10)], "a"), 1)
    plan.add(fixed(2, [(3, 8, 20)], "b"), 2)
    plan.add(fixed(3, [(3, 8, 5)], "b"), 2)
    assert [one.name for one in plan.active(4)] == ["r3", "r2", "r1"]
    assert [one.name for one in plan.overlapping(5, 9)] == ["r3", "r2"]
    assert [one.name for one in plan.overlapping(0, 9, "a")] == ["r1"]
    assert [value[1] for _, _, value in plan.consumed("b", 0, 9)] == [0, 25, 0]
    assert [value[1] for _, _, value in plan.consumed("c", 0, 9)] == [0]
    assert (plan.earliest, plan.latest) == (0, 8)


def test_occurrences_are_met_by_an_interval() -> None:
    plan = periodic()
    assert [bool(plan.overlapping(start, end)) for start, end in [(0, 9), (13, 29), (13, 30), (31, 31), (52, 69), (5, 10)]] == [
        False,
        False,
        True,
        True,
        False,
        True,
    ]


def exactly() -> Plan:
    plan = plan_of()
    plan.settings = replace(plan.settings, exact=True)
    return plan


def test_what_is_promised_once_in_a_later_period_is_not_promised_again_by_what_comes_again() -> None:
    plan = exactly()
    plan.add(fixed(1, [(1005, 1010, 60)]), 0)
    assert [value[1] for _, _, value in plan.available("u", None, 0, 10, 50)] == [100, 40]
    with pytest.raises(OvercommitError):
        plan.add(recurring("p", 50, 0, 10, 50), 0)
    plan.add(recurring("p", 50, 0, 5, 50), 0)
    plan.add(recurring("q", 50, 5, 10, 40), 0)


def test_what_is_promised_once_for_long_is_not_looked_at_period_by_period() -> None:
    plan = exactly()
    plan.add(fixed(1, [(1000, 10**9, 60)]), 0)
    assert [value[1] for _, _, value in plan.available("u", None, 0, 10, 50)] == [40]


def recurring(name: str, period: int, start: int, end: int, count: int) -> Reservation:
    shape = Cycle(2, period)
    shape.add(start, end, size(count))
    return Reservation(name, 1, "u", ReservationDefinition(start, end, recurrence=str(period)), shape)


recurrences = st.tuples(st.sampled_from([10, 20, 50, 100]), st.integers(0, 120), st.integers(1, 10))
once = st.tuples(st.just(0), st.integers(0, 700), st.integers(1, 260))


@given(st.lists(st.tuples(st.one_of(recurrences, once), st.integers(5, 60)), max_size=10))
def test_what_is_accepted_exactly_fits_at_every_moment_of_every_period(wanted: list[tuple[tuple[int, int, int], int]]) -> None:
    plan, horizon = exactly(), 1100
    for number, ((period, start, length), count) in enumerate(wanted):
        one = fixed(number, [(start, start + length, count)])
        if period:
            one = recurring(f"r{number}", period, start, start + length, count)
        times = [time for time in range(start, horizon) if one.shape.at(time)[1]]
        fits = all(plan.committed(time)[1] + count <= 100 for time in times)
        try:
            plan.add(one, 0)
        except OvercommitError:
            assert not fits
        else:
            assert fits
    for time in range(horizon):
        assert sum(one.at(time)[1] for one in plan.reservations.values()) <= 100


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 20), st.integers(1, 9), st.integers(1, 60)), max_size=15))
def test_at_no_time_more_is_promised_than_there_is_and_deletions_leave_nothing(changes: list[tuple[int, int, int, int]]) -> None:
    plan = plan_of()
    for number, start, length, count in changes:
        if f"r{number}" in plan.reservations:
            plan.delete(f"r{number}")
            continue
        wanted = fixed(number, [(start, start + length, count)], f"u{number % 2}")
        fits = all(plan.committed(time)[1] + count <= 100 for time in range(start, start + length))
        if fits:
            plan.add(wanted, 0)
        else:
            with pytest.raises(OvercommitError):
                plan.add(wanted, 0)
        assert all(plan.committed(time)[1] <= 100 for time in range(30))
        mine = [
            sum(value[1] for user in ("u0", "u1") for _, _, value in plan.consumed(user, time, time + 1)) for time in range(30)
        ]
        assert mine == [plan.committed(time)[1] for time in range(30)]
    for name in list(plan.reservations):
        plan.delete(name)
    assert plan.load.empty
    assert not plan.by_user
