"""Reservations are accepted or refused in the pass after they were seen (``ReservationSystem``): the rules, the agent, the sharing policy.

An update takes the place of what was promised if it can be placed with that given back, else what was promised stands. Nothing is queued: a
reservation that was refused is looked at again when it is changed. One whose queue takes no reservations now waits for that, since objects
may come in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import RESERVATION_REFUSED, ReservationDecided
from treadle.core.kernel.reservations.alternatives import alternatives, in_words
from treadle.core.kernel.reservations.checks import refusal
from treadle.core.kernel.reservations.following import child_path
from treadle.core.kernel.reservations.forms import MOST_STEPS, clock, definition_of, intervals, promise_of, smaller_gangs
from treadle.core.kernel.reservations.reprovisioning import take_back
from treadle.core.kernel.reservations.words import duration, moment
from treadle.core.model.reservations import KEPT, OVER_TIME, WOULD_BE_ACCEPTED, Decision
from treadle.core.rules.reservations.agents import Wanted
from treadle.core.rules.reservations.errors import ContractError, PlanningError, QuotaError

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import Known, PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import Promise, ReservationDefinition

QUEUE_NOT_RESERVABLE, INVALID, NAME_TAKEN = "QueueNotReservable", "Invalid", "NameTaken"
NO_PLACE, OVER_QUOTA, FRAGMENTED = "NoRoom", "OverQuota", "TooManySteps"
MOST_DECISIONS, REFUSING = 20, 5
"""How much is decided in a pass, the rest in the next ones: what is accepted counts once, what is refused so often, since others are tried instead."""
MOST_TOLD = 8
"""Intervals that are told of what would be promised."""
LAST = 1 << 31
MENDED = frozenset({NO_PLACE, OVER_QUOTA, "DeadlinePast", "WindowTooShort", "GangTooLarge"})
"""Reasons that another deadline, concurrency or queue may mend."""


def decide(state: State) -> list[ReservationDecided]:
    """Decide on what is undecided, the more important first, and then the older, and tell of it."""
    plans = state.plans
    if not plans.undecided:
        return []
    waiting = [plans.known[identity] for identity in plans.undecided]
    able = [known for known in waiting if _able(state, known)]
    blocked = [known.spec.id for known in waiting if known.waits[0] or known.stale]
    for identity in blocked:
        del plans.undecided[identity]
        plans.blocked[identity] = None
    able.sort(key=lambda known: (LAST if known.spec.priority is None else known.spec.priority, known.spec.created, known.spec.id))
    effects: list[ReservationDecided] = []
    done = 0
    for known in able:
        if done >= MOST_DECISIONS:
            break
        effects.append(_decide(state, known))
        done += REFUSING if effects[-1].reason else 1
    return effects


def _able(state: State, known: Known) -> bool:
    """Whether a reservation can be decided on; if not it says why."""
    spec = known.spec
    if spec.unplanned:
        known.waits = (INVALID, spec.unplanned)
    elif spec.queue not in state.plans.of:
        queue = state.tree.queues.get(spec.queue)
        why = "does not exist" if queue is None else "takes no reservations"
        known.waits = (QUEUE_NOT_RESERVABLE, f"spec.queue: {spec.queue} {why}; the reservation is planned when it takes some")
    else:
        known.waits = ("", "")
    return not known.waits[0] and not known.stale


def _decide(state: State, known: Known) -> ReservationDecided:
    spec, now, one = known.spec, clock(state), state.plans.of[known.spec.queue]
    definition = definition_of(one, spec, now)
    if known.promise is not None and known.promise.queue in state.plans.of:
        take_back(state, state.plans.of[known.promise.queue], spec.id)  # it is found anew for what is promised now
    found = _found(state, known, one, definition, now)
    for smaller in smaller_gangs(spec, definition, one.plan) if isinstance(found, tuple) and found[0] in MENDED else ():
        other = _found(state, known, one, smaller, now)
        if not isinstance(other, tuple):
            found = other
            break
    if not isinstance(found, tuple) and spec.trial and known.promise is None:
        return _only_asked(state, known, one, found)
    refused, promise = (found, known.promise) if isinstance(found, tuple) else (None, found)
    reason, words = refused or ("", "")
    instead = alternatives(state, spec, one, definition, now) if reason in MENDED else ()
    words += in_words(instead)
    known.decided, known.own = Decision(spec.generation, promise, reason, words, instead), True
    state.plans.note(spec.id)
    state.plans.promised.pop(spec.id, None)
    state.record(spec.id, "reservation accepted" if refused is None else "reservation refused", words[:200])
    if refused is None:
        return ReservationDecided(spec.id, spec.uid, state.cause)
    note = words + KEPT if promise is not None else words
    return ReservationDecided(spec.id, spec.uid, state.cause, RESERVATION_REFUSED, note, warning=True)


def _found(
    state: State, known: Known, one: PlanInForce, definition: ReservationDefinition, now: int
) -> Promise | tuple[str, str]:
    """Return what a reservation is promised, which is in the plan then, or the reason and the words for which it is refused."""
    refused = refusal(state, known.spec, one, definition, now) or _named_alike(one, known.spec.id)
    return _plan(state, known, one, definition, now) if refused is None else refused


def _only_asked(state: State, known: Known, one: PlanInForce, found: Promise) -> ReservationDecided:
    """Take back what was found for a reservation that only asks, and tell it."""
    one.plan.delete(known.spec.id)
    state.plans.promised.pop(known.spec.id, None)
    told = [
        f"{one.dimensions.words(one.dimensions.vector(named))} from {moment(start)} until {moment(end)}"
        for start, end, named in found.steps[:MOST_TOLD]
    ]
    more = f", and so on ({len(found.steps)} intervals)" if len(found.steps) > MOST_TOLD else ""
    again = f", again after each {duration(found.period)}" if found.period else ""
    words = f"nothing is promised, since it only asks; it would have {', '.join(told)}{more}{again}"
    known.decided, known.own = Decision(known.spec.generation, None, WOULD_BE_ACCEPTED, words), True
    state.plans.note(known.spec.id)
    return ReservationDecided(known.spec.id, known.spec.uid, state.cause)


def _named_alike(one: PlanInForce, identity: str) -> tuple[str, str] | None:
    """Return that another reservation has the queue that this one would have, which somebody must have meant to happen."""
    path = child_path(one.path, identity)
    other = next((name for name in one.plan.reservations if name != identity and child_path(one.path, name) == path), None)
    if other is None:
        return None
    return (
        NAME_TAKEN,
        f"metadata.name: reservation {other} has queue {path}, which this one would have too; under another name it has another",
    )


def _plan(state: State, known: Known, one: PlanInForce, definition: ReservationDefinition, now: int) -> Promise | tuple[str, str]:
    """Put a reservation into a plan, in the place of what it was promised before; or return why it does not fit, and nothing is changed."""
    spec, before = known.spec, known.promise
    elsewhere = state.plans.of.get(before.queue) if before is not None and before.queue != one.path else None
    accepted = max(now, one.latest + 1)
    old = one.plan.reservations.get(spec.id)
    try:
        found = one.agent.update(one.plan, Wanted(spec.id, accepted, spec.user, definition), accepted)
    except PlanningError as error:
        return _refused(one, definition, error)
    if found is None:
        return NO_PLACE, f"it fits into queue {one.path} only beside what was promised before"
    promise = promise_of(one, spec, found)
    if intervals(promise.steps) > MOST_STEPS:
        one.plan.delete(spec.id)
        if old is not None:
            one.plan.restore(old)
        return (
            FRAGMENTED,
            f"its place in queue {one.path} has {intervals(promise.steps)} intervals, and at most {MOST_STEPS} are kept; longer durations, or fewer and larger gangs, have fewer",
        )
    one.latest, one.stale = accepted, True
    if elsewhere is not None and spec.id in elsewhere.plan.reservations:
        elsewhere.plan.delete(spec.id)
        elsewhere.stale = True
    return promise


def _refused(one: PlanInForce, definition: ReservationDefinition, error: PlanningError) -> tuple[str, str]:
    lack, words = error.lack, one.dimensions.words
    if isinstance(error, ContractError):
        return INVALID, _too_large(one, definition) or f"spec.expression.{error}"
    reason = OVER_QUOTA if isinstance(error, QuotaError) and lack is not None and lack.average else NO_PLACE
    if lack is None:
        return reason, str(error)
    when = f"from {moment(lack.start)} until {moment(lack.end)}"
    if not lack.asked:
        has = words(
            one.plan.capacity,
            [sum(column) for column in zip(*(request.demand for request in definition.requests), strict=True)],
        )
        most = (
            f", of which one user may have {one.spec.at_once:.0%} at once"
            if one.spec.policy == OVER_TIME and one.spec.at_once < 1
            else ""
        )
        times = len(definition.starts)
        again = ", or when it comes again," if definition.period else ""
        every = f", or at another of the {times} times at which it begins," if times else again
        return (
            reason,
            f"queue {one.path}, which has {has}{most}, has no room for it {when}{every} beside what is promised already",
        )
    asked, allowed = words(lack.asked), words(lack.allowed, lack.asked)
    if lack.average:
        return (
            reason,
            f"its user would have {asked} of queue {one.path} on average in the {duration(lack.end - lack.start)} before {moment(lack.end)}, and may have {allowed}",
        )
    return reason, f"{when} it would have {asked} of queue {one.path}, and {allowed} may be had"


def _too_large(one: PlanInForce, definition: ReservationDefinition) -> str:
    """Return that a request asks for a larger container than the queue takes, empty where none does."""
    settings = one.plan.settings
    for at, each in enumerate(definition.requests):
        if settings.calculator.more(one.plan.capacity, each.demand, settings.most):
            largest, asked = one.dimensions.words(settings.most, each.demand), one.dimensions.words(each.demand)
            return f"spec.expression.requests[{at}].demand: asks for {asked}, and the largest container of queue {one.path} has {largest}"
    return ""
