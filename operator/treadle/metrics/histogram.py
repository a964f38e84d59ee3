"""Counts of measured values by their size: what Prometheus calls a histogram."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from treadle.core.views.opportunistic import Times

if TYPE_CHECKING:
    from collections.abc import Sequence


def doubling(first: float, count: int) -> tuple[float, ...]:
    """Return so many bounds, each twice the one before."""
    return tuple(first * 2**power for power in range(count))


class Histogram:
    """How many values were at most each of ``bounds``, which ascend, how many there were, and their sum."""

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total: float = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Count a value, so many times; one below 0, since clocks differ, is 0."""
        value = max(value, 0.0)
        self._counts[bisect_left(self._bounds, value)] += times
        self._total += value * times

    def times(self) -> Times:
        """Return the counts of now."""
        *within, count = accumulate(self._counts)
        return Times(count, self._total, dict(zip(self._bounds, within, strict=True)))
