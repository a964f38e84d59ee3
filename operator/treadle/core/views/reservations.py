"""What there is of reservations at one moment, as plain data for those who show it. Times are in ms since the epoch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.forms import clock
from treadle.core.model.reservations import KEPT, WOULD_BE_ACCEPTED

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import Known
    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import Decision, Promise

PENDING, ACCEPTED, ACTIVE, COMPLETED, REJECTED, DROPPED = "Pending", "Accepted", "Active", "Completed", "Rejected", "Dropped"


@dataclass(frozen=True, slots=True)
class ReservationFigures:
    """A reservation: its phase, what was decided, when it has something next (None: never, or it has it now), and the queue that it has now, if any.

    ``reason`` and ``words`` say why it is not in force as written; both are empty if it is.
    """

    phase: str
    decided: Decision | None
    next_start: int | None
    queue: str
    reason: str
    words: str


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The plan of a queue: what it has of a partition, and what of that is promised now, by the names of resource types."""

    path: str
    partition: str
    has: dict[str, int]
    promised: dict[str, int]


def plans(state: State) -> list[PlanFigures]:
    """Return the figures of all plans, by partition."""
    now, named = clock(state), state.types.named
    return [
        PlanFigures(path, partition, named(has), named(value))
        for path, one in state.plans.of.items()
        for _, _, promised in one.plan.promised(now, now + 1)
        for (partition, has), (_, value) in zip(
            one.dimensions.parts(one.plan.capacity), one.dimensions.parts(promised), strict=True
        )
    ]


def phases(state: State) -> dict[str, int]:
    """Return how many reservations there are in each phase."""
    now = clock(state)
    return dict(Counter(_phase(known, now) for known in state.plans.known.values()))


def reservation(state: State, identity: str) -> ReservationFigures | None:
    """Return the figures of a reservation, None if it is not known."""
    known = state.plans.known.get(identity)
    if known is None:
        return None
    now = clock(state)
    phase = _phase(known, now)
    reason, words = _said(state, known)
    start = None if known.promise is None or phase in {COMPLETED, DROPPED} else next_start(known.promise, now)
    one = None if known.promise is None else state.plans.of.get(known.promise.queue)
    queue = "" if one is None else one.children.get(identity, "")
    return ReservationFigures(phase, known.decided, start, queue, reason, words)


def _phase(known: Known, now: int) -> str:
    promise, decided = known.promise, known.decided
    if promise is None:
        if decided is None or known.undecided:
            return PENDING
        return DROPPED if decided.dropped else PENDING if decided.reason == WOULD_BE_ACCEPTED else REJECTED
    if not promise.period and now >= promise.deadline:
        return COMPLETED
    return ACTIVE if promise.occurrences.active(now) else ACCEPTED


def _said(state: State, known: Known) -> tuple[str, str]:
    """Return why a reservation is not in force as it is written."""
    decided, promise = known.decided, known.promise
    kept = KEPT if promise is not None else ""
    if known.undecided:
        reason, words = known.waits
        return (reason, f"{words}{kept}") if reason else ("NotDecided", f"it is decided with the next pass{kept}")
    assert decided is not None
    if decided.reason:
        return decided.reason, f"{decided.words}{kept}"
    if promise is not None and promise.queue not in state.plans.of:
        return (
            "QueueNotReservable",
            f"spec.queue: {promise.queue} takes no reservations now; what is promised is kept, and not served meanwhile",
        )
    return "", ""


def next_start(promise: Promise, now: int) -> int | None:
    """Return when a promise has something next; None if it has it now, or never again."""
    found: list[int] = []
    for steps, period in ((promise.steps, promise.period), (promise.more, 0)):
        for start, end, _ in steps:
            late = ((now - end) // period + 1) * period if period and now >= end else 0
            if start + late <= now < end + late:
                return None
            if start + late > now:
                found.append(start + late)
    return min(found, default=None)
