"""An application as YARN's scheduler sees it: what it asks for, holds and is owed (Hadoop's ``FSAppAttempt``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.applicant import Applicant
from treadle.core.rules.locality import Locality
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.nodes import Container, NodeManager
    from offers.tree import OfferQueue


class Attempt(Applicant):
    """An application. ``managed``: its first container is its master, and until that runs nothing else is placed.

    ``holds`` are the nodes that are held for it. ``going`` is the sum of its containers that were marked as victims.
    ``runnable``: it may run; otherwise it waits for a limit on running applications. Times are in the driver's unit.
    """

    def __init__(self, name: str, user: str, queue: OfferQueue, start: float, width: int, *, managed: bool) -> None:
        super().__init__(name, user, start, width, managed=managed)
        self.queue = queue
        self.priority = 1  # FairScheduler has no priorities among applications
        self.weight = 1.0
        self.minimum: Vector | None = None
        self.maximum: Vector | None = None
        self.usage: Vector = [0] * width
        self.demand: Vector = [0] * width
        self.fair_share: Vector = [0] * width
        self.locality = Locality()
        self.holds: dict[NodeManager, Container] = {}
        self.marked: set[Container] = set()
        self.going: Vector = [0] * width
        self.master_running = False
        self.master_demand: Vector = [0] * width
        self.masters_preemptable = True
        self.share_met_at = start
        self.next_check = float("-inf")
        self.short_of_share: Vector = [0] * width
        self.short_of_minimum: Vector = [0] * width

    def holds_in(self, rack: str | None = None) -> int:
        """Return how many nodes are held for it, in a rack or altogether."""
        return sum(rack is None or node.rack == rack for node in self.holds)

    def reserved(self) -> Vector:
        """Return the sum of what is held for it on nodes."""
        total = [0] * len(self.usage)
        for hold in self.holds.values():
            for position, value in enumerate(hold.demand):
                total[position] += value
        return total

    def __repr__(self) -> str:
        return f"Attempt({self.name})"
