"""Where applications belong that name a reservation, and who may be in the queues of plans beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.claims import claimed
from treadle.core.kernel.reservations.following import child_path, default_path
from treadle.core.kernel.reservations.forms import clock
from treadle.core.kernel.reservations.words import moment
from treadle.core.kernel.tree.members import Queue
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import Known, PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model.reservations import Promise

NOT_FOUND, NOT_ACCEPTED, NOT_STARTED, OVER, RESERVED = (
    "ReservationNotFound",
    "ReservationNotAccepted",
    "ReservationNotStarted",
    "ReservationOver",
    "QueueIsReserved",
)


def place_of(state: State, application: Application, identity: str) -> Queue | Wait:
    """Return the queue of an application that names a reservation, or why it has none now (``getReservationQueueName``).

    While the reservation is active that is its queue. An application that has pods on nodes goes on in the plan's default queue afterwards, if the
    queue says so; the others wait for the next occurrence.
    """
    known, one, now = state.plans.known.get(identity), _plan_of(state, application, identity), clock(state)
    if one is None or known is None or known.promise is None:
        gone = one is not None and one.spec.move and _runs(application)
        default = _in_force(state, default_path(one.path)) if gone and one is not None else None
        return _not_accepted(identity, known) if default is None else state.tree.open(default, application)
    queue = _in_force(state, one.children.get(identity, ""))
    if queue is not None:
        return state.tree.open(queue, application)
    begins = _next(known.promise, now)
    over = begins is None or (known.promise.arrival <= now and _runs(application))
    default = _in_force(state, default_path(one.path)) if over and one.spec.move else None
    if default is not None:
        return state.tree.open(default, application)
    if begins is None:
        return Wait(OVER, identity, f"reservation {identity} is over since {moment(known.promise.deadline)}")
    return Wait(NOT_STARTED, identity, f"reservation {identity} begins at {moment(begins)}")


def _runs(application: Application) -> bool:
    return application.allocated > 0 or any(record.spec.node for record in application.pods.values())


def _plan_of(state: State, application: Application, identity: str) -> PlanInForce | None:
    """Return the plan of a reservation, or, where nothing is promised any more, that of its queue if the application is still in that."""
    plans, known = state.plans, state.plans.known.get(identity)
    if known is not None and known.promise is not None:
        return plans.of.get(known.promise.queue)
    path = place(application)
    one = plans.of.get(path.rpartition(".")[0])
    return one if one is not None and path == child_path(one.path, identity) else None


def place(application: Application) -> str:
    """Return the path of the queue that an application is in, or was bound in before a restart; empty for none."""
    if application.queue is not None:
        return application.queue.path
    return next((record.spec.held_in for record in application.pods.values() if record.spec.held_in), "")


def _in_force(state: State, path: str) -> Queue | None:
    """Return a queue that a plan wants now, if it is in the tree."""
    queue = state.tree.queues.get(path) if path in state.tree.planned.specs else None
    return queue if queue is not None and queue.defined and queue.leaf else None


def _not_accepted(identity: str, known: Known | None) -> Wait:
    if known is None:
        return Wait(NOT_FOUND, identity, f"reservation {identity} does not exist")
    if known.promise is not None:
        words = f"reservation {identity} is on queue {known.promise.queue}, which takes no reservations now"
    elif known.undecided:
        words = f"reservation {identity} is not accepted yet: {known.waits[1] or 'it is decided with the next pass'}"
    else:
        words = f"reservation {identity} was not accepted: {'' if known.decided is None else known.decided.words}"
    return Wait(NOT_ACCEPTED, identity, words)


def _next(promise: Promise, now: int) -> int | None:
    """Return when the window of a promise, or an occurrence of it, begins that is not over; None if there is none."""
    occurrences = promise.occurrences
    return occurrences.last(now) if occurrences.active(now) else occurrences.after(now)


def over(state: State, application: Application, identity: str) -> str:
    """Return why what runs in a reservation has to end, empty if it need not: it is over, and its queue says that nothing goes on."""
    known, now = state.plans.known.get(identity), clock(state)
    ending = state.plans.ending.get(application.id)
    one = _plan_of(state, application, identity) if ending is None else state.plans.of.get(ending)
    if one is None or one.spec.move or identity in one.children:
        return ""
    if ending is None and place(application) != child_path(one.path, identity):
        return ""  # it runs elsewhere
    promise = None if known is None else known.promise
    if promise is None:
        undecided = known is not None and known.undecided
        return "" if undecided else f"was to run in reservation {identity} while that was promised something"
    begun = promise.occurrences.last(now - (promise.deadline - promise.arrival))
    if begun is None:
        return ""
    ended = begun + promise.deadline - promise.arrival
    return f"was to run in reservation {identity} until {moment(ended)}"


def unreserved(state: State, application: Application, found: Queue | Wait) -> Queue | Wait:
    """Return where an application without a reservation belongs that is placed in the queue of a plan, or below it: in the plan's default queue."""
    if isinstance(found, Wait):
        one = state.plans.of.get(found.blocker) if found.reason == "QueueIsParent" else None
        mine = None if one is None else _in_force(state, claimed(one, application))
        if mine is not None:
            return state.tree.open(mine, application)
        default = None if one is None else _in_force(state, default_path(one.path))
        return found if default is None else state.tree.open(default, application)
    one = None if found.parent is None else state.plans.of.get(found.parent.path)
    mine = None if one is None else _in_force(state, claimed(one, application))
    if mine is not None:
        return state.tree.open(mine, application)
    if one is None or found.path == default_path(one.path):
        return found
    words = (
        f"queue {found.path} is for a reservation; an Application of its namespace runs there that names it in spec.reservation"
    )
    return _elsewhere(state, application, one) or Wait(RESERVED, found.path, words)


def _elsewhere(state: State, application: Application, one: PlanInForce) -> Queue | None:
    """Return the default queue of a plan for what runs in the queue of a reservation that it names no more."""
    if not application.allocated:
        return None
    return _in_force(state, default_path(one.path))
