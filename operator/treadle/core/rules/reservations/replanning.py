"""Who has to go when a plan has less than it promised (``SimpleCapacityReplanner``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.rules.reservations.over_time import minus

if TYPE_CHECKING:
    from treadle.core.rules.reservations.plan import Plan

HOUR = 60 * 60 * 1000


def replan(plan: Plan, now: int, window: int = HOUR) -> list[str]:
    """Delete, and return, what was accepted last until as much is promised as there is, at each step from ``now`` on within a ``window`` in ms.

    A reservation goes as a whole. What is promised too much later than the window stays.
    """
    gone = []
    calculator, step = plan.settings.calculator, plan.settings.step
    time = now
    while time < now + window and (plan.load.cycles or (plan.latest is not None and time < plan.latest)):
        excess = minus(plan.committed(time), plan.capacity)
        if calculator.positive(plan.capacity, excess):
            for one in plan.active(time):
                if not calculator.positive(plan.capacity, excess):
                    break
                plan.delete(one.name)
                gone.append(one.name)
                excess = minus(excess, one.at(time))
        time += step
    return gone
