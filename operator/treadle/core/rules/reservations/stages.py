"""Between when a request of a reservation may be placed, which come one after the other (``StageExecutionInterval``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.core.model.reservations import ORDERED
from treadle.core.units.resources import MEMORY

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationDefinition, ReservationRequest
    from treadle.core.rules.reservations.over_time import OverTime

Interval = tuple[int, int]


def up(time: int, step: int) -> int:
    """Return a time, or a duration, raised to a multiple of a step."""
    return -(-time // step) * step


def down(time: int, step: int) -> int:
    """Return a time lowered to a multiple of a step."""
    return time // step * step


def whole_window(definition: ReservationDefinition, number: int, placed: OverTime, step: int, *, left: bool) -> Interval:
    """Return all that is left of the window for request ``number`` (``StageExecutionIntervalUnconstrained``).

    ``placed`` is what the requests have that were placed before: those that come before it if they are placed from the ``left``, else those that come after.
    """
    del number, step
    start, end = definition.arrival, definition.deadline
    if definition.interpreter in ORDERED and placed.earliest is not None and placed.latest is not None:
        if left:
            start = placed.latest
        else:
            end = placed.earliest
    return start, end


def by_demand(definition: ReservationDefinition, number: int, placed: OverTime, step: int, *, left: bool) -> Interval:
    """Return a part of what is left of the window (``StageExecutionIntervalByDemand``).

    Where requests come one after the other each of those to be placed gets its duration, and of the rest a part by the memory that it has over time.
    """
    start, end = whole_window(definition, number, placed, step, left=left)
    requests = definition.requests
    if definition.interpreter not in ORDERED:
        return start, end
    current, others = requests[number], requests[number:] if left else requests[: number + 1]
    total = float(sum(_weight(each) for each in others))
    part = _weight(current) / total if total else 0.0
    spare = (end - start) - sum(up(each.duration, step) for each in others)
    if left:
        return start, down(int(start + up(current.duration, step) + spare * part), step)
    return up(int(end - up(current.duration, step) - spare * part), step), end


def _weight(request: ReservationRequest) -> int:
    return request.duration * request.demand[MEMORY] * request.count


Stages = Callable[..., Interval]
