"""What every application is to the offer driver, whichever discipline decides: requests, containers, places to avoid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from offers.requests import Requests
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.nodes import Container, NodeManager


class Applicant:
    """An application. ``managed``: its first container is its master. ``runnable``: no limit on running applications keeps it waiting."""

    def __init__(self, name: str, user: str, start: float, width: int, *, managed: bool) -> None:
        self.name, self.user, self.start, self.managed = name, user, start, managed
        self.requests = Requests(width)
        self.containers: dict[Container, None] = {}
        self.count = 0
        self.master_seen = False
        self.runnable = False
        self.gone = False
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
