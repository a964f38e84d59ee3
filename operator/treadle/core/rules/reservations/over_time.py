"""Resources over time as steps (``RLESparseResourceAllocation``): an amount from each breakpoint to the next one, nothing before the first.

Times are integers, intervals are half-open: [start, end). Amounts are exact; they may be below zero where more was taken than given. Breakpoints are
sorted, and neighbours always differ, so equal functions are equal lists. Adding an interval costs a bisection and the breakpoints inside of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

Amounts = tuple[int, ...]
Segment = tuple[int, int, Amounts]
"""From when, until when, and how much."""


def plus(one: Sequence[int], other: Sequence[int]) -> Amounts:
    """Return the sum."""
    return tuple([a + b for a, b in zip(one, other, strict=True)])


def minus(one: Sequence[int], other: Sequence[int]) -> Amounts:
    """Return the difference."""
    return tuple([a - b for a, b in zip(one, other, strict=True)])


def least(one: Sequence[int], other: Sequence[int]) -> Amounts:
    """Return the smaller of each type."""
    return tuple([min(a, b) for a, b in zip(one, other, strict=True)])


def most(one: Sequence[int], other: Sequence[int]) -> Amounts:
    """Return the larger of each type."""
    return tuple([max(a, b) for a, b in zip(one, other, strict=True)])


class OverTime:
    """Resources over time. ``width`` is how many types an amount has."""

    __slots__ = ("nothing", "times", "values")

    def __init__(self, width: int, intervals: Iterable[tuple[int, int, Sequence[int]]] = ()) -> None:
        """Begin with the sum of some intervals."""
        self.nothing: Amounts = (0,) * width
        self.times: list[int] = []
        self.values: list[Amounts] = []
        for start, end, amount in intervals:
            self.add(start, end, amount)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same at all times."""
        return isinstance(other, OverTime) and self.times == other.times and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the breakpoints."""
        return f"OverTime({list(zip(self.times, self.values, strict=True))})"

    @property
    def empty(self) -> bool:
        """Whether there is nothing at any time."""
        return not self.times

    @property
    def earliest(self) -> int | None:
        """When there is something first; None if never."""
        return self.times[0] if self.times else None

    @property
    def latest(self) -> int | None:
        """When there is nothing any more; None if there never was."""
        return self.times[-1] if self.times else None

    def at(self, time: int) -> Amounts:
        """Return the amount at a time."""
        position = bisect_right(self.times, time) - 1
        return self.values[position] if position >= 0 else self.nothing

    def add(self, start: int, end: int, amount: Sequence[int]) -> None:
        """Add an amount from ``start`` until ``end``."""
        if start >= end or not any(amount):
            return
        first, last = self._cut(start), self._cut(end)
        values = self.values
        for position in range(first, last):
            values[position] = plus(values[position], amount)
        self._join(last)
        self._join(first)

    def take(self, start: int, end: int, amount: Sequence[int]) -> None:
        """Take an amount away from ``start`` until ``end``; what is left may be below zero."""
        self.add(start, end, [-value for value in amount])

    def _cut(self, time: int) -> int:
        """Return the position of the breakpoint at a time, which is made if there is none."""
        position = bisect_left(self.times, time)
        if position == len(self.times) or self.times[position] != time:
            self.times.insert(position, time)
            self.values.insert(position, self.values[position - 1] if position else self.nothing)
        return position

    def _join(self, position: int) -> None:
        """Drop a breakpoint at which nothing changes."""
        before = self.values[position - 1] if position else self.nothing
        if self.values[position] == before:
            del self.times[position], self.values[position]

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Yield what there is from ``start`` until ``end``, without holes: neighbours differ."""
        if start >= end:
            return
        times, values = self.times, self.values
        position = bisect_right(times, start)
        value = values[position - 1] if position else self.nothing
        while position < len(times) and times[position] < end:
            yield start, times[position], value
            start, value = times[position], values[position]
            position += 1
        yield start, end, value

    def changes(self, start: int, end: int) -> list[tuple[int, Amounts]]:
        """Return what changes after ``start`` and before ``end``: when, and by how much."""
        first, last = bisect_right(self.times, start), bisect_left(self.times, end)
        if first >= last:
            return []
        values = self.values
        before = values[first - 1 : last - 1] if first else [self.nothing, *values[: last - 1]]
        return [
            (time, minus(value, old)) for time, value, old in zip(self.times[first:last], values[first:last], before, strict=True)
        ]

    def segments_back(self, start: int, end: int) -> Iterator[Segment]:
        """Yield the same from ``end`` back to ``start``."""
        if start >= end:
            return
        times, values = self.times, self.values
        position = bisect_left(times, end) - 1
        while position >= 0 and times[position] > start:
            yield times[position], end, values[position]
            end = times[position]
            position -= 1
        yield start, end, values[position] if position >= 0 else self.nothing

    def intervals(self) -> list[Segment]:
        """Return what lies between the breakpoints (``toIntervalMap``), gaps as intervals of nothing."""
        return list(zip(self.times, self.times[1:], self.values, strict=False))

    def within(self, start: int, end: int) -> OverTime:
        """Return what there is from ``start`` until ``end``, and nothing elsewhere."""
        return stepped(len(self.nothing), self.segments(start, end))

    def shifted(self, by: int) -> OverTime:
        """Return the same, later by some time."""
        found = OverTime(len(self.nothing))
        found.times, found.values = [time + by for time in self.times], list(self.values)
        return found

    def least_within(self, start: int, end: int) -> Amounts:
        """Return the smallest amount of each type from ``start`` until ``end``."""
        return _fold(least, [value for _, _, value in self.segments(start, end)], self.nothing)

    def most_periodic(self, time: int, period: int) -> Amounts:
        """Return the largest amount of each type at ``time``, a period later and so on, up to the last breakpoint (``getMaximumPeriodicCapacity``)."""
        if not self.times:
            return self.nothing
        return _fold(most, [self.at(each) for each in range(time, self.times[-1] + 1, period)], self.nothing)


def _fold(how: Callable[[Sequence[int], Sequence[int]], Amounts], values: Sequence[Amounts], nothing: Amounts) -> Amounts:
    if not values:
        return nothing
    found = values[0]
    for value in values[1:]:
        found = how(found, value)
    return found


def stepped(width: int, segments: Iterable[Segment]) -> OverTime:
    """Return what segments say that follow one another in time, and nothing in between."""
    found = OverTime(width)
    times, values, nothing = found.times, found.values, found.nothing
    over, current = None, nothing
    for start, end, value in segments:
        if over is not None and over < start and current != nothing:
            times.append(over)
            values.append(nothing)
            current = nothing
        if value != current:
            times.append(start)
            values.append(value)
            current = value
        over = end
    if over is not None and current != nothing:
        times.append(over)
        values.append(nothing)
    return found


def side_by_side(one: Iterable[Segment], other: Iterable[Segment]) -> Iterator[tuple[int, int, Amounts, Amounts]]:
    """Yield what two say of the same time: from when, until when, and both amounts. Both are without holes."""
    mine, theirs = iter(one), iter(other)
    left, right = next(mine, None), next(theirs, None)
    while left is not None and right is not None:
        end = min(left[1], right[1])
        yield max(left[0], right[0]), end, left[2], right[2]
        if left[1] == end:
            left = next(mine, None)
        if right[1] == end:
            right = next(theirs, None)


def together(
    how: Callable[[Sequence[int], Sequence[int]], Amounts], one: Iterable[Segment], other: Iterable[Segment]
) -> Iterator[Segment]:
    """Yield ``how`` of two, segment by segment (Hadoop's ``merge``): both tell of the same time without holes. Neighbours differ."""
    begun, ended = 0, 0
    current: Amounts | None = None
    for start, end, mine, theirs in side_by_side(one, other):
        value = how(mine, theirs)
        if value != current:
            if current is not None:
                yield begun, ended, current
            begun, current = start, value
        ended = end
    if current is not None:
        yield begun, ended, current
