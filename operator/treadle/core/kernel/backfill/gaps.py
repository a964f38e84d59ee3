"""The gaps in front of those for whom room is kept: on which nodes, and until when.

Room that is kept as it comes is idle until the rest has come: the rest of a node's for a large pod, the rest of all its nodes' for a gang. When
that is follows from when the pods on these nodes are expected to end, as the shadow time of EASY backfilling does (Lifka, "The ANL/IBM SP
Scheduling System", 1995). Where the end of a pod is not known that has to end first, there is no gap.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from treadle.core.kernel.backfill.run_times import UNKNOWN, end
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import dense

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.preemption.memory import Hold
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.units.resources import Vector


def kept_as_it_comes(state: State) -> dict[int, list[Hold]]:
    """Return the holds for which nobody was asked to go, by the row of their node."""
    found: dict[int, list[Hold]] = {}
    for hold in state.preemption.holds:
        if hold.without_victims:
            found.setdefault(hold.row, []).append(hold)
    return found


def parties(kept: dict[int, list[Hold]]) -> list[list[Hold]]:
    """Return the holds that are fulfilled together: all of a gang, or a single one."""
    found: dict[object, list[Hold]] = {}
    for hold in (one for holds in kept.values() for one in holds):
        found.setdefault(hold.gang if hold.gang[1] else hold, []).append(hold)
    return list(found.values())


def gaps(state: State, kept: dict[int, list[Hold]]) -> dict[int, float]:
    """Return until when the room that is kept on a node is idle, by row: as all for whom it is kept are expected to begin then at the earliest.

    Rows of which that is not known, or where it is now, are left out.
    """
    on_rows: dict[int, list[PodRecord]] = defaultdict(list)
    for record in state.pods.values():
        if record.node in kept:
            on_rows[record.node].append(record)
    ready = {row: _ready(state, row, holds, on_rows[row]) for row, holds in kept.items()}
    found: dict[int, float] = {}
    for holds in parties(kept):
        begins = max(ready[hold.row] for hold in holds)
        for hold in holds:
            found[hold.row] = min(begins, found.get(hold.row, UNKNOWN))
    return {row: until for row, until in found.items() if state.now < until < UNKNOWN}


def room_of(state: State, holds: Iterable[Hold]) -> Vector:
    """Return what some holds on one node keep of it."""
    total = [0] * state.types.width
    for hold in holds:
        for position, value in hold.shape.demand:
            total[position] += value
    return total


def come(left: Vector, holds: Iterable[Hold]) -> bool:
    """Whether all that is kept on a node has come, where so much is left there with that counted."""
    return all(left[position] >= 0 for hold in holds for position, _ in hold.shape.demand)


def _ready(state: State, row: int, holds: list[Hold], records: list[PodRecord]) -> float:
    """Return when all that is kept on a node has come, if pods end when they are expected to; those that are backfilled are gone by then."""
    left, there = list(state.nodes.free[row]), state.backfill.there
    ends: list[tuple[float, PodRecord]] = []
    for record in records:
        if record.spec.uid in there:
            add_to(left, dense(record.shape.demand, len(left)))
        else:
            ends.append((end(state, record), record))
    if come(left, holds):
        return state.now
    ends.sort(key=lambda one: one[0])
    for when, record in ends:
        add_to(left, dense(record.shape.demand, len(left)))
        if come(left, holds):
            return when
    return UNKNOWN
