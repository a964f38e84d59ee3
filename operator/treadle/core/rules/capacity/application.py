"""An application as the rules of the capacity discipline see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.rules.capacity.usage import Usage
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.rules.capacity.users import User


class CapacityApplication:
    """Who asks, in which leaf, how urgently; ``order`` counts submissions.

    ``partition`` is the one that it was submitted for as a whole. ``ranked_usage`` and ``ranked_pending`` are the memory by which a fair leaf last ranked it. ``headroom_from`` is where its headroom was
    last looked at.
    """

    def __init__(self, name: str, user: str, leaf: CapacityQueue, order: int, priority: int) -> None:
        self.name, self.user, self.leaf, self.order, self.priority = name, user, leaf, order, priority
        self.start = float(order)
        self.usage = Usage(leaf.context.width)
        self.master_demand: Vector = list(leaf.context.least)
        self.master_partition = ""
        self.partition = ""
        self.ranked_usage = 0
        self.ranked_pending = 0
        self.headroom_from: tuple[CapacityQueue, User] | None = None

    def reserved(self, partition: str) -> Vector:
        """Return what is held for it in a partition, to read."""
        found = self.usage.partitions.get(partition)
        return [0] * self.usage.width if found is None else found.reserved
