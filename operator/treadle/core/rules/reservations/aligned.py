"""A request is spread over the intervals that cost least (``StageAllocatorLowCostAligned``, the LowCost packing of Morpheus).

Intervals are as long as the request's duration and next to each other, from the start of the window or from its end. What one costs is its load, as a part of the plan, by steps
of time. A few gangs at a time go to the cheapest, whose cost then rises.

All intervals are looked at first, in columns where the plan is exact and what is asked for comes once; the few that get something are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.rules.reservations.columns import at_times, cut
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import Amounts, OverTime, Segment, plus, side_by_side, stepped, together
from treadle.core.rules.reservations.search import MANY
from treadle.core.rules.reservations.stages import up
from treadle.core.units.amounts import minus

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationRequest
    from treadle.core.rules.reservations.columns import Numbers, Table
    from treadle.core.rules.reservations.search import Search

SMOOTHNESS = 10
"""Into how many portions at least an even share of an interval is cut (``smoothness-factor``)."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Places gangs on the cheapest intervals, of equal ones on the ``left`` or right one. A higher ``smoothness`` makes the load flatter, and takes longer."""

    left: bool = True
    smoothness: int = SMOOTHNESS
    columns: bool = True
    """Whether all intervals may be looked at at once; one by one gives the same."""

    def __call__(self, search: Search, request: ReservationRequest, start: int, end: int) -> list[Segment] | None:
        """Place all gangs, or none."""
        step = search.plan.settings.step
        duration = up(request.duration, step)
        gang = [value * request.concurrency for value in request.demand]
        intervals = (end - start) // duration
        if intervals <= 0:
            if end > start:
                search.room(start, end)  # raises where too much is promised
            return None
        remaining = request.count // request.concurrency
        portion = max(max(remaining // intervals, 1) // self.smoothness, 1)
        first, sign = (start, duration) if self.left else (end - duration, -duration)
        begins = [first + number * sign for number in range(intervals)]
        at_once = self.columns and search.plan.settings.exact and not search.definition.period
        looks: _Looks = (
            _AtOnce(search, gang, duration, begins, start, end) if at_once else _OneByOne(search, gang, duration, start, end)
        )
        heap = [(looks.cost(at), number, at, fit) for number, at in enumerate(begins) if (fit := looks.fit(at)) > 0]
        heapify(heap)
        found = OverTime(len(gang))
        while remaining > 0 and heap:
            _, number, at, fit = heappop(heap)
            count = min(portion, remaining, fit)
            remaining -= count
            amount = [value * count for value in gang]
            search.placed.add(at, at + duration, amount)
            found.add(at, at + duration, amount)
            if remaining > 0 and (fit := looks.fit(at)) > 0:
                heappush(heap, (looks.cost(at), number, at, fit))
        if remaining > 0:
            search.give_back(found.intervals())
            return None
        return found.intervals()


class _Looks(Protocol):
    """What intervals of one duration cost, and how many gangs fit throughout them. ``fit`` raises ``PlanningError`` if more was placed than there is room."""

    def cost(self, start: int) -> float: ...

    def fit(self, start: int) -> int: ...


class _OneByOne:
    """Looks at what is given away and free in a window that was worked out before."""

    def __init__(self, search: Search, gang: list[int], duration: int, start: int, end: int) -> None:
        self._search, self._gang, self._duration = search, gang, duration
        self._room = stepped(len(gang), search.room(start, end))

    def cost(self, start: int) -> float:
        return _cost(self._search, self._search.load, start, start + self._duration)

    def fit(self, start: int) -> int:
        return _fit(self._search, self._room, start, start + self._duration, self._gang)


class _AtOnce:
    """Looks at all intervals in columns. In one in which something was placed, and as much at all times of it, that is taken off what is free and added to what costs; any other is looked at step by step."""

    def __init__(self, search: Search, gang: list[int], duration: int, begins: list[int], start: int, end: int) -> None:
        self._search, self._gang, self._duration = search, gang, duration
        self._first, last = min(begins), max(begins) + duration
        grid = np.arange(self._first, last + 1, duration, dtype=np.int64)
        room = search.plan.room(search.user, search.old, start, end)
        self._room, self._free = self._parted(room, grid)
        search.check_patience(len(self._free[1]))
        self._load, self._given = self._parted(search.load_between(start, end), grid)
        self._least: list[list[int]] = np.minimum.reduceat(self._free[1], self._room[:-1], axis=0).tolist()
        self._costs = self._ratios(self._given[1], self._given[0])

    @staticmethod
    def _parted(table: Table, grid: Numbers) -> tuple[list[int], Table]:
        """Return a table with breakpoints at the bounds of all intervals, and where these are in it."""
        times = cut([table], int(grid[0]), int(grid[-1]), grid)
        return np.searchsorted(times, grid).tolist(), (times, at_times(table, times[:-1]))

    def cost(self, start: int) -> float:
        number = (start - self._first) // self._duration
        first, last = self._load[number], self._load[number + 1]
        placed = self._placed(start)
        if len(placed) > 1:
            return _cost(self._search, self._steps(self._given, first, last), start, start + self._duration)
        parts = self._costs[first:last]
        if any(placed[0]):
            values = self._given[1][first:last] + np.array(placed[0], dtype=np.int64)
            parts = self._ratios(values, self._given[0][first : last + 1])
        total = 0.0
        for part in parts:  # in this order, so that the sum is the same float as step by step
            total += part
        return total

    def fit(self, start: int) -> int:
        number = (start - self._first) // self._duration
        first, last = self._room[number], self._room[number + 1]
        placed = self._placed(start)
        left = minus(self._least[number], placed[0])
        if len(placed) > 1 or (min(left) < 0 and any(placed[0])):
            return _fit(self._search, self._steps(self._free, first, last), start, start + self._duration, self._gang)
        self._search.look(last - first - 1)
        return self._search.gangs(left, self._gang)

    def _placed(self, start: int) -> list[Amounts]:
        """Return what was placed in an interval, one amount for each step of it."""
        return [value for _, _, value in self._search.placed.segments(start, start + self._duration)]

    def _ratios(self, values: Numbers, times: Numbers) -> list[float]:
        """Return what each step costs."""
        plan = self._search.plan
        ratios = np.array(plan.parts(values))
        found: list[float] = (ratios * np.diff(times) / plan.settings.step).tolist()
        return found

    def _steps(self, table: Table, first: int, last: int) -> OverTime:
        times, values = table
        moments = times[first : last + 1].tolist()
        amounts = map(tuple, values[first:last].tolist())
        return stepped(
            len(self._gang), ((one, other, value) for (one, other), value in zip(pairwise(moments), amounts, strict=True))
        )


def _cost(search: Search, load: OverTime, start: int, end: int) -> float:
    """Return the load of an interval as a part of the plan, summed over its steps of time."""
    plan, total = search.plan, 0.0
    for one, other, value in together(plus, load.segments(start, end), search.placed.segments(start, end)):
        total += plan.part(value) * (other - one) / plan.settings.step
    return total


def _fit(search: Search, room: OverTime, start: int, end: int, gang: list[int]) -> int:
    """Return how many gangs fit throughout an interval. Raises ``PlanningError`` if more was placed than there is room."""
    found = MANY
    for one, other, free, placed in side_by_side(room.segments(start, end), search.placed.segments(start, end)):
        left = minus(free, placed)
        if min(left) < 0 and any(placed):
            raise PlanningError(f"from {one} to {other} {placed} was placed, and {free} may be had")
        found = min(found, search.gangs(left, gang))
    return found
