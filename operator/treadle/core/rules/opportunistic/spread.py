"""Nodes for opportunistic containers, chosen from a list of little loaded ones without a word about their queues (Hadoop's ``DistributedOpportunisticContainerAllocator``).

Keys take turns, one container each in a round, and nodes are not used twice in one call unless a request names them: whoever decides alone,
beside others that do too, spreads what it places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.core.rules.opportunistic.requests import ANY, Key, Outstanding, Placed, Request, Size

NO_CAP = -1


@dataclass(frozen=True, slots=True)
class Offered:
    """A node that may be used."""

    name: str
    rack: str
    partition: str = ""


class Spread:
    """Places what applications ask for; ``most`` is how much an application may get in one call."""

    def __init__(self, most: int = NO_CAP) -> None:
        self.most = most

    def allocate(self, wanted: Outstanding, nodes: Sequence[Offered]) -> list[Placed]:
        """Return what was placed on ``nodes``, which come in the order in which they are preferred."""
        offered = {node.name: node for node in nodes}
        used: set[str] = set()
        placed: list[Placed] = []
        while found := self._round(wanted, offered, used, self.most - len(placed) if self.most > 0 else NO_CAP):
            wanted.match(found)
            placed += found
        return placed

    def _round(self, wanted: Outstanding, nodes: dict[str, Offered], used: set[str], most: int) -> list[Placed]:
        found: list[Placed] = []
        for key in wanted.in_order():
            if 0 <= most <= len(found):
                break
            found += self._of_key(wanted, key, nodes, used, most - len(found) if most >= 0 else NO_CAP)
        return found

    def _of_key(self, wanted: Outstanding, key: Key, nodes: dict[str, Offered], used: set[str], most: int) -> list[Placed]:
        """One container for each size of a key."""
        found: dict[Size, list[Placed]] = {}
        for request in wanted.of(key):
            if 0 <= most <= len(found) or not nodes:
                break
            if self.left(request, found) > 0:
                place, node = self._node(wanted, request, nodes, used)
                if node is not None:
                    found[request.size] = [wanted.place(request, node.name, place)]
                    used.add(node.name)
        return [one for each in found.values() for one in each]

    def left(self, request: Request, _found: dict[Size, list[Placed]]) -> int:
        """Return how many of a request are to be placed, where those of its key in ``_found`` were."""
        return request.count

    def _node(
        self, wanted: Outstanding, request: Request, nodes: dict[str, Offered], used: set[str]
    ) -> tuple[str, Offered | None]:
        """Return the place of a request that is served and the node for it: at its nodes, at its racks, anywhere."""
        fitting = [node for node in nodes.values() if node.partition == request.partition]
        names = {node.name for node in fitting}
        named = [nodes[name] for name in wanted.preferred(request.nodes) if name in names]
        for node in self.on_nodes(request, named):
            if node.name not in wanted.avoided:
                return node.name, node
        fresh = [node for node in fitting if node.name not in used and node.name not in wanted.avoided]
        near = self.on_racks(request, [node for node in fresh if node.rack in request.racks])
        if near is not None:
            return near.rack, near
        return ANY, next(iter(fresh), None)

    def on_nodes(self, _request: Request, nodes: Sequence[Offered]) -> Sequence[Offered]:
        """Return the nodes that a request names, in the order in which they are tried."""
        return nodes

    def on_racks(self, _request: Request, nodes: Sequence[Offered]) -> Offered | None:
        """Return one of the nodes on a request's racks, None where there is none."""
        return next(iter(nodes), None)
