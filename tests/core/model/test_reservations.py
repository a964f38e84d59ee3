"""When something begins that comes again, several times in a period perhaps, held against a list of all its beginnings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.reservations import Occurrences


@given(
    arrival=st.integers(-50, 50),
    length=st.integers(1, 30),
    period=st.integers(1, 40),
    later=st.sets(st.integers(1, 39), max_size=5),
    time=st.integers(-100, 300),
)
def test_beginnings_are_found_as_in_a_list_of_all(arrival: int, length: int, period: int, later: set[int], time: int) -> None:
    starts = (0, *sorted(each for each in later if each < period))
    found = Occurrences(arrival, length, period, starts)
    every = [arrival + base + each for base in range(0, 500, period) for each in starts]
    assert found.last(time) == max((start for start in every if start <= time), default=None)
    assert found.after(time) == min(start for start in every if start > time)
    assert found.active(time) == any(start <= time < start + length for start in every)


@pytest.mark.parametrize(
    ("time", "last", "after", "active"), [(4, None, 5, False), (5, 5, None, True), (7, 5, None, True), (8, 5, None, False)]
)
def test_what_comes_once_begins_once(time: int, last: int | None, after: int | None, active: bool) -> None:
    found = Occurrences(5, 3)
    assert (found.last(time), found.after(time), found.active(time)) == (last, after, active)
