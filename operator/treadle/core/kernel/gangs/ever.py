"""Which pods of a gang a node could have at all, were ours gone from it: one that none could have does not keep back the others, where they are as many as the gang starts with.

What a node could have changes with nodes and with others' pods, of which no gang is woken. So gangs that wait and have pods to spare are looked at from time to time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import asks_of
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.tree.order import unpark
from treadle.core.units.resources import held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask

INTERVAL = 3.0
"""Seconds between two looks at the gangs that have pods to spare."""
LOOKS = 64
"""Gangs that are looked at at one time, in turn."""


def never_placed(state: State, asks: Iterable[Ask]) -> list[Ask]:
    """Return the asks of which no node could have a pod."""
    return [one for one in asks if not possible(state, one.shape)]


def possible(state: State, shape: Shape) -> bool:
    """Whether a node could have a pod of a shape if all of ours left."""
    nodes = state.nodes
    usable = nodes.mask(shape.constraints)
    if bool((usable & fitting(nodes.columns()[:, : len(nodes)], shape.demand)).any()):
        return True
    for row in np.flatnonzero(usable & fitting(_allocatable(state), shape.demand)).tolist():
        have, others = nodes.allocatable[row], nodes.others_on(row)
        if others is None or all(have[position] - others[position] >= value for position, value in shape.demand):
            return True
    return False


def _allocatable(state: State) -> NDArray[np.int64]:
    """Return what nodes have by type and row, made anew when a node was edited."""
    nodes, kept = state.nodes, state.gangs
    width = len(nodes.total)  # of all vectors, which may be longer than there are types
    key = (nodes.edited.end, len(nodes), width)
    if kept.allocatable is None or kept.allocatable[0] != key:
        rows = np.array([held(have) for have in nodes.allocatable], dtype=np.int64)
        kept.allocatable = (key, rows.reshape(len(nodes), width).T)
    return kept.allocatable[1]


def next_look(state: State) -> float | None:
    """Return when it is looked again at the gangs that have pods to spare, None while none waits."""
    return state.gangs.spare_looked + INTERVAL if state.gangs.spare else None


def look_again(state: State) -> None:
    """Let gangs compete again that wait, where other pods of theirs than before are those that no node could have."""
    when, spare = next_look(state), state.gangs.spare
    if when is None or state.now < when:
        return
    state.gangs.spare_looked = state.now
    for gang in list(spare)[:LOOKS]:
        before = spare.pop(gang)
        application = state.applications.get(gang[0])
        asks = [ask for part in application.everywhere() for ask in asks_of(part, gang)] if application is not None else []
        if len(asks) < 2 or gang in state.gangs.complete:
            continue
        spare[gang] = tuple(one.shape.id for one in never_placed(state, asks))
        if set(spare[gang]) != set(before):
            for ask in asks:
                if ask.wait is not None:
                    unpark(ask)
