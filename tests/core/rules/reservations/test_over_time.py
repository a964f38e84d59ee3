"""Resources over time: sums of intervals, exact at every step, and the worked examples of ``TestRLESparseResourceAllocation``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.reservations.over_time import Amounts, OverTime, least, minus, most, plus, stepped, together

END = 60
intervals = st.tuples(st.integers(0, END - 1), st.integers(1, 20), st.integers(-9, 9)).map(
    lambda one: (one[0], min(one[0] + one[1], END), (one[2], 2 * one[2]))
)


def steps(*points: tuple[int, int]) -> OverTime:
    found = OverTime(1)
    found.times, found.values = [time for time, _ in points], [(value,) for _, value in points]
    return found


A = steps((10, 5), (20, 10), (30, 15), (40, 20), (50, 0))
B = steps((11, 5), (22, 10), (33, 15), (40, 20), (42, 20), (43, 10), (60, 0))


@pytest.mark.parametrize(
    ("how", "start", "end", "wanted"),
    [
        (plus, 18, 45, [(18, 10), (20, 15), (22, 20), (30, 25), (33, 30), (40, 40), (43, 30)]),
        (least, 10, 60, [(10, 0), (11, 5), (22, 10), (33, 15), (40, 20), (43, 10), (50, 0)]),
        (most, 0, 60, [(0, 0), (10, 5), (20, 10), (30, 15), (40, 20), (50, 10)]),
        (minus, 0, 60, [(0, 0), (10, 5), (11, 0), (20, 5), (22, 0), (30, 5), (33, 0), (43, 10), (50, -10)]),
    ],
)
def test_two_functions_are_merged_segment_by_segment(
    how: Callable[[Sequence[int], Sequence[int]], Amounts], start: int, end: int, wanted: list[tuple[int, int]]
) -> None:
    found = together(how, A.segments(start, end), B.segments(start, end))
    assert [(begin, value[0]) for begin, _, value in found] == wanted


def test_what_was_not_given_is_below_zero_when_it_is_taken() -> None:
    found = OverTime(1, [(10, 20, [100]), (20, 30, [200])])
    found.take(12, 25, [100])
    assert [found.at(time)[0] for time in (10, 13, 19, 21, 26)] == [100, 0, 0, 100, 200]
    found.take(9, 13, [100])
    assert [found.at(time)[0] for time in (9, 11, 13, 20)] == [-100, 0, 0, 100]


@pytest.mark.parametrize(
    ("time", "period", "wanted"), [(0, 1, 10), (0, 2, 7), (0, 3, 10), (0, 4, 3), (0, 5, 4), (7, 5, 8), (10, 3, 0)]
)
def test_the_most_at_a_time_of_each_period(time: int, period: int, wanted: int) -> None:
    found = steps(*enumerate([2, 5, 7, 10, 3, 4, 6, 8]))
    assert found.most_periodic(time, period) == (wanted,)


def test_the_least_within_an_interval() -> None:
    found = steps(*enumerate([2, 5, 7, 10, 3, 4, 0, 8]))
    assert [found.least_within(*one) for one in [(1, 4), (2, 6), (1, 8)]] == [(5,), (3,), (0,)]


def test_intervals_lie_between_breakpoints() -> None:
    found = OverTime(1, [(101, 106, [5]), (102, 104, [5]), (105, 106, [-5]), (106, 107, [5])])
    assert found.intervals() == [(101, 102, (5,)), (102, 104, (10,)), (104, 105, (5,)), (105, 106, (0,)), (106, 107, (5,))]


def test_nothing_is_added_by_nothing() -> None:
    found = OverTime(1, [(5, 9, [0]), (9, 9, [3]), (9, 4, [3])])
    assert found.empty
    assert found.earliest is None
    assert found.latest is None


@given(st.lists(intervals, max_size=12))
def test_it_equals_an_array_over_steps_after_every_operation(operations: list[tuple[int, int, tuple[int, int]]]) -> None:
    found, naive = OverTime(2), [(0, 0)] * END
    for start, end, amount in operations:
        found.add(start, end, amount)
        naive = [plus(value, amount) if start <= time < end else value for time, value in enumerate(naive)]  # type: ignore[misc]
        assert [found.at(time) for time in range(END)] == naive
        assert [value for begin, until, value in found.segments(0, END) for _ in range(begin, until)] == naive
        assert [value for begin, until, value in found.segments_back(0, END) for _ in range(begin, until)] == naive[::-1]
        assert all(one != other for one, other in zip([found.nothing, *found.values], found.values, strict=False))
        assert found.within(0, END) == stepped(2, found.segments(0, END)) == found
        assert found.shifted(7).shifted(-7) == found


@given(st.lists(intervals, max_size=8), st.lists(intervals, max_size=8))
def test_adding_and_taking_are_inverse(
    kept: list[tuple[int, int, tuple[int, int]]], gone: list[tuple[int, int, tuple[int, int]]]
) -> None:
    found, before = OverTime(2, kept), OverTime(2, kept)
    for one in gone:
        found.add(*one)
    for one in gone:
        found.take(*one)
    assert found == before
