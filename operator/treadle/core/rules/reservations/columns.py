"""Resources over time in columns: breakpoints, and what there is from each until the next. What takes an interval with thousands of steps is worked out in them.

Amounts are whole numbers of 64 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treadle.core.rules.reservations.over_time import OverTime

if TYPE_CHECKING:
    from collections.abc import Iterable


Numbers = NDArray[np.int64]
Table = tuple[Numbers, Numbers]
"""(breakpoints + 1) times, of which the last is the end, and (breakpoints, types) amounts."""


def columns(once: OverTime) -> Table:
    """Return all of what there is once; empty where there is nothing."""
    times = np.array(once.times, dtype=np.int64)
    return times, np.array(once.values[:-1], dtype=np.int64).reshape(max(0, len(times) - 1), len(once.nothing))


def at_times(table: Table, times: Numbers) -> Numbers:
    """Return what there is at some times, (times, types); nothing outside of the table."""
    begins, values = table
    if len(values) == 0:
        return np.zeros((len(times), values.shape[1]), dtype=np.int64)
    position = np.searchsorted(begins, times, side="right") - 1
    inside = (position >= 0) & (position < len(values))
    found = values[np.where(inside, position, 0)]
    found[~inside] = 0
    return found


def cut(tables: Iterable[Table], start: int, end: int, points: Numbers | None = None) -> Numbers:
    """Return all breakpoints of some tables from ``start`` until ``end``, both included, and some further points there."""
    lines = [each[0] for each in tables]
    if points is not None:
        lines.append(points)
    inner = [line[np.searchsorted(line, start, side="right") : np.searchsorted(line, end)] for line in lines]
    return np.unique(np.concatenate([np.array([start, end], dtype=np.int64), *inner]))


def joined(times: Numbers, values: Numbers) -> Table:
    """Return the same with neighbours that differ. ``times`` has one more than ``values``."""
    if len(values) == 0:
        return times, values
    kept = np.ones(len(values), dtype=np.bool_)
    kept[1:] = (values[1:] != values[:-1]).any(axis=1)
    return np.append(times[:-1][kept], times[-1]), values[kept]
