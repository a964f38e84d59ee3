"""The plan of a live queue, and the agent that plans for it, as the queue's definition says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model.reservations import GREEDY, NO_OVERCOMMIT
from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.rules.reservations.agents import Agent, aligned, greedy
from treadle.core.rules.reservations.plan import Plan, PlanSettings
from treadle.core.rules.reservations.sharing import CapacityOverTime, NoOvercommit
from treadle.core.units.resources import PODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.model.reservations import PlanSpec

STEP = 1000
"""How coarse times are, in ms (``planfollower.time-step``)."""
PATIENCE = 20_000
"""How many amounts of room a planner looks at before it gives up: nobody else is served meanwhile."""


def plan_of(spec: PlanSpec, capacity: Sequence[int], most: Sequence[int], types: int = 0) -> Plan:
    """Return an empty plan; ``most`` is the largest container that the queue takes.

    Amounts are dense vectors of so many ``types`` for one partition after the other, 0: of one partition. Every type but the count of pods decides.
    """
    width = len(capacity)
    calculator = AllTypes(width, [at for at in range(width) if at % (types or width) != PODS], precise=True)
    sharing = NoOvercommit() if spec.policy == NO_OVERCOMMIT else CapacityOverTime(spec.at_once, spec.average, spec.window)
    return Plan(capacity, PlanSettings(STEP, tuple(most), calculator, sharing, spec.cycle, exact=True, patience=PATIENCE))


def agent_of(spec: PlanSpec) -> Agent:
    """Return the agent that a definition asks for."""
    if spec.agent == GREEDY:
        return greedy(left=spec.early)
    return aligned(left=spec.early, smoothness=spec.smoothness)
