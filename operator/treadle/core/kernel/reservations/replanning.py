"""What is done when a plan has less than it promised: who was accepted last is moved to where there is room, or else dropped, and its owner is told.

Hadoop's replanner only drops. It does so at once; here capacity has to be missing for a while, as nodes go and come, and meanwhile all have as much less. Moved is what has not
begun and is promised by the version that its object still has: its requests are known then.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from treadle.core.effects import RESERVATION_DROPPED, RESERVATION_MOVED, ReservationDecided
from treadle.core.kernel.reservations.checks import costly
from treadle.core.kernel.reservations.forms import MOST_STEPS, clock, definition_of, intervals, promise_of, smaller_gangs
from treadle.core.kernel.reservations.reprovisioning import take_back
from treadle.core.kernel.reservations.words import duration, moment
from treadle.core.model.reservations import Decision
from treadle.core.rules.reservations.agents import Wanted
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.replanning import replan, short
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.rules.reservations.plan import Reservation

CAPACITY_LOST = "CapacityLost"


def replan_all(state: State) -> list[ReservationDecided]:
    """Look at the plans that changed, or whose patience is at its end, and do what has to be done about capacity that is missing."""
    effects: list[ReservationDecided] = []
    now = up(clock(state), STEP)
    for one in state.plans.of.values():
        if not one.stale and state.now < min(one.short_since + one.spec.patience / 1000, one.again):
            continue
        if not short(one.plan, now, one.spec.enforcement):
            one.short_since = inf
        elif one.short_since == inf:
            one.short_since = state.now
        if state.now >= one.short_since + one.spec.patience / 1000:
            effects += _replan(state, one, now)
            one.short_since, one.stale = inf, True
    return effects


def _replan(state: State, one: PlanInForce, now: int) -> list[ReservationDecided]:
    given = [name for name in list(one.plan.reservations) if take_back(state, one, name)]
    lagging = [ReservationDecided(name, state.plans.known[name].spec.uid, state.cause) for name in given]
    before = dict(one.plan.reservations)
    moved: dict[str, Reservation] = {}

    def move(gone: Reservation) -> bool:
        found = _placed_anew(state, one, gone, now)
        if found is None:
            moved.pop(gone.name, None)
            return False
        moved[gone.name] = found
        return True

    dropped = replan(one.plan, now, one.spec.enforcement, move)
    effects = [_tell_moved(state, one, before[name], found) for name, found in moved.items() if name in one.plan.reservations]
    effects = [*(told for told in lagging if told.id in one.plan.reservations and told.id not in moved), *effects]
    return [*effects, *(_tell_dropped(state, one, before[name]) for name in dropped)]


def _placed_anew(state: State, one: PlanInForce, gone: Reservation, now: int) -> Reservation | None:
    """Return a reservation that was deleted at another place in the plan, None if there is none for it."""
    known = state.plans.known[gone.name]
    begun = (
        gone.active(now) if gone.period or not isinstance(gone.shape, OverTime) else (gone.shape.earliest or gone.start) <= now
    )
    if begun or known.decided is None or not known.decided.accepted or known.spec.generation != known.decided.generation:
        return None
    definition = definition_of(one, known.spec, now)
    if definition.deadline - definition.arrival <= 0 or costly(one, definition) is not None:
        return None
    found = None
    for each in (definition, *smaller_gangs(known.spec, definition, one.plan)):
        with suppress(PlanningError):
            found = one.agent.create(one.plan, Wanted(gone.name, gone.number, gone.user, each), gone.accepted)
            break
    if found is None:
        return None
    if intervals(promise_of(one, known.spec, found).steps) > MOST_STEPS:
        one.plan.delete(gone.name)
        return None
    return found


def _tell_moved(state: State, one: PlanInForce, before: Reservation, found: Reservation) -> ReservationDecided:
    known = state.plans.known[found.name]
    promise = promise_of(one, known.spec, found)
    known.decided, known.own = Decision(known.spec.generation, promise), True
    state.plans.note(found.name)
    state.plans.promised.pop(found.name, None)
    was, starts = before.span[0], promise.steps[0][0] if promise.steps else found.start
    words = f"queue {one.path} has lost capacity: what began at {moment(was)} begins at {moment(starts)} now"
    state.record(found.name, "reservation moved", words[:200])
    return ReservationDecided(found.name, known.spec.uid, state.cause, RESERVATION_MOVED, words, warning=True)


def _tell_dropped(state: State, one: PlanInForce, gone: Reservation) -> ReservationDecided:
    known = state.plans.known[gone.name]
    generation = known.spec.generation if known.decided is None else known.decided.generation
    asked = [0] * len(one.plan.capacity)
    steps = gone.shape.values if isinstance(gone.shape, OverTime) else gone.shape.steps.values
    for value in steps:
        asked = [max(pair) for pair in zip(asked, value, strict=True)]
    words = (
        f"queue {one.path} has {one.dimensions.words(one.plan.capacity, asked)} since it lost capacity, which is less than was promised "
        f"within the next {duration(one.spec.enforcement)}; this reservation was accepted last, and there is no other place for it"
    )
    known.decided, known.own = Decision(generation, None, CAPACITY_LOST, words, dropped=True), True
    state.plans.note(gone.name)
    state.record(gone.name, "reservation dropped", words[:200])
    return ReservationDecided(gone.name, known.spec.uid, state.cause, RESERVATION_DROPPED, words, warning=True)
