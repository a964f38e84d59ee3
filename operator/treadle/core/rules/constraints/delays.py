"""Placement constraints whose parts come into force one after the other (``DelayedOr`` of Hadoop's API).

"The scheduler should try to satisfy first the first timed child constraint within the specified time window. If this is not possible, it should attempt to satisfy the second,
and so on": so much says Hadoop, which evaluates none. Here a pod tries the first one by itself for its time, then that or the second one, and in the end any of them.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from treadle.core.model.placement_constraints import And, DelayedOr, Or, PlacementConstraint, Single

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def delayed(constraints: Iterable[PlacementConstraint]) -> bool:
    """Whether any part of some constraints comes into force later."""
    return any(True for one in constraints for _ in _delayed_parts(one))


def in_force(constraint: PlacementConstraint, waited: float) -> PlacementConstraint:
    """Return a constraint as it is for a pod that has waited so many seconds, without anything that is delayed."""
    match constraint:
        case Single():
            return constraint
        case And(children):
            return And(tuple(in_force(child, waited) for child in children))
        case Or(children):
            return Or(tuple(in_force(child, waited) for child in children))
        case DelayedOr(children):
            count = 1 + sum(waited >= when for when in _begins(constraint))
            found = tuple(in_force(child, waited) for child in children[:count])
            return found[0] if len(found) == 1 else Or(found)


def next_in_force(constraints: Iterable[PlacementConstraint], waited: float) -> float | None:
    """Return after how many seconds of waiting another part comes into force, None if all are."""
    coming = (when for one in constraints for part in _delayed_parts(one) for when in _begins(part) if when > waited)
    return min(coming, default=None)


def coming(constraints: Iterable[PlacementConstraint], waited: float) -> list[PlacementConstraint]:
    """Return the parts that come into force next."""
    known = list(constraints)
    then = next_in_force(known, waited)
    return [
        part.children[number + 1]
        for one in known
        for part in _delayed_parts(one)
        for number, when in enumerate(_begins(part))
        if when == then
    ]


def _begins(constraint: DelayedOr) -> list[float]:
    """Return when each part but the first comes into force."""
    return list(accumulate(constraint.delays[:-1]))


def _delayed_parts(constraint: PlacementConstraint) -> Iterator[DelayedOr]:
    if isinstance(constraint, Single):
        return
    if isinstance(constraint, DelayedOr):
        yield constraint
    for child in constraint.children:
        yield from _delayed_parts(child)
