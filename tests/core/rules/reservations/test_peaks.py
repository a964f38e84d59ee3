"""The most of a load over all periods, against looking at every moment."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from treadle.core.rules.reservations.cycles import Cycle, Load, Shape
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.peaks import highest, peaks

CYCLE = 60
intervals = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 150), st.integers(1, 9), st.integers(0, 9)), max_size=12)
returning = st.lists(
    st.tuples(st.sampled_from([10, 20, 30, 60]), st.integers(0, 59), st.integers(1, 9), st.integers(1, 9)), max_size=4
)


def shape_of(period: int, *given_: tuple[int, int, int, int]) -> Shape:
    shape: Shape = Cycle(2, period) if period else OverTime(2)
    for start, length, one, other in given_:
        shape.add(start, start + length, (one, other))
    return shape


@example(once=[(1, 60, 1, 0)], cycles=[], period=60, start=0, length=2, starts=(), without=-1).via(
    "the next period sees what the first one has cut off"
)
@given(
    once=intervals,
    cycles=returning,
    period=st.sampled_from([15, 20, 30, 60]),
    start=st.integers(0, 70),
    length=st.integers(1, 80),
    starts=st.sampled_from([(), (0, 7)]),
    without=st.integers(-1, 3),
)
@settings(max_examples=examples(100))
def test_it_is_the_most_at_each_moment_of_all_periods_to_come(
    once: list[tuple[int, int, int, int]],
    cycles: list[tuple[int, int, int, int]],
    period: int,
    start: int,
    length: int,
    starts: tuple[int, ...],
    without: int,
) -> None:
    shapes = [shape_of(0, one) for one in once] + [shape_of(again, (at, end, much, 1)) for again, at, end, much in cycles]
    load = Load(2)
    for shape in shapes:
        load.add(shape)
    left = shapes[without] if 0 <= without < len(shapes) else None
    kept = [shape for shape in shapes if shape is not left]
    most = dict.fromkeys(range(start, start + length), (0, 0))
    for segments in peaks(load, left, start, start + length, period, CYCLE, starts):
        assert [segments[0][0], segments[-1][1]] == [start, start + length]
        assert all(one[1] == other[0] for one, other in pairwise(segments))
        for begun, end, value in segments:
            for time in range(begun, end):
                most[time] = (max(most[time][0], value[0]), max(most[time][1], value[1]))
    for time, value in most.items():
        moments = [time + later + number * period for later in starts or (0,) for number in range(700 // period)]
        found = [max(sum(shape.at(moment)[at] for shape in kept) for moment in moments) for at in (0, 1)]
        assert list(value) == found


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40), st.integers(1, 99)), min_size=1, max_size=20))
@settings(max_examples=examples(100))
def test_the_highest_of_intervals_is_that_at_each_moment(given_: list[tuple[int, int, int]]) -> None:
    begins, lengths, values = (np.array(column) for column in zip(*given_, strict=True))
    found = highest(begins, begins + lengths, values[:, None])
    at = {time: value[0] for start, end, value in found for time in range(start, end)}
    for time in range(100):
        assert at.get(time, 0) == max((value for start, length, value in given_ if start <= time < start + length), default=0)
