"""What comes again each period is kept once, and is there in every period (worked examples of ``TestPeriodicRLESparseResourceAllocation``)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.reservations.cycles import Cycle, Load, period_of, repeated
from treadle.core.rules.reservations.over_time import OverTime, plus, together

PERIODS = (5, 10, 20)


def test_a_cycle_is_the_same_in_each_period() -> None:
    found = Cycle(1, 20)
    for start, end, amount in [(0, 5, 10), (5, 10, 7), (10, 15, 5), (15, 19, 2)]:
        found.add(start, end, [amount])
    assert [found.at(time)[0] for time in (10, 20, 27, 50)] == [5, 10, 7, 5]


def test_what_sticks_out_of_a_cycle_comes_at_its_start() -> None:
    found = Cycle(1, 10)
    found.add(108, 113, [4])
    assert [found.at(time)[0] for time in (7, 8, 10, 12, 13)] == [0, 4, 4, 4, 0]
    found.take(8, 13, [4])
    assert found.empty


def test_an_interval_longer_than_the_period_overlaps_itself() -> None:
    found = Cycle(1, 10)
    found.add(3, 25, [1])
    assert [found.at(time)[0] for time in (2, 3, 4, 5)] == [2, 3, 3, 2]


def test_periodic_and_other_resources_add_up() -> None:
    cycle = Cycle(1, 10)
    cycle.add(1, 2, [2])
    cycle.add(2, 3, [5])
    once = OverTime(1, [(12, 14, [10])])
    found = {
        time: value[0]
        for start, end, value in together(plus, cycle.segments(2, 25), once.segments(2, 25))
        for time in range(start, end)
    }
    assert [found[time] for time in (2, 3, 11, 12, 13, 14, 21, 22, 23)] == [5, 0, 2, 15, 10, 0, 2, 5, 0]


@given(
    intervals=st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 9), st.integers(0, 9)), max_size=4),
    starts=st.sets(st.integers(0, 19), min_size=1, max_size=5),
)
def test_what_begins_several_times_in_a_period_is_there_each_time_and_once_where_it_overlaps(
    intervals: list[tuple[int, int, int]], starts: set[int]
) -> None:
    segments = [(start, start + length, (value,)) for start, length, value in intervals]
    found = repeated(1, 20, segments, sorted(starts))
    for time in range(20):
        had = [value for start, end, (value,) in segments for each in starts if (time - start - each) % 20 < end - start]
        assert found.at(time)[0] == max(had, default=0)
    assert all(0 <= start < end <= 20 for start, end, _ in found.steps.intervals())


@given(st.lists(st.tuples(st.sampled_from((0, *PERIODS)), st.integers(0, 40), st.integers(1, 5), st.integers(1, 9)), max_size=8))
def test_a_load_is_the_sum_of_all_occurrences(given: list[tuple[int, int, int, int]]) -> None:
    load, naive, shapes = Load(1), [0] * 60, []
    for period, start, length, amount in given:
        shape: OverTime | Cycle = Cycle(1, period) if period else OverTime(1)
        shape.add(start, start + length, [amount])
        load.add(shape)
        shapes.append(shape)
        for time in range(60):
            there = (time - start) % period < length if period else start <= time < start + length
            naive[time] += amount * there
    assert [load.at(time)[0] for time in range(60)] == naive
    assert [value[0] for begin, until, value in load.segments(0, 60) for _ in range(begin, until)] == naive
    for shape in shapes:
        load.add(shape, -1)
        assert period_of(shape) in {0, *PERIODS}
    assert load.empty


def test_a_year_of_hours_is_two_breakpoints() -> None:
    load, cycle = Load(1), Cycle(1, 3600)
    cycle.add(600, 1200, [3])
    load.add(cycle)
    assert [len(one.steps.times) for one in load.cycles.values()] == [2]
