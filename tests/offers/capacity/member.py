"""An application of the capacity discipline in the offer driver (Hadoop's ``FiCaSchedulerApp``)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from offers.applicant import Applicant
from offers.requests import ANY, Key
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.nodes import Container, NodeManager


class Member(Applicant, CapacityApplication):
    """An application. ``chances`` and ``missed`` count the nodes that a key was offered, altogether and while it asks for the default partition.

    ``holds`` are the nodes held for each key, ``held_again`` how often the holds of a key were kept. ``numbers`` counts its
    containers and holds, ``peak`` is the largest number of containers that it ever had at once.
    """

    def __init__(self, name: str, user: str, leaf: CapacityQueue, order: int, priority: int, *, managed: bool) -> None:
        CapacityApplication.__init__(self, name, user, leaf, order, priority)
        Applicant.__init__(self, name, user, float(order), leaf.context.width, managed=managed)
        self.chances: Counter[Key] = Counter()
        self.missed: Counter[Key] = Counter()
        self.held_again: Counter[Key] = Counter()
        self.holds: dict[Key, dict[NodeManager, Container]] = {}
        self.numbers = 0
        self.peak = 0

    @property
    def queue(self) -> CapacityQueue:
        """Its leaf."""
        return self.leaf

    def asked(self, key: Key) -> int:
        """Return how many containers are still to be given for a key."""
        return self.requests.count(key, ANY)

    def all_holds(self) -> list[Container]:
        """Return the containers that are held for it."""
        return [hold for holds in self.holds.values() for hold in holds.values()]

    def partitions_asked(self) -> set[str]:
        """Return the partitions that it ever asked for."""
        return self.requests.partitions

    def pending(self, partition: str) -> Vector:
        """Return what it asks for of a partition, to read."""
        found = self.usage.partitions.get(partition)
        return [0] * self.usage.width if found is None else found.pending

    def __repr__(self) -> str:
        return f"Member({self.name})"
