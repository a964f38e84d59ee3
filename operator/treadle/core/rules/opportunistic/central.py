"""Nodes for opportunistic containers, chosen by one who knows all queues (Hadoop's ``CentralizedOpportunisticContainerAllocator``).

Requests are served by priority, each at its nodes first, then at its racks, then anywhere among the least loaded. What finds no room in the queues stays outstanding.
As in Hadoop a node is no more than preferred, and partitions are not looked at: whoever asks keeps the loads of each partition apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from treadle.core.rules.opportunistic.node_loads import NodeLoads
from treadle.core.rules.opportunistic.requests import ANY, Key, Outstanding, Placed, Request, Size

NO_CAP = -1


class Central:
    """Places what applications ask for; ``most`` is how much an application may get in one call (``max.container-allocation.per.am.heartbeat``)."""

    def __init__(self, loads: NodeLoads, most: int = NO_CAP) -> None:
        self.loads = loads
        self.most = most

    def allocate(self, wanted: Outstanding, start: Callable[[], int] = lambda: 0) -> list[Placed]:
        """Return what was placed, in the order of its requests. ``start`` says for each container where among the best nodes the search begins."""
        placed: list[Placed] = []
        for key in wanted.in_order():
            left = self.most - len(placed) if self.most > 0 else NO_CAP
            if left == 0:
                break
            placed += self._of_key(wanted, key, left, start)
        wanted.match(placed)
        return placed

    def _of_key(self, wanted: Outstanding, key: Key, most: int, start: Callable[[], int]) -> list[Placed]:
        found: dict[Size, list[Placed]] = {}
        for request in wanted.of(key):
            so_far = sum(len(each) for each in found.values())
            if most > 0 and so_far >= most:
                break
            left = self.left(request, found)
            count = left if most < 0 else min(left, most - so_far)
            for one in self._of_request(wanted, request, count, start):
                found.setdefault(request.size, []).append(one)
        return [one for each in found.values() for one in each]

    def left(self, request: Request, _found: dict[Size, list[Placed]]) -> int:
        """Return how many of a request are to be placed, where those of its key in ``_found`` were."""
        return request.count

    def _of_request(self, wanted: Outstanding, request: Request, count: int, start: Callable[[], int]) -> Iterator[Placed]:
        """Yield containers as they are counted on nodes, ``count`` at most."""
        loads, avoided, size = self.loads, wanted.avoided, request.size
        for name in wanted.preferred(request.nodes):
            for _ in range(min(request.nodes[name], count)):
                if not loads.take(name, avoided, size):
                    break
                count -= 1
                yield wanted.place(request, name, name)
        for rack in wanted.preferred(request.racks):
            for _ in range(min(request.racks[rack], count)):
                node = loads.take_on_rack(rack, avoided, size)
                if node is None:
                    break
                count -= 1
                yield wanted.place(request, node, rack)
        for _ in range(count):
            node = loads.take_any(avoided, size, start())
            if node is None:
                break
            yield wanted.place(request, node, ANY)
