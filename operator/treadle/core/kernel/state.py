"""Everything the core knows at one moment. Written by ``Core`` alone, read between its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappush

from treadle.core.effects import Placed
from treadle.core.kernel.backfill.memory import Backfill
from treadle.core.kernel.devices.binding import Reservations
from treadle.core.kernel.devices.counting import Stock
from treadle.core.kernel.gangs.memory import Gangs
from treadle.core.kernel.journal import Story
from treadle.core.kernel.memory import Admission, Assignment, Delays, DeviceCharges, Locality, Tenants, Updates
from treadle.core.kernel.nodes.scores import SCORES, Score
from treadle.core.kernel.nodes.shapes import Shapes
from treadle.core.kernel.nodes.table import Nodes
from treadle.core.kernel.opportunistic.memory import Opportunistic
from treadle.core.kernel.periodic.memory import Lifetimes, Refused, Reports
from treadle.core.kernel.pods.table import PodTable
from treadle.core.kernel.preemption.memory import Preemption
from treadle.core.kernel.reservations.memory import Plans
from treadle.core.kernel.seam import Discipline
from treadle.core.kernel.together.memory import Together
from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
from treadle.core.kernel.tree.tree import QueueTree
from treadle.core.kernel.tree.waiting_users import UsersAtLimit
from treadle.core.kernel.volumes.binding import Claims
from treadle.core.model import ApplicationSpec, PodSpec, SchedulerSpec, Settings
from treadle.core.rules.policies import Cluster
from treadle.core.units.resources import UNBOUNDED, Demand, ResourceTypes, extend

Timer = tuple[float, int, "PodRecord | Ask"]


@dataclass(slots=True)
class State:
    """The state of the core: what there is, and what each step keeps for itself, under the name of its owner."""

    settings: Settings = field(default_factory=Settings)
    scheduler: SchedulerSpec = field(default_factory=SchedulerSpec)
    cause: int = 0
    """The number of the event that is being handled, or was last."""
    now: float = 0.0

    # what there is
    types: ResourceTypes = field(default_factory=ResourceTypes)
    nodes: Nodes = field(init=False)
    shapes: Shapes = field(init=False)
    cluster: Cluster = field(init=False)
    tree: QueueTree = field(init=False)
    pods: PodTable = field(default_factory=PodTable)
    """By uid."""
    excess_types: dict[str, PodSpec] = field(default_factory=dict)
    """Pods that ask for more resource types than are taken up, as the API has them, by uid."""
    applications: dict[str, Application] = field(default_factory=dict)
    """By id."""
    explicit: dict[str, ApplicationSpec] = field(default_factory=dict)
    """Application objects, by the same ids."""
    namespaces: dict[str, str] = field(default_factory=dict)
    """The queue that a namespace names."""

    # how it is shared
    discipline: Discipline = field(init=False)
    """The discipline in force, which is not the one that is asked for if the tree lacks what that needs: ``discipline_problem`` says so then."""
    discipline_problem: str = ""

    # what has changed since it was last looked at
    dirty: dict[Application, None] = field(default_factory=dict)
    """Applications whose usage fell."""
    relieved: dict[Queue, None] = field(default_factory=dict)
    """Queues whose usage fell while asks wait for that."""
    left: dict[Queue, None] = field(default_factory=dict)
    """Queues that an application left, or that go on with other definitions: their place in the order is out of date."""
    masters_waiting: dict[Queue, None] = field(default_factory=dict)
    """Leaves in which masters wait for a share, or did lately."""
    masters_relieved: dict[Queue, None] = field(default_factory=dict)
    """Leaves whose masters hold less than before, or may hold more, while others wait for that."""
    contended: dict[Queue, UsersAtLimit] = field(default_factory=dict)
    """Leaves in which users have come to their limits."""

    # what the steps keep
    updates: Updates = field(default_factory=Updates)
    assignment: Assignment = field(default_factory=Assignment)
    admission: Admission = field(default_factory=Admission)
    tenants: Tenants = field(default_factory=Tenants)
    locality: Locality = field(default_factory=Locality)
    preemption: Preemption = field(default_factory=Preemption)
    gangs: Gangs = field(default_factory=Gangs)
    backfill: Backfill = field(default_factory=Backfill)
    together: Together = field(default_factory=Together)
    claims: Claims = field(default_factory=Claims)
    delays: Delays = field(default_factory=Delays)
    reservations: Reservations = field(default_factory=Reservations)
    """Pods that are placed and whose claims for devices are being allocated or reserved."""
    device_charges: DeviceCharges = field(init=False)
    extra: dict[str, Demand] = field(default_factory=dict)
    """What pods count for on their nodes beside their demand, by uid (``Shape.extra``)."""
    freed: dict[str, str] = field(default_factory=dict)
    """Claims from which devices were taken for want of a node that suits them, and the version at which."""
    plans: Plans = field(default_factory=Plans)
    """What is promised over time on queues that take reservations."""
    opportunistic: Opportunistic = field(default_factory=Opportunistic)
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    reports: Reports = field(default_factory=Reports)
    refused: Refused = field(default_factory=Refused)
    story: Story = field(default_factory=Story)
    timers: list[Timer] = field(default_factory=list)
    expiry: float = float("inf")
    """When a bind may be overdue at the earliest; infinite while none has been made since the last look."""
    adopted_at: float = float("-inf")
    """When a pod of ours that waited was last seen bound by another scheduler: a predecessor whose binds were still on their way."""
    enough_partitions: int = 16
    """With how many partitions that pods have named it is time to see which are in use."""
    decisions: int = 0
    parked: int = 0
    """How often pods that are alike were taken out of the competition, for want of room or by a limit."""
    _sequence: int = 0

    def __post_init__(self) -> None:
        """Make the parts that share the resource types."""
        self.nodes = Nodes(self.types)
        self.shapes = Shapes(self.types, self.nodes)
        self.device_charges = DeviceCharges(Stock(self.shapes.devices))
        self.tree = QueueTree(self.types)
        self.cluster = Cluster.of(self.nodes.total)

    @property
    def waiting(self) -> int:
        """How many pods wait, or will again."""
        return self.pods.waiting

    @property
    def assumed(self) -> int:
        """How many pods have a node that the API server has not confirmed."""
        return self.pods.assumed

    @property
    def bound(self) -> int:
        """How many pods are on nodes, those of others included."""
        return self.pods.bound

    @property
    def score(self) -> Score:
        """The score that the settings ask for."""
        return SCORES[self.scheduler.scoring]

    def record(self, subject: str, what: str, detail: str = "") -> None:
        """Add a step to the story, caused by the event being handled."""
        self.story.add((self.cause, self.now, subject, what, detail))

    def decided(self, binds: Sequence[Placed]) -> None:
        """Note placements: pods that waited and are assumed now. The sequence is not changed afterwards."""
        count = len(binds)
        if not count:
            return
        self.story.placed(self.now, binds)
        self.pods.decided(count)
        self.decisions += count
        if self.expiry == float("inf"):
            self.expiry = self.now + self.settings.expire_after

    def number(self) -> int:
        """Return the next number of a sequence, for orders of arrival."""
        self._sequence += 1
        return self._sequence

    def wake_at(self, when: float, what: PodRecord | Ask) -> None:
        """Look at a pod or an ask again at a time."""
        heappush(self.timers, (when, self.number(), what))

    def widen(self) -> None:
        """Lengthen all vectors after a new resource type appeared."""
        width = self.types.width
        if len(self.tree.root.usage) == width and len(self.cluster.total) == width:
            return
        self.nodes.widen()
        extend(self.cluster.total, width)
        for queue in self.tree.everywhere():
            for vector in (
                queue.usage,
                queue.demand,
                queue.pending,
                queue.demand_below,
                queue.fair_share,
                queue.steady_share,
                queue.instant_share,
            ):
                extend(vector, width)
            extend(queue.master_usage, width)
            extend(queue.maximum, width, UNBOUNDED)
            if queue.largest is not None:
                extend(queue.largest, width, UNBOUNDED)
            if queue.minimum is not None:
                extend(queue.minimum, width)
        for application in (one for whole in self.applications.values() for one in whole.everywhere()):
            for vector in (application.usage, application.demand, application.instant_share):
                extend(vector, width)
        self.discipline.limits.widened()
        self.updates.cluster_changed = True
        self.updates.at = float("-inf")
