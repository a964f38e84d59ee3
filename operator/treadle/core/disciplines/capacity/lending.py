"""Idle nodes of shareable partitions are lent to who asks for the default one (non-exclusive node labels).

A partition lends what its own do not ask for. An application that gets it has no guarantee there and no maximum but the partition
itself, and gives it back when the partition's own want it (preemption). Masters are not placed on what is lent, unless that is
allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.application_partition import shut_out
from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.reservations.in_front import partitions_kept
from treadle.core.kernel.tree.partitions import part_of

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask


def lenders(state: State) -> list[str]:
    """Return the shareable partitions whose own ask for nothing that they could have at present, and in which no room is kept in front of a reservation."""
    roots = state.tree.roots
    shareable = [name for name, exclusive in sorted(state.scheduler.capacity.partitions.items()) if not exclusive]
    kept = partitions_kept(state) if shareable and state.plans.of else ()
    return [name for name in shareable if name not in kept and (name not in roots or not roots[name].active)]


def lending(state: State) -> bool:
    """Whether any partition lends at all."""
    return not all(state.scheduler.capacity.partitions.values())


def may_be_lent(state: State, shape: Shape) -> bool:
    """Whether any partition could ever lend something to pods of a shape."""
    return _asks_default(state, shape) and lending(state)


def can_lend(state: State, shape: Shape) -> bool:
    """Whether a node of a shareable partition could take a pod of a shape that asks for the default one."""
    return any(_row(state, shape, partition) >= 0 for partition in lenders(state)) if _asks_default(state, shape) else False


def lend(state: State, ask: Ask) -> tuple[int, Application] | None:
    """Return the node of another partition for a pod that asks for the default one, and what of its application it counts in; None without one."""
    if not _asks_default(state, ask.shape) or (ask.master and not state.scheduler.capacity.masters_share_partitions):
        return None
    for partition in lenders(state):
        row = _row(state, ask.shape, partition)
        if row >= 0:
            part = part_of(state, ask.application, partition)
            if _may_have(part, partition):
                return row, part
    return None


def _asks_default(state: State, shape: Shape) -> bool:
    return shape.asked.partition == (state.scheduler.partition_label, "")


def _row(state: State, shape: Shape, partition: str) -> int:
    lent = state.shapes.within(shape, (state.scheduler.partition_label, partition))
    return pick(state.nodes, lent, state.score)


def _may_have(part: Application, partition: str) -> bool:
    """Whether the leaf does not keep partitions apart, and the user is below the limit there."""
    quota = quota_of(part)
    if quota is None or shut_out(part, quota.leaf):
        return False
    context = quota.leaf.context
    quota.leaf.users.follow(partition)
    limit = quota.leaf.users.limit(quota.user.name, partition, within=False)
    return not context.calculator.more(context.of(partition), quota.used, limit)
