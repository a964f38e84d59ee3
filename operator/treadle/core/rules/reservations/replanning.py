"""Who has to go when a plan has less than it promised (``SimpleCapacityReplanner``), and who may have another place instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.rules.reservations.over_time import minus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.core.rules.reservations.plan import Plan, Reservation

HOUR = 60 * 60 * 1000


def replan(plan: Plan, now: int, window: int = HOUR, moved: Callable[[Reservation], bool] | None = None) -> list[str]:
    """Delete, and return, what was accepted last until as much is promised as there is, at each step from ``now`` on within a ``window`` in ms.

    A reservation goes as a whole. In an exact plan it goes only if it has something of a type of which too much is promised: Hadoop goes by the sum of all. What is promised too much later than the window stays. ``moved``, which Hadoop does not have, is asked for each that
    has been deleted: it may put it into the plan at another place, where there is room, and says whether it did.
    """
    gone: list[str] = []
    step, time = plan.settings.step, now
    while time < now + window and (plan.load.cycles or (plan.latest is not None and time < plan.latest)):
        if _short(plan, time):
            for one in plan.active(time):
                if not _short(plan, time):
                    break
                if plan.settings.exact and not _part_of(plan, one, time):
                    continue
                plan.delete(one.name)
                if moved is None or not moved(one):
                    gone.append(one.name)
        time = _next(plan, time, now + window) if plan.settings.exact else time + step
    return gone


def short(plan: Plan, now: int, window: int) -> bool:
    """Whether more is promised than there is, at any time from ``now`` on within a ``window`` in ms."""
    if not any(_over(plan, value) for _, _, value in plan.load.segments(now, now + window)):
        return False  # what counts before it begins as well is no less, and this is quick
    return any(_over(plan, value) for _, _, value in plan.promised(now, now + window))


def _short(plan: Plan, time: int) -> bool:
    if plan.settings.exact:
        return any(_over(plan, value) for _, _, value in plan.promised(time, time + 1))
    return _over(plan, plan.committed(time))


def _part_of(plan: Plan, one: Reservation, time: int) -> bool:
    """Whether a reservation has something of what is promised too much of at a time: without any of it its going would not help."""
    mine = one.at(time)
    return any(
        more > have and mine[at]
        for _, _, value in plan.promised(time, time + 1)
        for at, (more, have) in enumerate(zip(value, plan.capacity, strict=True))
    )


def _over(plan: Plan, promised: Sequence[int]) -> bool:
    excess = minus(promised, plan.capacity)
    return max(excess) > 0 if plan.settings.exact else plan.settings.calculator.positive(plan.capacity, excess)


def _next(plan: Plan, time: int, until: int) -> int:
    """Return when something else is promised next: in between it is as at that time."""
    return next(end for _, end, _ in plan.promised(time, until))
