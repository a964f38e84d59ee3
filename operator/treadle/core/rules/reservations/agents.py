"""Who finds a place for a reservation and puts it into the plan (``ReservationAgent``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.rules.reservations.aligned import SMOOTHNESS, Aligned
from treadle.core.rules.reservations.cycles import Cycle, repeated
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.greedy import Greedy
from treadle.core.rules.reservations.plan import Reservation
from treadle.core.rules.reservations.planner import Planner
from treadle.core.rules.reservations.stages import by_demand, whole_window

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationDefinition
    from treadle.core.rules.reservations.over_time import OverTime
    from treadle.core.rules.reservations.plan import Plan


@dataclass(frozen=True, slots=True)
class Wanted:
    """A reservation that somebody asks for: ``number`` is as of ``Reservation``."""

    name: str
    number: int
    user: str
    definition: ReservationDefinition


@dataclass(frozen=True, slots=True)
class Agent:
    """Tries some planners; the first one that finds a place which the policy allows decides (``TryManyReservationAgents``)."""

    planners: Sequence[Planner]

    def create(self, plan: Plan, wanted: Wanted, now: int) -> Reservation:
        """Add a reservation. Raises ``UnknownReservation`` for a name that is taken, else the ``PlanningError`` of the last planner."""
        found = self._try(plan, wanted, now, update=False)
        assert found is not None
        return found

    def update(self, plan: Plan, wanted: Wanted, now: int) -> Reservation | None:
        """Put a reservation in the place of the one of its name, which stays where there is an error; if there is none it is new. None where it could not take its place."""
        return self._try(plan, wanted, now, update=wanted.name in plan.reservations)

    def _try(self, plan: Plan, wanted: Wanted, now: int, *, update: bool) -> Reservation | None:
        refused: PlanningError | None = None
        for planner in self.planners:
            try:
                places = planner.both(plan, wanted.name, wanted.user, wanted.definition)
            except PlanningError as error:
                refused = error
                continue
            for each in places:
                found = _reservation(plan, wanted, each)
                try:
                    if not update:
                        plan.add(found, now)
                        return found
                    if plan.update(found, now):
                        return found
                except PlanningError as error:
                    refused = error
        if refused is not None:
            raise refused
        return None


def place(planner: Planner, plan: Plan, wanted: Wanted) -> Reservation:
    """Return a reservation with the place that a planner finds for it. Raises ``PlanningError``."""
    return _reservation(plan, wanted, planner.find(plan, wanted.name, wanted.user, wanted.definition))


def _reservation(plan: Plan, wanted: Wanted, found: OverTime) -> Reservation:
    definition = wanted.definition
    if not definition.period:
        return Reservation(wanted.name, wanted.number, wanted.user, definition, found)
    if definition.starts:
        cycle = repeated(len(plan.capacity), definition.period, found.intervals(), definition.starts)
    else:
        cycle = Cycle(len(plan.capacity), definition.period)
        for interval in found.intervals():
            cycle.add(*interval)
    return Reservation(wanted.name, wanted.number, wanted.user, definition, cycle)


def greedy(*, left: bool = True) -> Agent:
    """Return the agent that takes what is free first, or last (``GreedyReservationAgent``)."""
    return Agent((Planner(whole_window, Greedy(left), left),))


def aligned(*, left: bool = True, smoothness: int = SMOOTHNESS) -> Agent:
    """Return the agent that spreads the load, and is greedy where that finds no place (``AlignedPlannerWithGreedy``); in exact plans what either finds is made better."""
    spread, first = Aligned(left, smoothness), Greedy(left)
    return Agent((Planner(by_demand, spread, left, refine=True), Planner(whole_window, first, left, refine=True)))
