"""An application as YARN's scheduler sees it: what it asks for, holds and is owed (Hadoop's ``FSAppAttempt``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from treadle.core.offers.locality import Locality
from treadle.core.offers.requests import Requests
from treadle.core.resources import Vector

if TYPE_CHECKING:
    from treadle.core.offers.nodes import Container, NodeManager
    from treadle.core.offers.tree import OfferQueue


class Attempt:
    """An application. ``managed``: its first container is its master, and until that runs nothing else is placed.

    ``holds`` are the nodes that are held for it. ``going`` is the sum of its containers that were marked as victims.
    ``runnable``: it may run; otherwise it waits for a limit on running applications. Times are in the driver's unit.
    """

    __slots__ = (
        "blacklist",
        "blacklist_for_master",
        "blacklisted_nodes",
        "containers",
        "count",
        "demand",
        "fair_share",
        "going",
        "gone",
        "holds",
        "locality",
        "managed",
        "marked",
        "master_demand",
        "master_running",
        "master_seen",
        "masters_preemptable",
        "maximum",
        "minimum",
        "name",
        "next_check",
        "priority",
        "queue",
        "requests",
        "runnable",
        "share_met_at",
        "short_of_minimum",
        "short_of_share",
        "start",
        "usage",
        "user",
        "weight",
    )

    def __init__(self, name: str, user: str, queue: OfferQueue, start: float, width: int, *, managed: bool) -> None:
        self.name, self.user, self.queue, self.start, self.managed = name, user, queue, start, managed
        self.priority = 1  # FairScheduler has no priorities among applications
        self.weight = 1.0
        self.minimum: Vector | None = None
        self.maximum: Vector | None = None
        self.usage: Vector = [0] * width
        self.demand: Vector = [0] * width
        self.fair_share: Vector = [0] * width
        self.requests = Requests(width)
        self.locality = Locality()
        self.containers: dict[Container, None] = {}
        self.count = 0
        self.holds: dict[NodeManager, Container] = {}
        self.marked: set[Container] = set()
        self.going: Vector = [0] * width
        self.master_running = False
        self.master_seen = False
        self.master_demand: Vector = [0] * width
        self.masters_preemptable = True
        self.runnable = False
        self.gone = False
        self.share_met_at = start
        self.next_check = float("-inf")
        self.short_of_share: Vector = [0] * width
        self.short_of_minimum: Vector = [0] * width
        self.blacklist: set[str] = set()
        self.blacklist_for_master: set[str] = set()
        self.blacklisted_nodes: list[NodeManager] = []

    def outstanding(self) -> Vector:
        """Return the sum of what it asks for."""
        return self.requests.outstanding()

    @property
    def awaits_master(self) -> bool:
        """Whether its master has yet to be given: until then the places to avoid are those for masters."""
        return self.managed and not self.master_seen

    def avoids(self, node: NodeManager) -> bool:
        """Whether it does not want a node, or anything in the node's rack."""
        places = self.blacklist_for_master if self.awaits_master else self.blacklist
        return node.name in places or node.rack in places

    def change_blacklist(self, add: Iterable[str], remove: Iterable[str], nodes: Iterable[NodeManager]) -> None:
        """Add and remove places to avoid. The nodes they stand for in its headroom are those of this moment."""
        places = self.blacklist_for_master if self.awaits_master else self.blacklist
        new = set(add) - places
        places |= new
        left = places.intersection(remove)
        places -= left
        if places is self.blacklist and (new or left):
            self.blacklisted_nodes = [node for node in nodes if self.avoids(node)]

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
