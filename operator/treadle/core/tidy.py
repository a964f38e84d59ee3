"""What is given up between two passes: shapes that no pod has any more, and the rows of nodes that are gone.

Both are made by whoever uses the cluster, as many as they like in the course of time, and each costs something at every look over all of them.
A look costs a step for each pod, so it is made when what there is may have doubled since the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.state import State


def tidy(state: State) -> None:
    """Give up what has grown old, if there is much of it."""
    if state.shapes.crowded:
        prune(state)
    if state.nodes.sparse:
        close_up(state)


def prune(state: State) -> None:
    """Forget the shapes that no pod has, and what was found out for them."""
    used = {record.shape for record in state.pods.values()}
    state.shapes.prune(used)
    state.nodes.keep(used)


def close_up(state: State) -> None:
    """Give every node a row among the first ones, and bring everything up to date that goes by rows."""
    moved = state.nodes.close_up()
    for record in state.pods.values():
        if record.node >= 0:
            record.node = moved[record.node]
    preemption = state.preemption
    for hold in preemption.holds:
        hold.row = moved[hold.row]
    preemption.rests = {moved[row]: until for row, until in preemption.rests.items() if moved[row] >= 0}
