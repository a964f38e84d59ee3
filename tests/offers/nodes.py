"""A node manager: what it has, what runs on it, the hold on it, and what was promised to those that others are ended for.

Hadoop's ``SchedulerNode`` and ``FSSchedulerNode``. A container that the node has reported as launched keeps its room until the
node reports its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from offers.requests import Key
from treadle.core.units.amounts import add_to, least, loosely_beyond, minus, plus, take_from
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.attempt import Attempt


class Container:
    """A container that an application was given, or, while it waits for room, the one that is held for it.

    ``owner`` is the application as the discipline knows it. ``ordinal`` counts within the application. ``partition`` is the one
    that was asked for, ``since`` when it was given or held.
    """

    __slots__ = ("demand", "ended", "key", "master", "moved", "node", "ordinal", "owner", "partition", "sequence", "since")

    def __init__(self, owner: Any, node: NodeManager, key: Key, demand: Sequence[int], sequence: int) -> None:
        self.owner, self.node, self.key, self.demand = owner, node, key, demand
        self.sequence = sequence
        self.ordinal = 0
        self.master = False
        self.ended = False
        self.partition = ""
        self.since = 0.0
        self.moved = False

    def __repr__(self) -> str:
        return f"{self.owner.name}#{self.ordinal}"


InOrder = Callable[["NodeManager"], Iterable[Container]]
"""Says in which order the containers of a node are looked at when victims are sought; masters come last in any case."""


def newest_first(node: NodeManager) -> list[Container]:
    """Return the containers of a node, the one allocated last first: it has done the least work."""
    return sorted(node.containers, key=lambda container: -container.sequence)


class NodeManager:
    """A node. ``containers`` says of each whether the node has reported it; ``promised`` is by the application that waits for it.

    ``peak`` is the largest number of containers that it ever had at once.
    """

    __slots__ = (
        "containers",
        "free",
        "hold",
        "killable",
        "launching",
        "marked",
        "name",
        "order",
        "partition",
        "peak",
        "promised",
        "rack",
        "removed",
        "reported",
        "total",
        "used",
    )

    def __init__(self, name: str, rack: str, total: Sequence[int], order: InOrder = newest_first) -> None:
        self.name, self.rack = name, rack
        self.total: Vector = list(total)
        self.free: Vector = list(total)
        self.used: Vector = [0] * len(self.total)
        self.containers: dict[Container, bool] = {}
        self.hold: Container | None = None
        self.marked: set[Container] = set()
        self.promised: dict[Attempt, Vector] = {}
        self.launching: list[Container] = []
        self.reported: list[Container] = []
        self.order = order
        self.peak = 0
        self.partition = ""
        self.killable: dict[Container, None] = {}
        self.removed = False

    def resize(self, total: Sequence[int]) -> None:
        """Take over another size; what is free may become negative."""
        self.total = list(total)
        self.free = minus(self.total, self.used)

    def put(self, container: Container) -> None:
        """Let a container in, and count it against what was promised to its application here."""
        self.containers[container] = False
        self.peak = max(self.peak, len(self.containers))
        take_from(self.free, container.demand)
        add_to(self.used, container.demand)
        owed = self.promised.get(container.owner)
        if owed is not None:
            take_from(owed, least(owed, container.demand))
            if not any(owed):
                del self.promised[container.owner]

    def release(self, container: Container, *, by_node: bool) -> None:
        """Let a container go: at once if it was never launched or the node itself reports it, else when the node does."""
        launched = self.containers.get(container)
        if launched is None:
            return
        self.marked.discard(container)
        if launched and not by_node:
            return
        self.killable.pop(container, None)
        del self.containers[container]
        add_to(self.free, container.demand)
        take_from(self.used, container.demand)

    def mark(self, containers: Iterable[Container], wanting: Attempt) -> None:
        """Note victims that were chosen for a starved application: their room is promised to it."""
        new = [container for container in containers if container not in self.marked]
        self.marked.update(new)
        promise = [0] * len(self.total)
        for container in new:
            add_to(promise, container.demand)
        if any(promise):
            self.promised[wanting] = plus(self.promised.get(wanting, [0] * len(promise)), promise)

    def promises(self, still: Callable[[Attempt], bool]) -> list[tuple[Attempt, Vector]]:
        """Return who waits here for which amount, in the order in which it was promised; forgets those that do not need it any more."""
        for wanting in [wanting for wanting in self.promised if not still(wanting)]:
            del self.promised[wanting]
        return [(wanting, list(amount)) for wanting, amount in self.promised.items()]

    def room(self) -> Vector:
        """Return what is free, neither held nor promised."""
        promised = [0] * len(self.total)
        for amount in self.promised.values():
            add_to(promised, amount)
        if self.hold is not None:
            add_to(promised, self.hold.demand)
        return loosely_beyond(self.free, promised)

    def candidates(self) -> list[Container]:
        """Return the containers that might be taken, in the node's order but masters last."""
        here = [container for container in self.order(self) if container not in self.marked and not container.owner.gone]
        return [container for container in here if not container.master] + [container for container in here if container.master]

    def __repr__(self) -> str:
        return f"NodeManager({self.name})"
