"""The most of a load at each moment of a period, over all periods from some time on: what is left for something that comes again.

What comes again is the same in each cycle of the largest period, so periods that have the same place in a cycle are taken together, and only what is given
away once makes a difference between them. Of thousands of such intervals the most at each moment is worked out at once, in columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.rules.reservations.columns import columns
from treadle.core.rules.reservations.cycles import Cycle, Load
from treadle.core.rules.reservations.over_time import OverTime, Segment, minus, plus, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from treadle.core.rules.reservations.cycles import Shape


def peaks(
    load: Load, without: Shape | None, start: int, end: int, period: int, cycle: int, starts: Sequence[int] = ()
) -> Iterator[list[Segment]]:
    """Yield, for each place that a period has in a cycle (and each of ``starts`` within it), the most that is given away in any of those periods.

    Segments are from ``start`` until ``end``, without holes. ``without`` is not counted. ``period`` divides ``cycle``.
    """
    again = Load(load.width)
    again.cycles = load.cycles
    once, given_once = load.once, load.columns()
    if isinstance(without, OverTime):
        times = sorted({*once.times, *without.times})
        if times:
            left = OverTime(load.width)
            for one, other, value in together(minus, once.segments(times[0], times[-1]), without.segments(times[0], times[-1])):
                left.add(one, other, value)
            given_once = columns(left)
    places = cycle // period
    for later in starts or (0,):
        found = _by_place(*given_once, start + later, end + later, period, places)
        for place in range(places):
            by = later + place * period
            given: Iterator[Segment] = (
                (one - by, other - by, value) for one, other, value in again.segments(start + by, end + by)
            )
            if isinstance(without, Cycle):
                mine = ((one - by, other - by, value) for one, other, value in without.segments(start + by, end + by))
                given = together(minus, given, mine)
            most = [(one - later, other - later, value) for one, other, value in found.get(place, ())]
            yield list(together(plus, given, _whole(load.width, most, start, end)))


def _by_place(
    times: NDArray[np.int64], values: NDArray[np.int64], start: int, end: int, period: int, places: int
) -> dict[int, list[Segment]]:
    """Return by place the most of what is given away once, as intervals between ``start`` and ``end``; a place that is not there has nothing."""
    if len(times) == 0 or times[-1] <= start:
        return {}
    kept = (times[1:] > start) & values.any(axis=1)
    first, last, values = times[:-1][kept], times[1:][kept], values[kept]
    low = np.maximum(0, (first - end) // period + 1)
    begun = np.maximum(0, -((start - first) // period))  # of the first period whose window begins within the interval
    high = np.minimum((last - start - 1) // period, begun + places - 1)  # later ones see no more than these
    count = np.maximum(0, high - low + 1)
    row = np.repeat(np.arange(len(first)), count)
    number = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + low[row]
    begins, ends = np.maximum(first[row] - number * period, start), np.minimum(last[row] - number * period, end)
    here = begins < ends
    if not here.any():
        return {}
    apart = end - start + 1  # each place has a stretch of time of its own, so that all are worked out at once
    shift = (number[here] % places) * apart - start
    found: dict[int, list[Segment]] = {}
    for one, other, value in highest(begins[here] + shift, ends[here] + shift, values[row[here]]):
        if any(value):
            place = one // apart
            by = place * apart - start
            found.setdefault(place, []).append((one - by, other - by, value))
    return found


def highest(begins: NDArray[np.int64], ends: NDArray[np.int64], values: NDArray[np.int64]) -> list[Segment]:
    """Return the most at each moment of intervals, each of which is longer than nothing, type by type; where there is none it is nothing. ``values`` is (intervals, types)."""
    times = np.unique(np.concatenate([begins, ends]))
    first, last = np.searchsorted(times, begins), np.searchsorted(times, ends)
    slots = len(times) - 1
    level = np.frexp(last - first)[1] - 1  # of the power of two that is not above the length
    table = np.zeros((int(level.max()) + 1, slots, values.shape[1]), dtype=np.int64)
    for at in range(len(table)):
        here = level == at
        for slot in (first[here], last[here] - (1 << at)):
            np.maximum.at(table[at], slot, values[here])
    for at in range(len(table) - 1, 0, -1):
        half = 1 << (at - 1)
        np.maximum(table[at - 1], table[at], out=table[at - 1])
        np.maximum(table[at - 1][half:], table[at][:-half], out=table[at - 1][half:])
    moments = times.tolist()
    return list(zip(moments, moments[1:], map(tuple, table[0].tolist()), strict=False))


def _whole(width: int, segments: Sequence[Segment], start: int, end: int) -> Iterator[Segment]:
    """Yield segments with nothing where there is none, from ``start`` until ``end``."""
    nothing, at = (0,) * width, start
    for one, other, value in segments:
        if one > at:
            yield at, one, nothing
        yield one, other, value
        at = other
    if at < end:
        yield at, end, nothing
