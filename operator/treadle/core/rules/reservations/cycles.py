"""Resources that come again each period (``PeriodicRLESparseResourceAllocation``), each kept once however often it occurs.

Hadoop writes every occurrence within one cycle of the largest period. Here reservations of one period are kept in one cycle of that period, and what
there is at a time is the sum over the periods, of which there are few: each divides the largest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np

from treadle.core.rules.reservations.columns import Table, columns
from treadle.core.rules.reservations.over_time import Amounts, OverTime, Segment, minus, most, plus, stepped


class Cycle:
    """Resources that come again every ``period``. Times of what is added may be any; a part beyond the end of a cycle comes at its start."""

    __slots__ = ("_changes", "period", "steps")

    def __init__(self, width: int, period: int) -> None:
        """Begin with nothing."""
        self.period = period
        self.steps = OverTime(width)
        """What there is from 0 until ``period``."""
        self._changes: tuple[list[int], list[Amounts]] | None = None

    @property
    def nothing(self) -> Amounts:
        """An amount of nothing."""
        return self.steps.nothing

    @property
    def empty(self) -> bool:
        """Whether there is nothing at any time."""
        return self.steps.empty

    def at(self, time: int) -> Amounts:
        """Return the amount at a time."""
        return self.steps.at(time % self.period)

    def add(self, start: int, end: int, amount: Sequence[int]) -> None:
        """Add an amount from ``start`` until ``end`` and each period before and after; longer intervals than a period overlap themselves."""
        self._changes = None
        whole, length = divmod(end - start, self.period)
        if whole > 0:
            self.steps.add(0, self.period, [value * whole for value in amount])
        start %= self.period
        over = start + length - self.period
        if over > 0:
            self.steps.add(start, self.period, amount)
            self.steps.add(0, over, amount)
        else:
            self.steps.add(start, start + length, amount)

    def take(self, start: int, end: int, amount: Sequence[int]) -> None:
        """Take an amount away from ``start`` until ``end`` of each period."""
        self.add(start, end, [-value for value in amount])

    def changes(self, start: int, end: int) -> list[tuple[int, Amounts]]:
        """Return what changes after ``start`` and before ``end``: when, and by how much."""
        if self._changes is None:
            times, values = self.steps.times, self.steps.values
            changes = zip(times, values, [self.nothing, *values], strict=False)
            once = sorted((time % self.period, minus(value, before)) for time, value, before in changes)
            self._changes = [time for time, _ in once], [change for _, change in once]
        offsets, amounts = self._changes
        found: list[tuple[int, Amounts]] = []
        for base in range(start - start % self.period, end, self.period):
            first = bisect_right(offsets, start - base)
            last = bisect_left(offsets, end - base)
            found += [(base + offsets[at], amounts[at]) for at in range(first, last)]
        return found

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Yield what there is from ``start`` until ``end``, without holes. Neighbours may be equal where a cycle ends."""
        base = start - start % self.period
        while start < end:
            until = min(end, base + self.period)
            for one, other, value in self.steps.segments(start - base, until - base):
                yield one + base, other + base, value
            base = start = until


def repeated(width: int, period: int, intervals: Sequence[Segment], starts: Sequence[int]) -> Cycle:
    """Return a cycle that has what ``intervals`` say, and again as much later as each of ``starts`` says; where these overlap the most of it.

    What begins at one of several times, as by a clock that is changed twice a year, needs its resources once.
    """
    found = Cycle(width, period)
    events: list[tuple[int, int, int, Amounts]] = []
    for later in starts:
        for start, end, value in intervals:
            if any(value):
                begun = (start + later) % period
                over = begun + end - start - period
                for one, other in ((begun, period), (0, over)) if over > 0 else ((begun, begun + end - start),):
                    number = len(events)
                    events += [(one, 1, number, value), (other, 0, number, value)]
    events.sort()
    running: dict[int, Amounts] = {}
    segments: list[Segment] = []
    before = 0
    for time, begins, number, value in events:
        if time > before and running:
            current = found.nothing
            for each in running.values():
                current = most(current, each)
            segments.append((before, time, current))
        before = time
        if begins:
            running[number] = value
        else:
            del running[number]
    found.steps = stepped(width, segments)
    return found


class Load:
    """What is given away over time: once, and each period. Adding and taking costs the breakpoints that the interval meets, once."""

    __slots__ = ("_changed", "_columns", "cycles", "once", "width")

    def __init__(self, width: int) -> None:
        """Begin with nothing."""
        self.width = width
        self.once = OverTime(width)
        self.cycles: dict[int, Cycle] = {}
        """What comes again, by period."""
        self._columns: Table | None = None
        self._changed: tuple[int, int] | None = None
        """Between when what is given away once is not what the columns say."""

    def columns(self) -> Table:
        """Return what is given away once: the breakpoints, and what there is from each until the next, (breakpoints - 1, types)."""
        if self._columns is None:
            self._columns = columns(self.once)
        elif self._changed is not None:
            self._columns = _patched(self._columns, self.once, *self._changed)
        self._changed = None
        return self._columns

    @property
    def empty(self) -> bool:
        """Whether nothing is given away at any time."""
        return self.once.empty and not self.cycles

    def add(self, given: Shape, sign: int = 1) -> None:
        """Add what a reservation has; with a ``sign`` of -1 take it away."""
        period = given.period if isinstance(given, Cycle) else 0
        steps = given.steps if isinstance(given, Cycle) else given
        if not period and steps.times:
            first, last = self._changed or (steps.times[0], steps.times[-1])
            self._changed = min(first, steps.times[0]), max(last, steps.times[-1])
        into: OverTime | Cycle = self.once
        if period:
            into = self.cycles.setdefault(period, Cycle(self.width, period))
        for start, end, amount in steps.intervals():
            into.add(start, end, amount if sign > 0 else [-value for value in amount])
        if period and into.empty:
            del self.cycles[period]

    def at(self, time: int) -> Amounts:
        """Return what is given away at a time."""
        found = self.once.at(time)
        for cycle in self.cycles.values():
            found = plus(found, cycle.at(time))
        return found

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Yield what is given away from ``start`` until ``end``, without holes; neighbours differ."""
        if not self.cycles:
            yield from self.once.segments(start, end)
            return
        if start >= end:
            return
        changes = self.once.changes(start, end)
        for cycle in self.cycles.values():
            changes += cycle.changes(start, end)
        changes.sort(key=itemgetter(0))
        begun, value = start, self.at(start)
        current, before = value, start
        for time, change in changes:
            if time != before:
                if current != value:
                    if begun < before:
                        yield begun, before, value
                    begun, value = before, current
                before = time
            current = plus(current, change)
        if current != value:
            yield begun, before, value
            begun, value = before, current
        yield begun, end, value


def _patched(table: Table, once: OverTime, first: int, last: int) -> Table:
    """Return the columns of what there is once, of which those before ``first`` and after ``last`` are as they were: what there is at ``last`` has not changed, only whether it is a breakpoint."""
    before, after = bisect_left(once.times, first), bisect_right(once.times, last)
    times, values = table
    if len(times):
        values = np.append(values, np.zeros((1, values.shape[1]), dtype=np.int64), axis=0)  # nothing from the last breakpoint on
    head, tail = int(np.searchsorted(times, first)), int(np.searchsorted(times, last, side="right"))
    middle = np.array(once.times[before:after], dtype=np.int64)
    amounts = np.array(once.values[before:after], dtype=np.int64).reshape(len(middle), len(once.nothing))
    found = np.concatenate([times[:head], middle, times[tail:]])
    all_values = np.concatenate([values[:head], amounts, values[tail:]])
    return found, all_values[: max(0, len(found) - 1)]


Shape = OverTime | Cycle
"""What a reservation has over time: once, or each period."""


def period_of(shape: Shape) -> int:
    """Return the period of what a reservation has, 0 for once."""
    return shape.period if isinstance(shape, Cycle) else 0
