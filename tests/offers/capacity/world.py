"""What the capacity driver knows at one moment, shared by its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from offers.capacity.member import Member
from offers.effects import Effect
from offers.nodes import Container, InOrder, NodeManager
from treadle.core.model.capacity import CapacitySettings
from treadle.core.rules.capacity.auto.managed import InOrder as InOrderOfSubmission
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityQueue, by_submission
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.rules.running import RunningLimits
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import Vector


def oldest_first(node: NodeManager) -> list[Container]:
    """Return the containers of a node in the order in which they came."""
    return list(node.containers)


def holds_of(member: Member) -> list[Container]:
    """Return the holds of an application in the order in which it got them."""
    return member.all_holds()


def containers_of(member: Member) -> list[Container]:
    """Return the containers of an application in the order in which it got them."""
    return list(member.containers)


@dataclass(slots=True)
class CapacityOrders:
    """Orders that the rules leave open; Hadoop has those of its hash tables, and whoever replays it passes them in.

    ``nodes``: which of the nodes held for an application is given up first, and which are looked at first for victims.
    ``queues``: siblings after a refresh. ``leaves``: in which order victims are sought in leaves. ``containers``: those on a node
    when victims are sought there. ``ends``: those of an application when all of them end. ``holds``: its holds when victims are
    sought among them. ``submissions``: which applications came first.
    """

    nodes: Callable[[Sequence[NodeManager]], Sequence[NodeManager]] = list
    queues: Callable[[Sequence[CapacityQueue]], Sequence[CapacityQueue]] = list
    leaves: Callable[[Sequence[str]], Sequence[str]] = list
    containers: InOrder = oldest_first
    ends: Callable[[Member], Sequence[Container]] = containers_of
    holds: Callable[[Member], Sequence[Container]] = holds_of
    submissions: InOrderOfSubmission = by_submission


@dataclass(slots=True)
class CapacityWorld:
    """The state of the driver.

    ``as_hadoop``: its defects are kept (docs/deviations.md names them).
    """

    context: Context
    tree: CapacityTree
    running: RunningLimits[Member]
    orders: CapacityOrders = field(default_factory=CapacityOrders)
    nodes: dict[str, NodeManager] = field(default_factory=dict)
    racks: dict[str, list[NodeManager]] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    now: float = 0.0
    sequence: int = 0
    submitted: int = 0
    as_hadoop: bool = False

    @property
    def settings(self) -> CapacitySettings:
        """The cluster-wide settings."""
        return self.context.settings

    @property
    def allocated(self) -> Vector:
        """What all queues hold together."""
        return self.tree.root.usage.all_used()

    def cluster_changed(self) -> None:
        """Add the nodes up, by partition and for the largest container, and let the queues follow.

        They follow twice, as Hadoop's do, whose label manager tells of every node once more: what a pass finds out comes into the
        shares of the next.
        """
        context = self.context
        context.total = context.none()
        context.partitions = {}
        for node in self.nodes.values():
            add_to(context.total, node.total)
            add_to(context.partitions.setdefault(node.partition, context.none()), node.total)
        context.largest = list(context.most)
        for position in range(context.width):
            if self.nodes:
                largest = max(node.total[position] for node in self.nodes.values())
                context.largest[position] = min(context.most[position], largest)
        for _ in range(2):
            self.tree.follow()
