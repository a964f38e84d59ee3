"""A place that was found is made better: gangs are moved, a few at a time, to where they raise the cost of the load least.

Hadoop's aligned agent looks at intervals next to each other, and at one request after the other; here everything that was placed is looked at again beside all the rest, and may begin at any time.
What a load costs is the square of its largest part of the plan, over time: what the aligned agent's own costs add up to. Where requests have an order it is kept. A request that must be one block without a gap to the next is moved
with all of them, in one piece.

What is free and what others have is looked at in columns: a move costs what sorting all breakpoints within the window costs.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treadle.core.model.reservations import ORDERED, Interpreter
from treadle.core.rules.reservations.columns import at_times, cut
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.stages import down, up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.model.reservations import ReservationRequest
    from treadle.core.rules.reservations.columns import Numbers
    from treadle.core.rules.reservations.over_time import Segment
    from treadle.core.rules.reservations.search import Search

PORTIONS = 8
"""Into how many parts at most what begins at once is cut, each of which is moved by itself."""
ROUNDS = 4
"""How often everything is looked at again at most."""
WORK, LOOK = 12_000, 100
"""Breakpoints that are looked at at most in all, and as how many a look counts beside them: nobody else is served meanwhile."""
FAR = 5
"""How many times more than that all pieces once may take at most: else nothing is refined, since what could be looked at is hardly anything."""
BETTER = 1e-9
"""By which part of the cost of what is moved a place has to be better."""
Costs = NDArray[np.float64]


@dataclass(slots=True)
class _Piece:
    """Gangs of a request that begin at once."""

    request: int
    start: int
    duration: int
    amount: Numbers

    @property
    def end(self) -> int:
        return self.start + self.duration


def refined(search: Search, given: Sequence[tuple[ReservationRequest, Sequence[Segment]]]) -> OverTime | None:
    """Return a better place for requests, which are in order, than what they were given; None where none is found."""
    step = search.plan.settings.step
    pieces = [piece for number, (request, segments) in enumerate(given) for piece in _pieces(number, request, segments, step)]
    if not pieces or len(pieces) * (LOOK + _breakpoints(search)) > FAR * WORK:
        return None
    field = _Field(search, pieces)
    field.take(pieces)
    if search.definition.interpreter is Interpreter.ORDER_NO_GAP:
        moved = field.shift(pieces)
    else:
        moved = _each_by_itself(search, field, pieces)
    if not moved:
        return None
    return OverTime(len(search.plan.capacity), [(one.start, one.end, one.amount.tolist()) for one in pieces])


def _breakpoints(search: Search) -> int:
    """Return about how many breakpoints the load has within the window."""
    load, start, end = search.plan.load, search.definition.arrival, search.definition.deadline
    once = bisect_left(load.once.times, end) - bisect_left(load.once.times, start)
    return once + sum(len(cycle.steps.times) * (end - start) // period for period, cycle in load.cycles.items())


def _each_by_itself(search: Search, field: _Field, pieces: list[_Piece]) -> bool:
    moved = False
    for _ in range(ROUNDS):
        better = False
        for piece in pieces:
            first, last = _between(search, pieces, piece)
            better |= field.move(piece, first, last)
        if not better:
            break
        moved = True
    return moved


def _pieces(number: int, request: ReservationRequest, segments: Sequence[Segment], step: int) -> list[_Piece]:
    """Return what was placed, cut into portions. Intervals that follow one another and are alike may be one segment."""
    duration = up(request.duration, step)
    gang = np.array([value * request.concurrency for value in request.demand], dtype=np.int64)
    size = int(gang.max())
    found: list[_Piece] = []
    for start, end, value in segments:
        gangs = max(value) // size if size else 0
        for begin in range(start, end, duration):
            found += [_Piece(number, begin, duration, gang * portion) for portion in _portions(gangs)]
    return found


def _portions(gangs: int) -> list[int]:
    parts = min(gangs, PORTIONS)
    return [gangs // parts + (at < gangs % parts) for at in range(parts)] if parts else []


def _between(search: Search, pieces: Sequence[_Piece], piece: _Piece) -> tuple[int, int]:
    """Return from when until when a piece may be."""
    first, last = search.definition.arrival, search.definition.deadline
    if search.definition.interpreter in ORDERED:
        first = max((one.end for one in pieces if one.request < piece.request), default=first)
        last = min((one.start for one in pieces if one.request > piece.request), default=last)
    return first, last


class _Field:
    """What is free and what is given away within the window, with what was placed so far."""

    def __init__(self, search: Search, pieces: Sequence[_Piece]) -> None:
        definition, plan = search.definition, search.plan
        self._start, self._end, self._step = definition.arrival, definition.deadline, plan.settings.step
        self._plan = plan
        load = search.load_between(self._start, self._end)
        room = plan.room(search.user, search.old, self._start, self._end)
        bounds = np.array([time for one in pieces for time in (one.start, one.end)], dtype=np.int64)
        self._times = cut((load, room), self._start, self._end, bounds)
        self._load, self._free = at_times(load, self._times[:-1]), at_times(room, self._times[:-1])
        self._left = WORK

    def take(self, pieces: Sequence[_Piece], sign: int = 1) -> None:
        """Count pieces as placed, or as not placed any more."""
        for one in pieces:
            first, last = self._cut(one.start), self._cut(one.end)
            self._load[first:last] += sign * one.amount
            self._free[first:last] -= sign * one.amount

    def move(self, piece: _Piece, first: int, last: int) -> bool:
        """Move a piece to where it costs least between two times, and return whether that is elsewhere. Of equal places the first is taken."""
        times = self._times
        self._left -= LOOK + len(self._times)
        if self._left < 0 or last - piece.duration < first:
            return False
        self.take([piece], -1)
        times = self._times
        costs = self._summed(self._raised(piece.amount))
        lacking = self._summed(np.where((self._free < piece.amount).any(axis=1), 1.0, 0.0))
        inner = times[(times >= first) & (times <= last)]
        begins = np.unique(np.concatenate([[first, last - piece.duration], inner, inner - piece.duration]))
        begins = begins[(begins >= first) & (begins <= last - piece.duration)]
        begins = begins[begins % self._step == 0]
        ends = begins + piece.duration
        cost = self._at(costs, ends) - self._at(costs, begins)
        free = self._at(lacking, ends) - self._at(lacking, begins) < 0.5
        had = float(self._at(costs, np.array([piece.end]))[0] - self._at(costs, np.array([piece.start]))[0])
        cost = np.where(free, cost, np.inf)
        best = int(cost.argmin()) if len(cost) else 0
        moved = bool(len(cost)) and cost[best] < had * (1 - BETTER)
        if moved:
            piece.start = int(begins[best])
        self.take([piece])
        return moved

    def shift(self, pieces: Sequence[_Piece]) -> bool:
        """Move all pieces by the same time to where they cost least, and return whether that is elsewhere."""
        self.take(pieces, -1)
        first, last = min(one.start for one in pieces), max(one.end for one in pieces)
        bounds = {time for one in pieces for time in (one.start, one.end)}
        by = {int(time) - bound for time in self._times for bound in bounds}
        least, most = self._start - first, self._end - last
        shifts = sorted({down(time, self._step) for time in (*by, least, most) if least <= time <= most} | {0})
        costs = {}
        for time in shifts:
            self._left -= LOOK + len(self._times)
            if self._left < 0 and time:
                continue
            costs[time] = self._together(pieces, time)
        best = min(costs, key=lambda time: (costs[time], time))
        moved = costs[best] < costs.get(0, np.inf) * (1 - BETTER)
        if moved:
            for one in pieces:
                one.start += best
        self.take(pieces)
        return moved

    def _together(self, pieces: Sequence[_Piece], by: int) -> float:
        """Return what pieces cost later by some time, infinite where there is no room."""
        bounds = np.array([time + by for one in pieces for time in (one.start, one.end)], dtype=np.int64)
        times = np.unique(np.concatenate([self._times, bounds]))
        placed = np.zeros((len(times) - 1, self._load.shape[1]), dtype=np.int64)
        for one in pieces:
            begin, end = np.searchsorted(times, [one.start + by, one.end + by])
            placed[begin:end] += one.amount
        table = self._times, self._load
        load, free = at_times(table, times[:-1]), at_times((self._times, self._free), times[:-1])
        asked = placed.any(axis=1)
        if (free[asked] < placed[asked]).any():
            return float("inf")
        return float(((self._costs(load + placed) - self._costs(load)) * np.diff(times)).sum())

    def _raised(self, amount: Numbers) -> Costs:
        """Return by how much each step costs more with an amount besides."""
        found: Costs = self._costs(self._load + amount) - self._costs(self._load)
        return found

    def _costs(self, load: Numbers) -> Costs:
        costs: Costs = np.array(self._plan.parts(load), dtype=np.float64) ** 2
        return costs

    def _summed(self, values: Costs) -> Costs:
        """Return what steps come to until each breakpoint."""
        return np.concatenate([[0.0], np.cumsum(values * np.diff(self._times))])

    def _at(self, sums: Costs, times: Numbers) -> Costs:
        found: Costs = np.interp(times, self._times, sums)
        return found

    def _cut(self, time: int) -> int:
        """Return the position of the breakpoint at a time, which is made if there is none."""
        position = int(np.searchsorted(self._times, time))
        if self._times[position] != time:
            self._times = np.insert(self._times, position, time)
            self._load = np.insert(self._load, position, self._load[position - 1], axis=0)
            self._free = np.insert(self._free, position, self._free[position - 1], axis=0)
        return position
