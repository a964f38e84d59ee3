"""Who may have how much of a plan: what is there (``NoOverCommitPolicy``), or a part of it at once and on average (``CapacityOverTimePolicy``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.core.rules.reservations.columns import at_times, cut
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.errors import Lack, OvercommitError, PlanningError, QuotaError
from treadle.core.rules.reservations.loads import shaped
from treadle.core.rules.reservations.over_time import (
    Amounts,
    OverTime,
    Segment,
    least,
    minus,
    plus,
    side_by_side,
    stepped,
    together,
)
from treadle.core.units.amounts import fits

if TYPE_CHECKING:
    from treadle.core.rules.reservations.plan import Plan, Reservation


class NoOvercommit:
    """Whatever is free may be had."""

    window = 0
    by_user = False

    def at_most(self, plan: Plan) -> Amounts | None:
        """Return None: whatever is free may be had."""
        del plan
        return None

    def validate(self, plan: Plan, wanted: Reservation) -> None:
        """Raise ``OvercommitError`` if a reservation has more than is free, at any time or occurrence."""
        old = plan.reservations.get(wanted.name)
        first, last = wanted.span
        if first >= last or fits_in_columns(plan, wanted, old, first, last):
            return
        room = plan.available(wanted.user, old, first, last, wanted.period)
        for start, end, free, asked in side_by_side(room, wanted.shape.segments(first, last)):
            if any(asked) and not (_has_room(asked, free) if plan.settings.exact else fits(asked, free)):
                words = f"from {start} to {end} the reservation has {asked}, and {free} may be had"
                raise OvercommitError(words, Lack(start, end, asked, free))

    def narrow(self, plan: Plan, room: Sequence[Segment], used: Iterable[Segment]) -> Sequence[Segment]:
        """Return all of the room."""
        del plan, used
        return room


class CapacityOverTime(NoOvercommit):
    """A user may have ``at_once`` of the plan at any time, and ``average`` of it over any ``window`` of ms; both are parts of 1.

    The average is Hadoop's: what was had until a breakpoint of the user's load, less what was had until the last breakpoint that is a window
    earlier, each divided by the window and rounded. That is more than was really had in the window where a step is longer than it, so
    a user who keeps to the average may still be refused.
    """

    by_user = True

    def __init__(self, at_once: float, average: float, window: int = 24 * 60 * 60 * 1000) -> None:
        """Keep the parts."""
        self.at_once = at_once
        self.average = average
        self.window = window

    def validate(self, plan: Plan, wanted: Reservation) -> None:
        """Raise ``QuotaError`` if a reservation has more than is free, or than the user may have."""
        try:
            super().validate(plan, wanted)
        except PlanningError as error:
            raise QuotaError(str(error), error.lack) from error
        first, last = wanted.span
        start, end = first - self.window, last + self.window
        mine = together(plus, plan.consumed(wanted.user, start, end), wanted.shape.segments(start, end))
        old = plan.reservations.get(wanted.name)
        if old is not None:
            mine = together(minus, mine, old.shape.segments(start, end))
        allowed = _part(plan.capacity, self.average)
        asked = _types(wanted) if plan.settings.exact else range(len(allowed))
        for time, had in averages(stepped(len(allowed), mine), self.window):
            if start <= time <= end and any(had[at] > allowed[at] for at in asked):
                words = f"in the {self.window} ms before {time} the user would have {had} on average, and {allowed} may be had"
                raise QuotaError(words, Lack(time - self.window, time, had, allowed, average=True))

    def at_most(self, plan: Plan) -> Amounts:
        """Return what one user may have at any time."""
        return _part(plan.capacity, self.at_once)

    def narrow(self, plan: Plan, room: Sequence[Segment], used: Iterable[Segment]) -> Sequence[Segment]:
        """Return the room, where it is more than the user may have at once that. The average is not known before there is a reservation."""
        allowed = self.at_most(plan)
        left = [(one, other, minus(allowed, value)) for one, other, value in used]
        return list(together(least, room, left))


def fits_in_columns(plan: Plan, wanted: Reservation, old: Reservation | None, first: int, last: int) -> bool:
    """Whether all that a reservation has once may be had: where it may not, or that cannot be seen at once, it is looked at step by step."""
    if wanted.period or not plan.settings.exact:
        return False
    room, asked = plan.room(wanted.user, old, first, last), shaped(wanted.shape, first, last)
    times = cut((room, asked), first, last)[:-1]
    wants = at_times(asked, times)
    asks = wants.any(axis=1)
    return bool(((wants <= at_times(room, times)) | (wants == 0))[asks].all())


def _types(wanted: Reservation) -> list[int]:
    """Return the types of which a reservation has something at any time."""
    steps = wanted.shape.steps if isinstance(wanted.shape, Cycle) else wanted.shape
    return [at for at in range(len(steps.nothing)) if any(value[at] for value in steps.values)]


def _has_room(asked: Amounts, free: Amounts) -> bool:
    """Whether what is asked for may be had: of what is not asked for there may be too little already."""
    return all(wants <= has for wants, has in zip(asked, free, strict=True) if wants)


def _part(capacity: Sequence[int], part: float) -> Amounts:
    return tuple(int(value * part) for value in capacity)


def averages(load: OverTime, window: int) -> list[tuple[int, Amounts]]:
    """Return at which times how much was had on average in the window before, as Hadoop counts it."""
    times, had = _had(load, window)
    before = OverTime(len(load.nothing))
    before.times, before.values = [time + window for time in times], had
    now = OverTime(len(load.nothing))
    now.times, now.values = times, had
    return [(time, minus(now.at(time), before.at(time))) for time in sorted({*times, *before.times})]


def _had(load: OverTime, window: int) -> tuple[list[int], list[Amounts]]:
    """Return the breakpoints of a load, and points every window where nothing changes for longer, with what was had until then in parts of a window."""
    times: list[int] = []
    had: list[Amounts] = []
    total = list(load.nothing)
    for position, (time, value) in enumerate(zip(load.times, load.values, strict=True)):
        following = load.times[position + 1] if position + 1 < len(load.times) else time
        points = [*range(time, following, window)] or [time]
        for start, end in zip(points, [*points[1:], following], strict=True):
            times.append(start)
            had.append(tuple([(2 * one + window) // (2 * window) for one in total]))
            total = [one + each * (end - start) for one, each in zip(total, value, strict=True)]
    return times, had
