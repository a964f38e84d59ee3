"""What is given away, and what a reservation has, as columns over an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.rules.reservations.columns import at_times, columns, cut, joined
from treadle.core.rules.reservations.over_time import OverTime

if TYPE_CHECKING:
    from treadle.core.rules.reservations.columns import Table
    from treadle.core.rules.reservations.cycles import Cycle, Load, Shape


def given(load: Load, start: int, end: int) -> Table:
    """Return what is given away from ``start`` until ``end``, without holes; neighbours differ (``Load.segments``)."""
    tables = [load.columns(), *(_again(cycle, start, end) for cycle in load.cycles.values())]
    times = cut(tables, start, end)
    total = np.zeros((len(times) - 1, load.width), dtype=np.int64)
    for each in tables:
        total += at_times(each, times[:-1])
    return joined(times, total)


def shaped(shape: Shape, start: int, end: int) -> Table:
    """Return what a reservation has from ``start`` until ``end``, without holes."""
    table = columns(shape) if isinstance(shape, OverTime) else _again(shape, start, end)
    times = cut([table], start, end)
    return joined(times, at_times(table, times[:-1]))


def _again(cycle: Cycle, start: int, end: int) -> Table:
    """Return all cycles that meet an interval."""
    times, values = cycle.steps.times, cycle.steps.values
    bases = np.arange(start - start % cycle.period, end, cycle.period, dtype=np.int64)
    inside = np.array(times, dtype=np.int64)
    amounts = np.array(values, dtype=np.int64).reshape(len(times), len(cycle.nothing))
    if len(inside) == 0 or inside[0] > 0:
        inside, amounts = np.insert(inside, 0, 0), np.insert(amounts, 0, 0, axis=0)
    if inside[-1] == cycle.period:
        inside, amounts = inside[:-1], amounts[:-1]
    begins = (bases[:, None] + inside[None, :]).ravel()
    return np.append(begins, bases[-1] + cycle.period), np.tile(amounts, (len(bases), 1))
