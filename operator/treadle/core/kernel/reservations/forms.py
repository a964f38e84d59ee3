"""From what objects and statuses say to what plans reckon with, and back: amounts by name and dense vectors, times on whole steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.model.reservations import (
    Interpreter,
    Occurrences,
    Promise,
    ReservationDefinition,
    ReservationRequest,
    partition_of,
    within,
)
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Reservation
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import down, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from treadle.core.kernel.reservations.dimensions import Dimensions
    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import Asked, ReservationSpec, Steps
    from treadle.core.rules.reservations.over_time import Segment
    from treadle.core.rules.reservations.plan import Plan

MOST_STEPS = 256
"""Intervals of a promise at most: what a status has room for."""


def clock(state: State) -> int:
    """Return the time of the step in ms since the epoch."""
    return int((state.now + state.settings.epoch) * 1000)


def when(state: State, time: int) -> float:
    """Return a time in ms since the epoch on the core's clock."""
    return time / 1000 - state.settings.epoch


def asked_in(one: PlanInForce, request: Asked) -> str:
    """Return the partition for which a request is in a plan."""
    return request.partition or one.dimensions.partitions[0]


def definition_of(one: PlanInForce, spec: ReservationSpec, now: int) -> ReservationDefinition:
    """Return what is to be planned at a time, all of it within the object's window and on whole steps of time.

    What has passed of the window cannot be had any more. What comes again is planned from the first window on that is not over; with times of a calendar
    that begins at the first of them at or after arrival.
    """
    arrival, deadline = spec.arrival, spec.deadline
    starts: tuple[int, ...] = ()
    if spec.starts:
        length = deadline - arrival
        found = Occurrences(spec.starts[0], length, spec.period, tuple(at - spec.starts[0] for at in spec.starts))
        first = found.after(max(arrival, now - length + 1) - 1)
        assert first is not None
        arrival, deadline = first, first + length
        if len(spec.starts) > 1:
            starts = tuple(sorted((at - arrival) % spec.period for at in spec.starts))
    elif spec.period:
        late = max(0, -(-(now - deadline + 1) // spec.period))
        arrival, deadline = arrival + late * spec.period, deadline + late * spec.period
    else:
        arrival = max(arrival, now)
    requests = tuple(
        ReservationRequest(
            one.dimensions.vector((within(asked_in(one, each), name), value) for name, value in each.demand),
            each.count,
            each.concurrency,
            each.duration,
        )
        for each in spec.requests
    )
    recurrence = str(spec.period)
    return ReservationDefinition(
        up(arrival, STEP),
        down(deadline, STEP),
        requests,
        spec.interpreter,
        recurrence,
        spec.id,
        spec.priority,
        starts,
        spec.apart,
    )


MOST_SIZES = 12
"""Sizes of gangs that are tried."""


def smaller_gangs(spec: ReservationSpec, definition: ReservationDefinition, plan: Plan) -> Iterator[ReservationDefinition]:
    """Yield a definition with smaller gangs, the largest first, as small as its requests allow."""
    if all(one.least in {0, one.concurrency} for one in spec.requests):
        return
    for _, smaller in islice(gangs_of(definition, plan), MOST_SIZES):
        wanted = zip(spec.requests, smaller.requests, strict=True)
        if all(each.concurrency >= (asked.least or asked.concurrency) for asked, each in wanted):
            yield smaller


def gangs_of(definition: ReservationDefinition, plan: Plan) -> Iterator[tuple[int, ReservationDefinition]]:
    """Yield sizes of smaller gangs that a plan has room for at all, the largest first, and the definition with gangs of that size at the most."""
    largest = max((request.concurrency for request in definition.requests), default=1)
    enough = any if definition.interpreter is Interpreter.ANY else all
    for size in sorted({at for each in definition.requests for at in divisors(each.count) if at < largest}, reverse=True):
        held = [hold(each, size) for each in definition.requests]
        if enough(_has_room(plan, each) for each in held):
            yield size, replace(definition, requests=tuple(held))


def _has_room(plan: Plan, request: ReservationRequest) -> bool:
    gang = [value * request.concurrency for value in request.demand]
    return not plan.settings.calculator.more(plan.capacity, gang, plan.capacity)


def hold(request: ReservationRequest, most: int) -> ReservationRequest:
    """Return a request with a concurrency of at most so many, of which its count is a multiple."""
    if request.concurrency <= most:
        return request
    return replace(request, concurrency=max(at for at in divisors(request.count) if at <= most))


def divisors(count: int) -> list[int]:
    """Return the divisors of a count, in no order."""
    small = [at for at in range(1, int(count**0.5) + 1) if count % at == 0]
    return [*small, *(count // at for at in small)]


def promise_of(one: PlanInForce, spec: ReservationSpec, found: Reservation) -> Promise:
    """Return what is promised, in the form that is kept; what comes again is told as it is for the first time."""
    start, period = found.start, found.period
    last = start + period if period else max(found.end, found.shape.latest or start) if isinstance(found.shape, OverTime) else 0
    first = min(start, found.shape.earliest or start) if isinstance(found.shape, OverTime) else start
    steps = named_steps(one.dimensions, found.shape.segments(first, last))
    sizes = tuple(each.concurrency for each in found.definition.requests)
    smaller = sizes if sizes != tuple(each.concurrency for each in spec.requests) else ()
    return Promise(
        spec.generation, one.path, found.user, found.accepted, start, found.end, period, steps, smaller, found.definition.starts
    )


def named_steps(dimensions: Dimensions, segments: Iterable[Segment]) -> Steps:
    """Return what there is from when until when by name, without neighbours that are equal."""
    return tuple(
        (begun, ended, tuple(sorted(dimensions.named(value).items()))) for begun, ended, value in _joined(segments) if any(value)
    )


def intervals(steps: Steps) -> int:
    """Return how many intervals a status has for some steps: one for each partition."""
    return sum(len({partition_of(name)[0] for name, _ in named}) for _, _, named in steps)


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


def reservation_of(dimensions: Dimensions, identity: str, promise: Promise) -> Reservation:
    """Return a reservation as it was promised."""
    width = len(dimensions.names)
    shape: OverTime | Cycle = Cycle(width, promise.period) if promise.period else OverTime(width)
    for start, end, named in promise.steps:
        shape.add(start, end, dimensions.vector(named))
    definition = ReservationDefinition(
        promise.arrival, promise.deadline, recurrence=str(promise.period), name=identity, starts=promise.starts
    )
    more = OverTime(width) if promise.more else None
    for start, end, named in promise.more:
        assert more is not None
        more.add(start, end, dimensions.vector(named))
    return Reservation(identity, promise.accepted, promise.user, definition, shape, promise.accepted, more)
