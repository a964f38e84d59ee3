"""Who may have how much of a plan (worked examples of ``TestNoOverCommitPolicy`` and ``TestCapacityOverTimePolicy``)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import fixed, plan_of
from treadle.core.rules.reservations.errors import OvercommitError, PlanningError, QuotaError
from treadle.core.rules.reservations.sharing import CapacityOverTime, averages

MINUTES = 60
DAY = 24 * MINUTES


@pytest.mark.parametrize(("count", "times", "fits"), [(1000, 1, True), (1100, 1, False), (250, 4, True), (250, 5, False)])
def test_without_a_quota_whatever_is_free_may_be_had(count: int, times: int, fits: bool) -> None:
    plan = plan_of(1000)
    for number in range(times - 1):
        plan.add(fixed(number, [(0, MINUTES, count)]), 0)
    if fits:
        plan.add(fixed(9, [(0, MINUTES, count)]), 0)
    else:
        with pytest.raises(OvercommitError, match="may be had"):
            plan.add(fixed(9, [(0, MINUTES, count)]), 0)


@pytest.mark.parametrize(
    ("minutes", "count", "times", "fits"),
    [
        (MINUTES, 250, 1, True),
        (1, 740, 1, True),
        (MINUTES, 760, 1, False),
        (MINUTES, 1100, 1, False),
        (1, 250, 3, True),
        (1, 250, 4, False),
        (25 * MINUTES, 250, 1, False),
        (25 * MINUTES, 50, 5, False),
        (DAY, 250, 1, True),
        (DAY, 260, 1, False),
        (12 * MINUTES, 510, 1, False),
    ],
)
def test_a_quota_at_once_and_on_average(minutes: int, count: int, times: int, fits: bool) -> None:
    plan = plan_of(1000, sharing=CapacityOverTime(0.75, 0.25, DAY))
    for number in range(times - 1):
        plan.add(fixed(number, [(0, minutes, count)]), 0)
    last = fixed(9, [(0, minutes, count)])
    if fits:
        plan.add(last, 0)
    else:
        with pytest.raises(QuotaError):
            plan.add(last, 0)


def test_an_update_counts_once() -> None:
    plan = plan_of(1000, sharing=CapacityOverTime(0.75, 0.25, DAY))
    plan.add(fixed(1, [(0, DAY, 200)]), 0)
    assert plan.update(fixed(1, [(0, DAY, 240)]), 1)


def test_a_quota_is_each_users_own() -> None:
    plan = plan_of(1000, sharing=CapacityOverTime(0.4, 1.0, DAY))
    plan.add(fixed(1, [(0, 10, 400)], "a"), 0)
    plan.add(fixed(2, [(0, 10, 400)], "b"), 0)
    assert [value[1] for _, _, value in plan.available("a", None, 0, 20)] == [0, 400]
    assert [value[1] for _, _, value in plan.available("c", None, 0, 20)] == [200, 400]


def test_averages_are_over_the_window_before() -> None:
    load = fixed(1, [(0, 10, 4)]).shape
    assert [(time, had[1]) for time, had in averages(load, 5)] == [(0, 0), (5, 4), (10, 4), (15, 0)]  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 9), st.integers(1, 70)), max_size=10))
def test_at_no_time_a_user_has_more_than_may_be_had_at_once(wanted: list[tuple[int, int, int, int]]) -> None:
    plan = plan_of(sharing=CapacityOverTime(0.5, 0.5, 10))
    for number, (user, start, length, count) in enumerate(wanted):
        try:
            plan.add(fixed(number, [(start, start + length, count)], f"u{user}"), 0)
        except PlanningError:
            continue
        for name in plan.by_user:
            assert all(value[1] <= 50 for _, _, value in plan.consumed(name, 0, 40))
        assert all(plan.committed(time)[1] <= 100 for time in range(40))
