"""All that is asked for on a node: what pods request there, and what opportunistic pods say they use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.units.amounts import plus

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.units.resources import Vector


def asked_on(state: State, row: int) -> Vector:
    """Return that for each type."""
    have, free = state.nodes.allocatable[row], state.nodes.free[row]
    given = state.opportunistic.on_row.get(row, [0] * TYPES)
    return [have[position] - free[position] + given[position] for position in range(TYPES)]


def asks(record: PodRecord) -> Vector:
    """Return what a pod will use: an opportunistic one what it says, another one what it requests."""
    found = [0] * TYPES
    for position, value in record.shape.demand:
        if position < TYPES:
            found[position] = value
    return plus(found, vector(record.spec.opportunistic)) if record.part is None else found
