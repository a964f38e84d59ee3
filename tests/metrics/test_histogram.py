"""Values counted by their size."""

from __future__ import annotations

from treadle.core.views.opportunistic import Times
from treadle.metrics.histogram import Histogram, doubling


def test_a_value_counts_for_every_bound_that_it_is_not_above() -> None:
    found = Histogram((1.0, 2.0, 5.0))
    for value in (0.5, 1.0, 1.5, 5.0, 9.0):
        found.add(value)

    assert found.times() == Times(5, 17.0, {1.0: 2, 2.0: 3, 5.0: 4})


def test_a_time_below_zero_is_none() -> None:
    found = Histogram((1.0,))
    found.add(-3.0)

    assert found.times() == Times(1, 0.0, {1.0: 1})


def test_a_value_may_be_counted_several_times() -> None:
    found = Histogram((1.0, 2.0))
    found.add(2.0, 3)

    assert found.times() == Times(3, 6.0, {1.0: 0, 2.0: 3})


def test_each_bound_is_twice_the_one_before() -> None:
    assert doubling(0.5, 4) == (0.5, 1.0, 2.0, 4.0)
