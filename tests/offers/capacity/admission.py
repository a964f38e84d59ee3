"""Which leaf takes an application: the one that it names, or one that is made for it (Hadoop's ``CapacityScheduler.addApplication``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.capacity import membership
from offers.effects import Rejected
from treadle.core.rules.capacity.auto.creation import CreationRefused, create
from treadle.core.rules.capacity.queue import CapacityQueue

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld


def leaf_for(world: CapacityWorld, name: str, user: str, queue: str, *, placed: bool) -> CapacityQueue | None:
    """Return the leaf for an application; ``None`` where it is rejected, which is among the effects then.

    A queue that exists is found by a path that starts with the own name of one above it; Hadoop makes it once more. Leaves of
    managed parents are only for applications that a mapping rule ``placed``. Hadoop makes such a leaf before it says so, and says
    twice that it could not make one for an application that was placed.
    """
    root = world.tree.root
    if root.applications >= world.settings.max_applications:
        why = f"the cluster has {root.applications} applications, which is the limit (maximum-applications)"
    else:
        found = _found_or_made(world, queue, placed=placed)
        if isinstance(found, CapacityQueue):
            why = membership.closed(found, user)
            if not why:
                return found
        else:
            why = found
            if placed and world.as_hadoop and world.tree.find(queue) is None:
                world.effects.append(Rejected(name, "scheduler", why))
    world.effects.append(Rejected(name, "scheduler", why))
    return None


def _found_or_made(world: CapacityWorld, queue: str, *, placed: bool) -> CapacityQueue | str:
    """Return the leaf of a name, or why there is none."""
    tree, only_placed = world.tree, f"{queue} is for applications that a mapping rule places"
    leaf = tree.find(queue)
    if leaf is None and not world.as_hadoop:
        leaf = tree.find(tree.full_path(queue))
    if leaf is None:
        if tree.ambiguous(queue):
            return f"several queues are called {queue}; name its path"
        above = tree.find(queue.rpartition(".")[0])
        if above is not None and above.entitlements is not None and not placed and not world.as_hadoop:
            return only_placed
        try:
            leaf = create(tree, queue, world.now)
        except CreationRefused as error:
            if error.hadoop and world.as_hadoop:
                raise
            return str(error)
    if leaf.parental:
        return f"{queue} is not a leaf queue"
    return only_placed if leaf.entitled and not placed else leaf
