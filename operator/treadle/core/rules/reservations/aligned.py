"""A request is spread over the intervals that cost least (``StageAllocatorLowCostAligned``, the LowCost packing of Morpheus).

Intervals are as long as the request's duration and next to each other, from the start of the window or from its end. What one costs is its load, as a part of the plan, by steps
of time. A few gangs at a time go to the cheapest, whose cost then rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import OverTime, Segment, plus, side_by_side, stepped, together
from treadle.core.rules.reservations.search import MANY
from treadle.core.rules.reservations.stages import up
from treadle.core.units.amounts import minus

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationRequest
    from treadle.core.rules.reservations.search import Search

SMOOTHNESS = 10
"""Into how many portions at least an even share of an interval is cut (``smoothness-factor``)."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Places gangs on the cheapest intervals, of equal ones on the ``left`` or right one. A higher ``smoothness`` makes the load flatter, and takes longer."""

    left: bool = True
    smoothness: int = SMOOTHNESS

    def __call__(self, search: Search, request: ReservationRequest, start: int, end: int) -> list[Segment] | None:
        """Place all gangs, or none."""
        step = search.plan.settings.step
        duration = up(request.duration, step)
        gang = [value * request.concurrency for value in request.demand]
        room = stepped(len(gang), search.room(start, end)) if end > start else search.placed
        intervals = (end - start) // duration
        if intervals <= 0:
            return None
        remaining = request.count // request.concurrency
        portion = max(max(remaining // intervals, 1) // self.smoothness, 1)
        first, sign = (start, duration) if self.left else (end - duration, -duration)
        heap = []
        for number in range(intervals):
            at = first + number * sign
            fit = self._fit(search, room, at, at + duration, gang)
            if fit > 0:
                heap.append((self._cost(search, at, at + duration), number, at, fit))
        heapify(heap)
        given = OverTime(len(gang))
        while remaining > 0 and heap:
            _, number, at, fit = heappop(heap)
            count = min(portion, remaining, fit)
            remaining -= count
            amount = [value * count for value in gang]
            search.placed.add(at, at + duration, amount)
            given.add(at, at + duration, amount)
            if remaining > 0 and (fit := self._fit(search, room, at, at + duration, gang)) > 0:
                heappush(heap, (self._cost(search, at, at + duration), number, at, fit))
        if remaining > 0:
            search.give_back(given.intervals())
            return None
        return given.intervals()

    @staticmethod
    def _cost(search: Search, start: int, end: int) -> float:
        """Return the load of an interval as a part of the plan, summed over its steps of time."""
        plan, total = search.plan, 0.0
        load = together(plus, search.load.segments(start, end), search.placed.segments(start, end))
        for one, other, value in load:
            total += plan.settings.calculator.ratio(value, plan.capacity) * (other - one) / plan.settings.step
        return total

    @staticmethod
    def _fit(search: Search, room: OverTime, start: int, end: int, gang: list[int]) -> int:
        """Return how many gangs fit throughout an interval. Raises ``PlanningError`` if more was placed than there is room."""
        found = MANY
        for one, other, free, placed in side_by_side(room.segments(start, end), search.placed.segments(start, end)):
            left = minus(free, placed)
            if min(left) < 0 and any(placed):
                raise PlanningError(f"from {one} to {other} {placed} was placed, and {free} may be had")
            found = min(found, search.gangs(left, gang))
        return found
