"""Nodes: what pods may use of them, and what decides who may."""

from dataclasses import dataclass, field

from treadle.core.model.opportunistic import NodeWord
from treadle.core.model.queues import Limit


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


NodeImage = tuple[tuple[str, ...], int]
"""An image on a node: its names, and its size in bytes."""


@dataclass(frozen=True, slots=True)
class NodePressure:
    """How long tasks of a node's pods wait, as the node tells: in thousandths of the last ten seconds, by the resource and of whom it tells (Some, Full).

    ``at`` is when that was read, in seconds since 1970.
    """

    waiting: tuple[tuple[tuple[str, str], int], ...]
    at: float


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: what pods may use of it, and what decides who may."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    features: tuple[str, ...] = ()
    """What the kubelet declares that it can do (``status.declaredFeatures``)."""
    headroom: tuple[tuple[str, Limit], ...] = ()
    """What is left to the pods of other schedulers, as the node says itself: amounts, or percentages of what is allocatable."""
    images: tuple[NodeImage, ...] = field(default=(), compare=False)
    """The images that are on the node: nothing that decides which pods may go there."""
    problem: str = ""
    """What the node says that cannot be understood, and is not acted on."""
    over_allocation: NodeWord | None = None
    """How far opportunistic pods may use it, as the node says itself."""
    pressure: NodePressure | None = field(default=None, compare=False)
    """How long tasks of its pods wait, as the node says itself: nothing that decides which pods may go there but opportunistic ones."""
