"""What is known of the queues at nodes, and which node gets the next container (Hadoop's ``NodeQueueLoadMonitor``).

Nodes tell how many containers wait there, or how long one would wait. They are put in order from time to time; between two reports what is placed is
counted, so that a node does not get everything before it can say so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from treadle.core.units.amounts import add_to, beyond, fits
from treadle.core.units.resources import CPU, MEMORY, Vector


class LoadOrder(Enum):
    """What makes a node better than another (``load-comparator``)."""

    QUEUE_LENGTH = "QUEUE_LENGTH"
    QUEUE_WAIT_TIME = "QUEUE_WAIT_TIME"
    QUEUE_LENGTH_THEN_RESOURCES = "QUEUE_LENGTH_THEN_RESOURCES"


UNKNOWN = -1
"""The wait of a node that does not estimate it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a node tells: ``queued`` containers wait there and ``queue_capacity`` may, a new one would wait ``wait`` ms."""

    queued: int
    queue_capacity: int
    wait: int = UNKNOWN
    size: Sequence[int] = ()
    used: Sequence[int] = ()
    leaving: bool = False
    """It is being decommissioned."""


@dataclass(slots=True)
class NodeLoad:
    """A node that may be chosen. ``told`` is when it last reported."""

    name: str
    queued: int
    queue_capacity: int
    wait: int
    size: Vector
    used: Vector
    told: float

    @property
    def available(self) -> Vector:
        """What is not used, by the last report and what was placed since."""
        return beyond(self.size, self.used)

    def enqueue(self) -> bool:
        """Count one more that waits, if it may."""
        if self.queued >= self.queue_capacity:
            return False
        self.queued += 1
        return True


class NodeLoads:
    """The nodes, the order in which they were last put, and which one is taken."""

    def __init__(self, order: LoadOrder = LoadOrder.QUEUE_LENGTH, candidates: int = 10) -> None:
        self.order = order
        self.candidates = candidates
        """Among how many of the best any node is chosen (``nodes-used``)."""
        self.loads: dict[str, NodeLoad] = {}
        """Nodes that have reported."""
        self.sorted: list[str] = []
        self._racks: dict[str, dict[str, None]] = {}
        self._rack_of: dict[str, str] = {}

    def add(self, name: str, rack: str) -> None:
        """Know a node. It is eligible when it has reported."""
        self._rack_of[name] = rack
        self._racks.setdefault(rack, {})[name] = None

    def remove(self, name: str) -> None:
        """Forget a node."""
        rack = self._rack_of.pop(name, "")
        self._racks.get(rack, {}).pop(name, None)
        if not self._racks.get(rack):
            self._racks.pop(rack, None)
        self.loads.pop(name, None)

    def report(self, name: str, told: Report, now: float) -> None:
        """Take what a node tells instead of what was counted. How many may wait there is what its first report said. Unknown nodes are not heard."""
        if self.known(name):
            self.take_report(name, told, now)

    def take_report(self, name: str, told: Report, now: float) -> None:
        """Take what any node tells."""
        if told.leaving or (told.wait == UNKNOWN and self.order is LoadOrder.QUEUE_WAIT_TIME):
            self.loads.pop(name, None)
            return
        known = self.loads.get(name)
        capacity = told.queue_capacity if known is None else known.queue_capacity
        self.loads[name] = NodeLoad(name, told.queued, capacity, told.wait, list(told.size), list(told.used), now)

    def sort(self) -> None:
        """Put the nodes that take something in order, the best first."""
        key = self._key()
        self.sorted = [load.name for load in sorted(self.loads.values(), key=key) if self._takes(load)]

    def figures(self) -> list[int]:
        """Return the lengths of the queues of the sorted nodes, or their waits: what their limit follows from."""
        found = [self.loads[name] for name in self.sorted if name in self.loads]
        return [load.wait if self.order is LoadOrder.QUEUE_WAIT_TIME else load.queued for load in found]

    def least_loaded(self, count: int) -> list[str]:
        """Return so many of the best nodes, all of them for a negative number."""
        return self.sorted[:count] if count >= 0 else list(self.sorted)

    def take(self, name: str, avoided: Collection[str], demand: Sequence[int]) -> bool:
        """Count a container on a node, if it may be there."""
        load = self.loads.get(name)
        return self.known(name) and name not in avoided and load is not None and self.count(load, demand)

    def take_on_rack(self, rack: str, avoided: Collection[str], demand: Sequence[int]) -> str | None:
        """Count a container on the first node of a rack that takes it, and return the node."""
        return next((name for name in self.on_rack(rack) if self.take(name, avoided, demand)), None)

    def take_any(self, avoided: Collection[str], demand: Sequence[int], start: int) -> str | None:
        """Count a container on one of the best nodes, the first from number ``start`` on, in a circle, that takes it, and return the node.

        Whoever asks chooses ``start`` so that not all come to the same node: Hadoop draws it by lot.
        """
        found = self.sorted[: self.candidates]
        return next(
            (name for at in range(len(found)) if self.take(name := found[(start + at) % len(found)], avoided, demand)), None
        )

    def on_rack(self, rack: str) -> Iterable[str]:
        """Return the nodes of a rack, in the order in which they came."""
        return list(self._racks.get(rack, ()))

    def known(self, name: str) -> bool:
        """Whether a node was added and not removed."""
        return name in self._rack_of

    def count(self, load: NodeLoad, demand: Sequence[int]) -> bool:
        """Count a container on a node, if its queue or its room allow it."""
        if self.order is LoadOrder.QUEUE_WAIT_TIME:
            return True
        if self.order is LoadOrder.QUEUE_LENGTH:
            return load.enqueue()
        if fits(demand, load.available):
            add_to(load.used, demand)
            return True
        return fits(demand, load.size) and load.enqueue()

    def _key(self) -> Callable[[NodeLoad], tuple[float, ...]]:
        if self.order is LoadOrder.QUEUE_WAIT_TIME:
            return lambda load: (load.wait, -load.told)
        if self.order is LoadOrder.QUEUE_LENGTH:
            return lambda load: (load.queued, -load.told)
        loads = list(self.loads.values())
        total = [sum(amounts) for amounts in zip(*(load.size for load in loads), strict=True)]

        def key(load: NodeLoad) -> tuple[float, ...]:
            free = load.available
            share = min((amount / whole for amount, whole in zip(free, total, strict=True) if whole), default=0.0)
            return (load.queued, -share, -free[CPU], -free[MEMORY], -load.told)

        return key

    def _takes(self, load: NodeLoad) -> bool:
        if load.queue_capacity <= 0:
            return self.order is not LoadOrder.QUEUE_LENGTH_THEN_RESOURCES or load.queued <= 0
        return load.queued < load.queue_capacity
