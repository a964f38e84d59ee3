"""What steps of the kernel keep from one pass to the next, each for itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.rules.running import RunningLimits

if TYPE_CHECKING:
    from treadle.core.kernel.devices.counting import Stock
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord
    from treadle.core.model.devices import Counts
    from treadle.core.rules.placement.rules import Request


@dataclass(slots=True)
class Updates:
    """What following the cluster and its definitions keeps (``kernel.update``, ``kernel.tree.demand``)."""

    at: float = float("-inf")
    """When totals and limits last followed the nodes."""
    cluster_changed: bool = True
    """Whether nodes, or what foreign pods hold of them, changed since."""
    limits_changed: bool = True
    """Whether limits may have changed since the last pass."""
    resolved_types: int = 0
    """How many resource types were known when all limits were last resolved."""
    shares_at: float = float("-inf")
    """When the shares were last computed for those who show them."""
    demands_at: float = float("-inf")
    """When demands and instantaneous shares were last computed, and after which event."""
    demands_cause: int = -1
    demands: dict[Application, None] | None = None
    """Applications whose demand changed since it was last followed; None while the order of no queue depends on demands."""
    demands_stale: bool = False
    """Whether all demands have to be computed anew before they are followed."""


@dataclass(slots=True)
class Assignment:
    """What giving applications their queues keeps (``kernel.assign``)."""

    asked: dict[str, Request] = field(default_factory=dict)
    """What the placement rules were last asked for an application that they placed, by its id."""
    asked_running: dict[Application, None] = field(default_factory=dict)
    """Applications that ran when it was last asked where they belong."""
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The groups of an application's user, by the application's id; those without any are left out."""
    unplaced: dict[Application, None] = field(default_factory=dict)
    """Applications that no queue takes."""
    refused: dict[Application, str] = field(default_factory=dict)
    """Running applications that were to move and may not, and why."""
    refused_at: float = float("-inf")
    """When those were last looked at."""


@dataclass(slots=True)
class Tenants:
    """What is counted by namespace, and who is held off (``kernel.tenants``)."""

    applications: Counter[str] = field(default_factory=Counter)
    """Applications in queues of which no pod is on a node."""
    pods: Counter[str] = field(default_factory=Counter)
    """Pods that wait in queues."""
    held: dict[str, dict[Application, None]] = field(default_factory=dict)
    """Applications beyond a limit, in the order in which they came."""
    without_queue: dict[Application, None] = field(default_factory=dict)
    """Applications whose queue was not made, since their namespace has as many as it may."""
    made: dict[str, str] = field(default_factory=dict)
    """For which namespace a queue was made, by its path."""
    looked_at: float = float("-inf")


@dataclass(slots=True)
class Admission:
    """What decides which applications may run (``kernel.tree.admission``)."""

    running: RunningLimits[Application] = field(default_factory=RunningLimits)
    newcomers: dict[Application, None] = field(default_factory=dict)
    """Applications that came into a queue since the last pass, which decides whether they may run."""


@dataclass(slots=True)
class Locality:
    """Which asks wait for places that their pods would like (``kernel.locality``)."""

    until: dict[Ask, float] = field(default_factory=dict)
    """Those that wait, and until when."""
    timers: list[tuple[float, int, Ask]] = field(default_factory=list)
    seen: int = 0
    """How far the log of improved nodes has been read for them."""


@dataclass(slots=True)
class Delays:
    """What placement constraints with delays keep (``kernel.pods.delays``).

    ``since`` is when pods with such constraints began to wait, by uid, and ``then`` when they are looked at next; ``timers`` are these times in a heap.
    """

    since: dict[str, float] = field(default_factory=dict)
    then: dict[str, float] = field(default_factory=dict)
    timers: list[tuple[float, str]] = field(default_factory=list)

    def forget(self, uid: str) -> None:
        """Forget a pod that is no more."""
        if self.since:
            self.since.pop(uid, None)
            self.then.pop(uid, None)


@dataclass(slots=True)
class DeviceCharges:
    """What charging pods for their devices keeps (``kernel.pods.device_charges``)."""

    stock: Stock
    """How many devices there are."""
    of: dict[str, tuple[PodRecord, Counts]] = field(default_factory=dict)
    """The pod that is charged for a claim, by its key, and for how much."""
    by_pod: dict[str, dict[str, Counts]] = field(default_factory=dict)
    """The same by the uid of the pod."""
