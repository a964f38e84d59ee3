"""The nearest change with which a reservation that was refused would have been accepted: a later deadline, a smaller concurrency, another queue.

Each is tried by the rules and the agent that refused it, and taken back; nothing is guessed. Hadoop only refuses.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.checks import LONGEST_WINDOW, refusal
from treadle.core.kernel.reservations.forms import MOST_STEPS, definition_of, gangs_of, intervals, promise_of
from treadle.core.kernel.reservations.words import MINUTE, moment
from treadle.core.model.reservations import ORDERED, Alternative, Interpreter
from treadle.core.rules.reservations.agents import Wanted
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import ReservationDefinition, ReservationSpec

PATIENCE = 2_000
"""How many amounts of room a planner looks at in a trial."""
MOST_TRIALS = 12
"""Concurrencies, and queues, that are tried."""
LEEWAY = 5 * MINUTE
"""For how long a deadline that is offered is good where the window begins meanwhile, or has begun."""
FINEST = 64
"""Into how many parts at least the requests' time is cut where a deadline is looked for."""


def alternatives(
    state: State, spec: ReservationSpec, one: PlanInForce, definition: ReservationDefinition, now: int
) -> tuple[Alternative, ...]:
    """Return what would be accepted: at most one of each kind."""
    found: list[Alternative] = []
    with _hasty(one):
        deadline = _deadline(state, spec, one, definition, now)
        if deadline is not None:
            found.append(Alternative(deadline=deadline))
        concurrency = _concurrency(state, spec, one, definition, now)
        if concurrency is not None:
            found.append(Alternative(concurrency=concurrency))
    others = [other for path, other in sorted(state.plans.of.items()) if path != one.path]
    for other in others[:MOST_TRIALS]:
        with _hasty(other):
            if _fits(state, spec, other, definition_of(other, spec, now), now):
                found.append(Alternative(queue=other.path))
                break
    return tuple(found)


def in_words(found: tuple[Alternative, ...]) -> str:
    """Return alternatives as an addition to a refusal, empty for none."""
    said = [
        f"spec.deadline {moment(one.deadline)}"
        if one.deadline is not None
        else f"a concurrency of {one.concurrency}"
        if one.concurrency is not None
        else f"spec.queue {one.queue}"
        for one in found
    ]
    return f"; it would be accepted with {' or with '.join(said)}" if said else ""


@contextmanager
def _hasty(one: PlanInForce) -> Iterator[None]:
    """Let the planners of a plan give up early."""
    settings = one.plan.settings
    one.plan.settings = replace(settings, patience=PATIENCE)
    try:
        yield
    finally:
        one.plan.settings = settings


def _fits(state: State, spec: ReservationSpec, one: PlanInForce, definition: ReservationDefinition, now: int) -> bool:
    """Whether a reservation would be accepted; the plan stays as it is."""
    if refusal(state, spec, one, definition, now) is not None:
        return False
    old = one.plan.reservations.get(spec.id)
    try:
        found = one.agent.update(one.plan, Wanted(spec.id, 0, spec.user, definition), now)
    except PlanningError:
        return False
    if found is None:
        return False
    steps = intervals(promise_of(one, spec, found).steps)
    one.plan.delete(spec.id)
    if old is not None:
        one.plan.restore(old)
    return steps <= MOST_STEPS


def _deadline(state: State, spec: ReservationSpec, one: PlanInForce, definition: ReservationDefinition, now: int) -> int | None:
    """Return the first deadline, to a part of the time that the requests take, with which it would be accepted.

    Of what comes again it is the deadline of the window that the object has, which may be over: the length of the windows goes by it.
    """
    durations = [up(request.duration, STEP) for request in definition.requests if request.duration > 0]
    if not durations:
        return None
    needed = (
        sum(durations)
        if definition.interpreter in ORDERED
        else min(durations)
        if definition.interpreter is Interpreter.ANY
        else max(durations)
    )
    most = definition.arrival + min(definition.apart or definition.period or LONGEST_WINDOW, LONGEST_WINDOW)
    low, step = max(definition.deadline, definition.arrival + needed - STEP), up(needed, STEP)
    high = definition.arrival + needed if low < definition.arrival + needed else low + step

    late = 0
    if definition.period:
        late = definition.arrival - spec.arrival
        late -= 0 if spec.starts else late % definition.period

    # What has passed of a window is lost, and who reads the answer takes a while.
    times = (now,) if definition.period or spec.arrival >= now + LEEWAY else (now, now + LEEWAY)

    def fits(deadline: int) -> bool:
        # With a longer window another one may be the first that is not over.
        said = replace(spec, deadline=deadline - late)
        return all(_fits(state, said, one, definition_of(one, said, time), time) for time in times)

    while not fits(min(high, most)):
        if high >= most:
            return None
        low, step = high, 2 * step
        high += step
    high, finest = min(high, most), max(STEP, needed // FINEST)
    while high - low > finest:
        middle = up((low + high) // 2, STEP)
        if middle >= high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high - late


def _concurrency(
    state: State, spec: ReservationSpec, one: PlanInForce, definition: ReservationDefinition, now: int
) -> int | None:
    """Return the largest concurrency with which it would be accepted, for all requests that have a larger one."""
    for most, smaller in islice(gangs_of(definition, one.plan), MOST_TRIALS):
        if _fits(state, spec, one, smaller, now):
            return most
    return None
