"""Times are counted by how long they were."""

from __future__ import annotations

from treadle.core.rules.opportunistic.delays import BOUNDS, Delays


def test_a_time_is_counted_with_all_bounds_that_it_is_within() -> None:
    kept = Delays()
    for seconds in (0.5, 5.0, 1000.0):
        kept.add(seconds)
    found = dict(zip(BOUNDS, kept.within, strict=True))
    assert (kept.count, kept.total) == (3, 1005.5)
    assert (found[1.0], found[2.0], found[5.0], found[300.0]) == (1, 1, 2, 2)


def test_a_clock_that_was_put_back_makes_no_negative_time() -> None:
    kept = Delays()
    kept.add(-3.0)
    assert (kept.count, kept.total, kept.within[0]) == (1, 0.0, 1)
