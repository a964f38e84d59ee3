"""What the offer driver knows at one moment, shared by its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from offers.attempt import Attempt
from offers.effects import Effect
from offers.nodes import InOrder, NodeManager, newest_first
from offers.requests import Ask, Key
from offers.tree import OfferTree
from treadle.core.model import FairSettings
from treadle.core.rules.policies import Cluster
from treadle.core.rules.running import RunningLimits
from treadle.core.units.amounts import minus
from treadle.core.units.resources import ResourceTypes, Vector


@dataclass(slots=True)
class Orders:
    """Orders that the rules leave open; Hadoop has those of its hash tables, and whoever replays it passes them in.

    By default: containers of a node newest first, nodes in the order in which they came, requests by urgency and then as they
    were asked.
    """

    containers: InOrder = newest_first
    nodes: Callable[[Sequence[NodeManager]], Sequence[NodeManager]] = list
    keys: Callable[[Sequence[Key]], Sequence[Key]] = sorted
    places: Callable[[Sequence[Ask]], Sequence[Ask]] = list


@dataclass(slots=True)
class World:
    """The state of the driver. ``allocated`` is what all queues hold; ``available`` is what was left of the cluster when that was last looked at."""

    types: ResourceTypes
    settings: FairSettings
    tree: OfferTree
    running: RunningLimits[Attempt]
    orders: Orders = field(default_factory=Orders)
    nodes: dict[str, NodeManager] = field(default_factory=dict)
    racks: dict[str, list[NodeManager]] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    cluster: Cluster = field(init=False)
    available: Vector = field(init=False)
    effects: list[Effect] = field(default_factory=list)
    now: float = 0.0
    sequence: int = 0

    def __post_init__(self) -> None:
        """Begin without nodes."""
        self.cluster = self.tree.cluster
        self.available = [0] * len(self.types)

    @property
    def allocated(self) -> Vector:
        """What all queues hold together."""
        return self.tree.root.usage

    def look(self) -> None:
        """Look at what is left of the cluster (``updateRootQueueMetrics``)."""
        self.available = minus(self.cluster.total, self.allocated)

    def number(self) -> int:
        """Return the next number of a sequence."""
        self.sequence += 1
        return self.sequence
