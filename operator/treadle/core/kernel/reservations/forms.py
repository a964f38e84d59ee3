"""From what objects and statuses say to what plans reckon with, and back: amounts by name and dense vectors, times on whole steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.model.reservations import Promise, ReservationDefinition, ReservationRequest
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Reservation
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import down, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import ReservationSpec
    from treadle.core.rules.reservations.over_time import Segment
    from treadle.core.units.resources import ResourceTypes, Vector


MOST_STEPS = 256
"""Intervals of a promise at most: what a status has room for."""


def clock(state: State) -> int:
    """Return the time of the step in ms since the epoch."""
    return int((state.now + state.settings.epoch) * 1000)


def when(state: State, time: int) -> float:
    """Return a time in ms since the epoch on the core's clock."""
    return time / 1000 - state.settings.epoch


def vector(types: ResourceTypes, named: Iterable[tuple[str, int]]) -> Vector:
    """Return named amounts as a dense vector, without types that nothing has: a reservation makes none known."""
    found = [0] * len(types)
    for name, value in named:
        position = types.index.get(name)
        if position is not None:
            found[position] += value
    return found


def definition_of(state: State, spec: ReservationSpec, now: int) -> ReservationDefinition:
    """Return what is to be planned at a time, all of it within the object's window and on whole steps of time.

    What has passed of the window cannot be had any more. What comes again is planned from the first window on that is not over.
    """
    arrival, deadline = spec.arrival, spec.deadline
    if spec.period:
        late = max(0, -(-(now - deadline + 1) // spec.period))
        arrival, deadline = arrival + late * spec.period, deadline + late * spec.period
    else:
        arrival = max(arrival, now)
    requests = tuple(
        ReservationRequest(vector(state.types, one.demand), one.count, one.concurrency, one.duration) for one in spec.requests
    )
    recurrence = str(spec.period)
    return ReservationDefinition(
        up(arrival, STEP), down(deadline, STEP), requests, spec.interpreter, recurrence, spec.id, spec.priority
    )


MOST_SIZES = 12
"""Sizes of gangs that are tried."""


def smaller_gangs(spec: ReservationSpec, definition: ReservationDefinition) -> Iterator[ReservationDefinition]:
    """Yield a definition with smaller gangs, the largest first, as small as its requests allow."""
    largest = max((request.concurrency for request in definition.requests), default=1)
    sizes = sorted({at for each in definition.requests for at in divisors(each.count) if at < largest}, reverse=True)
    for size in sizes[:MOST_SIZES]:
        held = [hold(each, size) for each in definition.requests]
        wanted = zip(spec.requests, held, strict=True)
        if all(each.concurrency >= (asked.least or asked.concurrency) for asked, each in wanted):
            yield replace(definition, requests=tuple(held))


def hold(request: ReservationRequest, most: int) -> ReservationRequest:
    """Return a request with a concurrency of at most so many, of which its count is a multiple."""
    if request.concurrency <= most:
        return request
    return replace(request, concurrency=max(at for at in divisors(request.count) if at <= most))


def divisors(count: int) -> list[int]:
    """Return the divisors of a count, in no order."""
    small = [at for at in range(1, int(count**0.5) + 1) if count % at == 0]
    return [*small, *(count // at for at in small)]


def promise_of(state: State, spec: ReservationSpec, queue: str, found: Reservation) -> Promise:
    """Return what is promised, in the form that is kept; what comes again is told as it is for the first time."""
    start, period, names = found.start, found.period, state.types.names
    last = start + period if period else max(found.end, found.shape.latest or start) if isinstance(found.shape, OverTime) else 0
    first = min(start, found.shape.earliest or start) if isinstance(found.shape, OverTime) else start
    steps = tuple(
        (begun, ended, tuple(sorted((name, amount) for name, amount in zip(names, value, strict=True) if amount)))
        for begun, ended, value in _joined(found.shape.segments(first, last))
        if any(value)
    )
    sizes = tuple(each.concurrency for each in found.definition.requests)
    smaller = sizes if sizes != tuple(one.concurrency for one in spec.requests) else ()
    return Promise(spec.generation, queue, found.user, found.accepted, start, found.end, period, steps, smaller)


def _joined(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield segments without neighbours that are equal."""
    last: Segment | None = None
    for segment in segments:
        if last is not None and last[1] == segment[0] and last[2] == segment[2]:
            last = (last[0], segment[1], last[2])
            continue
        if last is not None:
            yield last
        last = segment
    if last is not None:
        yield last


def reservation_of(state: State, identity: str, promise: Promise) -> Reservation:
    """Return a reservation as it was promised."""
    width = len(state.types)
    shape: OverTime | Cycle = Cycle(width, promise.period) if promise.period else OverTime(width)
    for start, end, named in promise.steps:
        shape.add(start, end, vector(state.types, named))
    definition = ReservationDefinition(promise.arrival, promise.deadline, recurrence=str(promise.period), name=identity)
    return Reservation(identity, promise.accepted, promise.user, definition, shape, promise.accepted)
