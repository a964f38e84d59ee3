"""What an agent knows while it looks for a place for a reservation: the plan as it is, and what it has placed so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, isnan
from typing import TYPE_CHECKING, Protocol

from treadle.core.rules.reservations.columns import Table, at_times, cut, joined
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.loads import given, shaped
from treadle.core.rules.reservations.over_time import OverTime, Segment

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationDefinition, ReservationRequest
    from treadle.core.rules.reservations.plan import Plan, Reservation

MANY = (1 << 31) - 1


@dataclass(slots=True)
class Search:
    """A search for a place. ``placed`` is what the reservation was given so far."""

    plan: Plan
    user: str
    definition: ReservationDefinition
    old: Reservation | None
    placed: OverTime
    _load: OverTime | None = None
    _looked: int = 0

    @property
    def load(self) -> OverTime:
        """What others have within the window, worked out when it is asked for."""
        if self._load is None:
            self._load = self.plan.loaded(self.definition.arrival, self.definition.deadline, self.old)
        return self._load

    def room(self, start: int, end: int) -> list[Segment]:
        """Return what may be had, and what was placed so far still counts as free."""
        definition = self.definition
        return self.plan.available(self.user, self.old, start, end, definition.period, definition.starts)

    def gangs(self, room: Sequence[int], gang: Sequence[int]) -> int:
        """Return how many gangs some room is enough for, by the plan's calculator. Raises ``PlanningError`` when patience is at its end."""
        settings = self.plan.settings
        self.look(1)
        if settings.exact:
            return max(0, min(settings.calculator.containers(room, gang), MANY))
        found = self.plan.settings.calculator.divide(self.plan.capacity, room, gang)
        if isnan(found) or found in {inf, -inf}:
            return MANY if found > 0 else -MANY if found < 0 else 0
        return floor(found)

    def look(self, amounts: int) -> None:
        """Count amounts of room that were looked at. Raises ``PlanningError`` when patience is at its end."""
        self._looked += amounts
        self.check_patience(0)

    def check_patience(self, amounts: int) -> None:
        """Raise ``PlanningError`` if patience would be at its end after so many further amounts."""
        patience = self.plan.settings.patience
        if 0 < patience < self._looked + amounts:
            raise PlanningError(f"requests: no place for them is found within {patience} looks at what is free")

    def load_between(self, start: int, end: int) -> Table:
        """Return what others have between two times, in columns; neighbours differ."""
        load = given(self.plan.load, start, end)
        if self.old is None:
            return load
        back = shaped(self.old.shape, start, end)
        times = cut((load, back), start, end)
        return joined(times, at_times(load, times[:-1]) - at_times(back, times[:-1]))

    def give_back(self, given: Sequence[Segment]) -> None:
        """Count what was placed as free again."""
        for start, end, amount in given:
            self.placed.take(start, end, amount)


class StageAllocator(Protocol):
    """Finds a place for one request (``StageAllocator``)."""

    def __call__(self, search: Search, request: ReservationRequest, start: int, end: int, /) -> list[Segment] | None:
        """Return what a request gets within an interval, which is added to ``search.placed``; None, and nothing added, if it finds no place."""
