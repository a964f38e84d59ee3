"""What is promised, and what may still be (``InMemoryPlan``): reservations, and the sums of what they have over time, of all and by user.

A reservation that comes again each period counts at all times, before its arrival as well: it is kept as a cycle. Its own queries tell what it has at any
time. What is free is asked for an interval, and costs the breakpoints within.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import lcm
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.model.reservations import Occurrences
from treadle.core.rules.reservations.columns import Table, at_times, cut, joined
from treadle.core.rules.reservations.cycles import Cycle, Load, Shape, period_of
from treadle.core.rules.reservations.errors import Lack, PlanningError, UnknownReservation
from treadle.core.rules.reservations.loads import given, shaped
from treadle.core.rules.reservations.over_time import Amounts, OverTime, Segment, least, minus, plus, stepped, together
from treadle.core.rules.reservations.peaks import peaks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.model.reservations import ReservationDefinition
    from treadle.core.rules.capacity.calculators import Calculator

DAY = 24 * 60 * 60 * 1000


@dataclass(slots=True)
class Reservation:
    """A reservation that has its resources: ``shape`` from ``start`` until ``end``, and after each period. ``number`` tells those apart that were accepted at once."""

    name: str
    number: int
    user: str
    definition: ReservationDefinition
    shape: Shape
    accepted: int = 0
    """When it was accepted, in ms."""
    more: OverTime | None = None
    """What the run under way has besides, once."""

    @property
    def start(self) -> int:
        """From when on it may have something."""
        return self.definition.arrival

    @property
    def end(self) -> int:
        """When it has nothing any more, or begins again."""
        return self.definition.deadline

    @property
    def period(self) -> int:
        """After how many ms it comes again, 0 if it does not."""
        return period_of(self.shape)

    @property
    def occurrences(self) -> Occurrences:
        """When its windows are."""
        return Occurrences(self.start, self.end - self.start, self.period, self.definition.starts or (0,))

    @property
    def span(self) -> tuple[int, int]:
        """Between when it has something within its window; that is all of it where it comes again, and all of the period where it begins several times in it."""
        if self.period and self.definition.starts:
            return self.start, self.start + self.period
        if isinstance(self.shape, Cycle) or self.shape.earliest is None or self.shape.latest is None:
            return self.start, self.end
        return max(self.start, self.shape.earliest), min(self.end, self.shape.latest)

    @property
    def newest_first(self) -> tuple[int, int]:
        """The order in which reservations have to go: who was accepted last goes first."""
        return -self.accepted, -self.number

    def active(self, time: int) -> bool:
        """Whether a time is within its window, or within that of a later occurrence."""
        return self.occurrences.active(time)

    def at(self, time: int) -> Amounts:
        """Return what it has at a time."""
        found = self.shape.at(time) if self.active(time) else self.shape.nothing
        return found if self.more is None else plus(found, self.more.at(time))

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Yield what it has from ``start`` until ``end``, without holes, as if what comes again had always come."""
        steps = self.shape.segments(start, end)
        return steps if self.more is None else together(plus, steps, self.more.segments(start, end))


class Sharing(Protocol):
    """Who may have how much of a plan (``SharingPolicy``)."""

    window: int
    """For how long in ms what is over still counts."""

    def validate(self, plan: Plan, wanted: Reservation) -> None:
        """Raise ``PlanningError`` if a reservation may not be added, or take the place of the one of its name."""

    by_user: bool
    """Whether one user may have less than there is."""

    def at_most(self, plan: Plan) -> Amounts | None:
        """Return what one user may have at any time; None where that is all."""

    def narrow(self, plan: Plan, room: Sequence[Segment], used: Iterable[Segment]) -> Sequence[Segment]:
        """Return what of some room a user may have that has ``used`` some at the same time; asked if ``by_user``."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """``step`` is how coarse times are, ``cycle`` the largest period, both in ms: each period divides it. ``most`` is the largest container.

    ``exact``: places are found by what is free of every type, less what the reservation itself was given before, and where more is promised than there is
    nothing is free; what comes again is looked at in each period in which anything is promised. Hadoop looks at those of one cycle alone, counts the gangs that fit by the largest part of the plan, counts as free what it has just given, and plans nothing in an interval with a
    moment of which too much is promised; the policy then refuses what could have been placed. ``patience`` is how many amounts of room a
    planner looks at before it gives up; 0 is no limit.
    """

    step: int
    most: Sequence[int]
    calculator: Calculator
    sharing: Sharing
    cycle: int = DAY
    exact: bool = False
    patience: int = 0


class Plan:
    """Reservations on a queue that has ``capacity``, which may change."""

    def __init__(self, capacity: Sequence[int], settings: PlanSettings) -> None:
        """Begin with no reservations."""
        self.capacity: Amounts = tuple(capacity)
        self.settings = settings
        self.reservations: dict[str, Reservation] = {}
        self.load = Load(len(self.capacity))
        """What all reservations have."""
        self.by_user: dict[str, Load] = {}
        """What each user's have; users without a reservation are not in it."""

    # -- changes

    def add(self, wanted: Reservation, now: int) -> None:
        """Add a reservation. Raises ``UnknownReservation`` for a name that is taken, ``PlanningError`` for what is not allowed."""
        if wanted.name in self.reservations:
            raise UnknownReservation(f"reservation {wanted.name!r} is in the plan already")
        self.settings.sharing.validate(self, wanted)
        wanted.accepted = now
        self.restore(wanted)

    def restore(self, kept: Reservation) -> None:
        """Add a reservation that was accepted before, whatever is allowed now."""
        self.reservations[kept.name] = kept
        mine = self.by_user.setdefault(kept.user, Load(len(self.capacity)))
        for shape in _shapes(kept):
            self.load.add(shape)
            mine.add(shape)

    def update(self, wanted: Reservation, now: int) -> bool:
        """Put a reservation in the place of the one of its name. Raises like ``add``; False, and nothing changes, if it is allowed only beside the old one."""
        old = self.known(wanted.name)
        self.settings.sharing.validate(self, wanted)
        self.delete(old.name)
        try:
            self.add(wanted, now)
        except PlanningError:
            self.restore(old)  # whatever is allowed now: what is promised is not lost
            return False
        return True

    def delete(self, name: str) -> Reservation:
        """Take a reservation out. Raises ``UnknownReservation``."""
        old = self.known(name)
        del self.reservations[name]
        mine = self.by_user[old.user]
        for shape in _shapes(old):
            self.load.add(shape, -1)
            mine.add(shape, -1)
        if mine.empty:
            del self.by_user[old.user]
        return old

    def extend(self, name: str, more: OverTime | None) -> None:
        """Give a reservation more, once, in the place of what it had been given so before; nobody is asked whether it may be had. Raises ``UnknownReservation``."""
        one = self.delete(name)
        one.more = more
        self.restore(one)

    def archive(self, now: int) -> list[str]:
        """Take out, and return, what has been over for longer than the policy looks back. Reservations that come again are never over."""
        until = now - self.settings.sharing.window
        over = [one.name for one in self.reservations.values() if not one.period and one.end <= until]
        for name in over:
            self.delete(name)
        return over

    # -- queries

    def known(self, name: str) -> Reservation:
        """Return a reservation. Raises ``UnknownReservation``."""
        found = self.reservations.get(name)
        if found is None:
            raise UnknownReservation(f"reservation {name!r} is not in the plan")
        return found

    def active(self, time: int) -> list[Reservation]:
        """Return those within whose window a time is, who was accepted last first."""
        return sorted((one for one in self.reservations.values() if one.active(time)), key=lambda one: one.newest_first)

    def overlapping(self, start: int, end: int, user: str | None = None) -> list[Reservation]:
        """Return those whose window, or an occurrence of it, meets [start, end], of one user or of all (``getReservations``)."""
        mine = (one for one in self.reservations.values() if user is None or one.user == user)
        return sorted((one for one in mine if _meets(one, start, end)), key=lambda one: one.newest_first)

    @property
    def earliest(self) -> int | None:
        """When the first reservation that comes once has something (``getEarliestStartTime``); None if there is none."""
        return self.load.once.earliest

    @property
    def latest(self) -> int | None:
        """When the last one that comes once has nothing any more (``getLastEndTime``); None if there is none."""
        return self.load.once.latest

    def committed(self, time: int) -> Amounts:
        """Return what all reservations have at a time (``getTotalCommittedResources``)."""
        return self.load.at(time)

    def promised(self, start: int, end: int) -> Iterator[Segment]:
        """Yield what all reservations have from ``start`` until ``end``, without holes: of what comes again only from its first window on."""
        later = OverTime(len(self.capacity))
        for one in self.reservations.values():
            if one.period and one.start > start:
                for segment in one.shape.segments(start, min(one.start, end)):
                    later.add(*segment)
        if later.empty:
            return self.load.segments(start, end)
        return together(minus, self.load.segments(start, end), later.segments(start, end))

    @property
    def whole_cycle(self) -> int:
        """After how many ms all that comes again is the same again: the cycle, or more where longer periods were allowed before."""
        return lcm(self.settings.cycle, *self.load.cycles)

    def consumed(self, user: str, start: int, end: int) -> Iterator[Segment]:
        """Yield what a user's reservations have from ``start`` until ``end`` (``getConsumptionForUserOverTime``)."""
        mine = self.by_user.get(user)
        return iter([(start, end, (0,) * len(self.capacity))]) if mine is None else mine.segments(start, end)

    def loaded(self, start: int, end: int, old: Reservation | None = None) -> OverTime:
        """Return what is given away from ``start`` until ``end``, without an ``old`` reservation, and nothing elsewhere (``getCumulativeLoadOverTime``)."""
        found = self.load.segments(start, end)
        if old is not None:
            found = together(minus, found, old.shape.segments(start, end))
        return stepped(len(self.capacity), found)

    def available(
        self, user: str, old: Reservation | None, start: int, end: int, period: int = 0, starts: Sequence[int] = ()
    ) -> list[Segment]:
        """Return what a user may still have from ``start`` until ``end``, and each ``period`` again, with an ``old`` reservation given back.

        With ``starts`` it is what may be had as much later as each of them says too. ``getAvailableResourceOverTime``. Neighbours differ. Raises ``PlanningError`` where more is promised than there is, and for a
        period that does not divide the cycle or is shorter than the interval.
        """
        if not period:
            return list(self._available(user, old, start, end))
        self.check_period(start, end, period)
        cycle = self.settings.cycle
        if self.settings.exact:
            return self._least(user, old, start, end, period, starts)
        found = list(self._available(user, old, start, end))
        shifts = [base + later for base in range(0, cycle, period) for later in starts or (0,)]
        for by in shifts[1:]:
            later = [(one - by, other - by, value) for one, other, value in self._available(user, old, start + by, end + by)]
            found = list(together(least, found, later))
        return found

    def _least(
        self, user: str, old: Reservation | None, start: int, end: int, period: int, starts: Sequence[int]
    ) -> list[Segment]:
        """Return the least that a user may have from ``start`` until ``end`` of any period, as much later as each of ``starts`` says too."""
        sharing, without = self.settings.sharing, None if old is None else old.shape
        shape = start, end, period, self.whole_cycle, starts
        mine = self.by_user.get(user, Load(len(self.capacity)))
        used = peaks(mine, without, *shape) if sharing.by_user else repeat(())
        found: list[Segment] = []
        for taken, had in zip(peaks(self.load, without, *shape), used, strict=False):
            room: Sequence[Segment] = [(one, other, self._free(value)) for one, other, value in taken]
            if sharing.by_user:
                room = sharing.narrow(self, room, had)
            found = list(together(least, found, room)) if found else list(room)
        return found

    def _free(self, given: Amounts) -> Amounts:
        return tuple([max(0, have - value) for have, value in zip(self.capacity, given, strict=True)])

    def room(self, user: str, old: Reservation | None, start: int, end: int) -> Table:
        """Return what ``available`` does for once, in columns; for exact plans."""
        times, values = given(self.load, start, end)
        most = self.settings.sharing.at_most(self)
        mine = None if most is None else given(self.by_user.get(user, Load(len(self.capacity))), start, end)
        back = None if old is None else shaped(old.shape, start, end)
        points = cut([each for each in ((times, values), mine, back) if each is not None], start, end)
        begins = points[:-1]
        returned = 0 if back is None else at_times(back, begins)
        free = np.maximum(0, np.array(self.capacity, dtype=np.int64) - at_times((times, values), begins) + returned)
        if mine is not None and most is not None:
            np.minimum(free, np.array(most, dtype=np.int64) - at_times(mine, begins) + returned, out=free)
        return joined(points, free)

    def part(self, value: Sequence[int]) -> float:
        """Return which part of the plan some amount is, that of the type with the largest; in an exact plan without types of which it has nothing.

        What is promised of these was lost: it would be infinitely much at any time, and no time better than another.
        """
        if self.settings.exact:
            value = [mine if has else 0 for mine, has in zip(value, self.capacity, strict=True)]
        return self.settings.calculator.ratio(value, self.capacity)

    def parts(self, values: NDArray[np.int64]) -> list[float]:
        """Return the same for each of some amounts, (amounts, types)."""
        if self.settings.exact and not all(self.capacity):
            values = np.where(np.array(self.capacity) > 0, values, 0)
        return self.settings.calculator.ratios(values, self.capacity)

    def check_period(self, start: int, end: int, period: int) -> None:
        """Raise ``PlanningError`` for a period, if there is one, that does not divide the cycle or is shorter than an interval."""
        cycle = self.settings.cycle
        if period and cycle % period:
            raise PlanningError(f"recurrence: {period} ms does not divide the largest period, which is {cycle} ms")
        if period and end - start > period:
            raise PlanningError(f"recurrence: {period} ms is shorter than the interval of {end - start} ms")

    def _available(self, user: str, old: Reservation | None, start: int, end: int) -> Sequence[Segment]:
        capacity, room, exact = self.capacity, list[Segment](), self.settings.exact
        for one, other, value in self.load.segments(start, end):
            free = tuple([have - given for have, given in zip(capacity, value, strict=True)])
            if not exact and min(free) < 0:
                words = f"from {one} to {other} more is promised than there is: {value} of {capacity}"
                raise PlanningError(words, Lack(one, other, value, capacity))
            room.append((one, other, free))
        if old is not None:
            room = list(together(plus, room, old.shape.segments(start, end)))
        if exact:
            room = [(one, other, tuple([max(0, value) for value in free])) for one, other, free in room]
        if not self.settings.sharing.by_user:
            return room
        used: Iterable[Segment] = self.consumed(user, start, end)
        if old is not None:
            used = together(minus, used, old.shape.segments(start, end))
        return self.settings.sharing.narrow(self, room, used)


def _shapes(one: Reservation) -> Iterator[Shape]:
    yield one.shape
    if one.more is not None:
        yield one.more


def _meets(one: Reservation, start: int, end: int) -> bool:
    if not one.period:
        return one.start <= end and one.end > start
    if end < one.start:
        return False
    first = max(start, one.start)
    following = one.occurrences.after(first)
    return one.active(first) or (following is not None and following <= end)
