"""A request gets what is free first, or last (``StageAllocatorGreedyRLE``).

What of a request was placed is not taken from what is looked at afterwards, as in Hadoop: where gangs of one request overlap more may be
placed than is free, and the sharing policy then refuses what might have been placed otherwise. From the right an interval is also judged by what is free just before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.rules.reservations.over_time import OverTime, Segment, minus, stepped, together
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationRequest
    from treadle.core.rules.reservations.search import Search


PARTS = 8
"""How many durations are looked at first, and how many times more with each try."""


@dataclass(frozen=True, slots=True)
class Greedy:
    """Places gangs from the ``left``, or from the right."""

    left: bool = True

    def __call__(self, search: Search, request: ReservationRequest, start: int, end: int) -> list[Segment] | None:
        """Place as many gangs as fit at the first, or last, time at which one does, and go on from where the fewest did.

        A part of the window is looked at first, and then ever larger ones: what is found does not depend on what comes after.
        """
        duration = up(request.duration, search.plan.settings.step)
        if start + duration > end:
            return None
        search.plan.check_period(start, end, search.definition.period)
        reach = duration * PARTS
        while reach < end - start:
            part = (start, start + reach) if self.left else (end - reach, end)
            found = self._within(search, request, *part, duration, whole=False)
            if found is not None:
                return found
            reach *= PARTS
        return self._within(search, request, start, end, duration, whole=True)

    def _within(
        self, search: Search, request: ReservationRequest, start: int, end: int, duration: int, *, whole: bool
    ) -> list[Segment] | None:
        """Place all gangs within a part of the window, or none; what lies before an interval from the right must be in it as well."""
        first = start if whole or self.left else start + 1
        gang = [value * request.concurrency for value in request.demand]
        room, placed = search.room(start, end), search.placed
        free = stepped(len(gang), together(minus, room, placed.segments(start, end)))
        remaining, given = request.count // request.concurrency, list[Segment]()
        while remaining > 0 and first + duration <= end:
            segments = free.segments(start, start + duration) if self.left else _from_right(free, start, end, duration)
            count, (least_start, least_end) = self._fewest(search, segments, gang, remaining)
            at = start if self.left else end - duration
            if count > 0:
                given.append((at, at + duration, tuple(value * count for value in gang)))
                placed.add(*given[-1])
                if search.plan.settings.exact:
                    free.take(*given[-1])
                remaining -= count
            if self.left:
                start = first = least_end
            else:
                end = max(least_start, at)
        if remaining > 0:
            search.give_back(given)
            return None
        return given

    @staticmethod
    def _fewest(search: Search, segments: Iterable[Segment], gang: list[int], remaining: int) -> tuple[int, tuple[int, int]]:
        """Return how many gangs fit throughout, at most those that remain, and the last segment looked at in which no more do."""
        most, where = remaining, (0, 0)
        for start, end, value in segments:
            count = min(search.gangs(value, gang), remaining)
            if count <= most:
                most, where = count, (start, end)
            if most <= 0:
                break
        return most, where


def _from_right(free: OverTime, start: int, end: int, duration: int) -> Iterable[Segment]:
    for segment in free.segments_back(start, end):
        if segment[1] < end - duration:
            return
        yield segment
