"""What is told of reservations, and what a core that does not lead any more must forget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.claims import follow_claims
from treadle.core.kernel.reservations.following import child_path
from treadle.core.kernel.reservations.memory import Known

if TYPE_CHECKING:
    from treadle.core.events import ReservationSeen
    from treadle.core.kernel.state import State


def seen(state: State, event: ReservationSeen) -> None:
    """Take over an object. What the API has of a decision counts where this core has made none: it is newer than all that was read."""
    plans, spec, identity = state.plans, event.reservation, event.reservation.id
    known = plans.known.get(identity)
    if known is not None and known.spec.uid != spec.uid:
        gone(state, identity)
        known = None
    if known is None:
        known = plans.known[identity] = Known(spec, event.decided, event.decided)
    else:
        known.spec, known.told, known.stale = spec, event.decided, False
        if not known.own and known.decided != event.decided:
            plans.leave(identity)
            known.decided = event.decided
    plans.note(identity)
    follow_claims(state, identity)


def lost(state: State, identity: str) -> None:
    """Take back what was decided on a reservation; nothing is decided before its object has been told again."""
    known = state.plans.known.get(identity)
    if known is not None:
        state.plans.leave(identity)
        known.decided, known.own, known.stale = known.told, False, True
        state.plans.note(identity)


def gone(state: State, identity: str) -> None:
    """Forget a reservation, and what it was promised."""
    plans = state.plans
    known = plans.known.pop(identity, None)
    if known is not None:
        if known.promise is not None:
            plans.progress.pop(child_path(known.promise.queue, identity), None)
        plans.undecided.pop(identity, None)
        plans.blocked.pop(identity, None)
        plans.promised.pop(identity, None)
        plans.elsewhere[identity] = None
        plans.leave(identity)


def named(state: State, application: str, now: str) -> None:
    """Take note of which reservation an application names, whose object as it was before is known; both by id, empty: none."""
    members, explicit = state.plans.members, state.explicit.get(application)
    before = explicit.reservation if explicit is not None else ""
    if before != now:
        if before in members:
            members[before].pop(application, None)
            if not members[before]:
                del members[before]
        if now:
            members.setdefault(now, {})[application] = None


def forget(state: State) -> None:
    """Go back to what the API has: who decides from now on knows of nothing else, and nobody was promised more."""
    plans = state.plans
    plans.of.clear()
    plans.outdated = True
    for identity, known in plans.known.items():
        known.decided, known.own = known.told, False
        plans.note(identity)
