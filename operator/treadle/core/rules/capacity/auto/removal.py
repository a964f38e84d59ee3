"""Queues that were made go when no application uses them (Hadoop's ``AutoCreatedQueueDeletionPolicy``).

A queue without applications, or without child queues, is marked in one round and removed in the next one if it could still go
then and was idle for long enough. If it was not, it has to be marked again. So every level takes two rounds.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree


def removable(queue: CapacityQueue) -> bool:
    """Whether a queue was made, is empty, and may go."""
    empty = not queue.children if queue.parental else queue.applications == 0
    return queue.dynamic and empty and queue.spec.flexible.removal is not False


class Removal:
    """Rounds of removal. ``marked`` are the paths of the queues that may go in the next one."""

    def __init__(self) -> None:
        self.marked: frozenset[str] = frozenset()

    def mark(self, queues: Iterable[CapacityQueue]) -> list[CapacityQueue]:
        """Mark those of all queues, or of those that were made, that may go, and return those that were marked before, whose mark ends."""
        found = [queue for queue in queues if removable(queue)]
        due = [queue for queue in found if queue.path in self.marked]
        self.marked = frozenset(queue.path for queue in found) - self.marked
        return due

    def round(self, tree: CapacityTree, now: float) -> list[CapacityQueue]:
        """Mark queues, remove those that were marked before and idle for long enough, and return these."""
        idle = tree.context.settings.idle_before_removal
        gone = [queue for queue in self.mark(tree.root.walk()) if now - queue.last_submitted >= idle]
        for queue in gone:
            tree.remove(queue)
        return gone
