"""What is given up between two passes: shapes that no pod has any more, the rows of nodes that are gone, and partitions that no application is in.

All are made by the cluster's users, as many as they like in the course of time, and each costs something at every look over all
of them. A look costs a step for each pod, so it is made when what there is may have doubled since the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.tree.partitions import leave

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

ENOUGH = 16
"""Partitions up to which it is not asked whether they are in use: pods may name any."""


def tidy(state: State) -> None:
    """Give up what has grown old, if there is much of it."""
    if state.shapes.crowded:
        prune(state)
    if state.nodes.sparse:
        close_up(state)
    if len(state.tree.roots) > state.enough_partitions:
        leave_partitions(state)
        state.enough_partitions = max(ENOUGH, 2 * len(state.tree.roots))


def prune(state: State) -> None:
    """Forget the shapes that no pod has, and what was found out for them."""
    used = {record.shape for record in state.pods.values()}
    used |= {shape.together for shape in used if shape.together is not None}
    state.shapes.prune(used)
    state.nodes.keep({shape.constraints for shape in used}, {shape.candidates for shape in used if shape.candidates is not None})


def close_up(state: State) -> None:
    """Give every node a row among the first ones, and bring everything up to date that goes by rows."""
    moved = state.nodes.close_up()
    state.shapes.kinds.close_up(moved)
    for record in state.pods.values():
        if record.node >= 0:
            record.node = moved[record.node]
    state.opportunistic.close_up(moved)
    preemption = state.preemption
    for hold in preemption.holds:
        hold.row = moved[hold.row]
    preemption.left_alone = {moved[row]: until for row, until in preemption.left_alone.items() if moved[row] >= 0}


def leave_partitions(state: State) -> None:
    """Give up what applications and queues are in partitions where they have nothing, but for what is configured or has nodes."""
    used = {record.part for record in state.pods.values()} | {hold.application for hold in state.preemption.holds}
    for application in state.applications.values():
        for name, part in list(application.parts.items()):
            if not part.asks and part not in used:
                leave(state, part)
                part.bury()
                del application.parts[name]
    limits = state.discipline.limits
    known = limits.partitions()
    for name in [name for name, root in state.tree.roots.items() if name not in known and not root.occupied()]:
        del state.tree.roots[name]
        for queue in state.tree.queues.values():
            empty = queue.parts.pop(name, None)
            if empty is not None:
                empty.parent, empty.whole = None, state.tree.root
                empty.children.clear()
                limits.part_gone(queue, name)
