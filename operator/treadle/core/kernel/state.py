"""Everything the core knows at one moment. Written by ``Core`` alone, read between its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappush
from typing import Any

from treadle.core.effects import Bind
from treadle.core.kernel.journal import Story
from treadle.core.kernel.nodes.scores import SCORES, Score
from treadle.core.kernel.nodes.shapes import Shapes
from treadle.core.kernel.nodes.table import Nodes
from treadle.core.kernel.periodic.memory import Lifetimes
from treadle.core.kernel.pods.table import PodTable
from treadle.core.kernel.preemption.memory import Preemption
from treadle.core.kernel.seam import Discipline
from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
from treadle.core.kernel.tree.tree import QueueTree
from treadle.core.kernel.tree.waiting_users import UsersAtLimit
from treadle.core.model import ApplicationSpec, PodSpec, SchedulerSpec, Settings
from treadle.core.rules.placement.rules import Request
from treadle.core.rules.policies import Cluster
from treadle.core.rules.running import RunningLimits
from treadle.core.units.resources import UNBOUNDED, ResourceTypes, extend

Timer = tuple[float, int, "PodRecord | Ask"]


@dataclass(slots=True)
class State:
    """The state of the core. ``pods`` is by uid, ``applications`` by id, ``dirty`` are applications whose usage fell."""

    settings: Settings = field(default_factory=Settings)
    scheduler: SchedulerSpec = field(default_factory=SchedulerSpec)
    types: ResourceTypes = field(default_factory=ResourceTypes)
    nodes: Nodes = field(init=False)
    shapes: Shapes = field(init=False)
    tree: QueueTree = field(init=False)
    pods: PodTable = field(default_factory=PodTable)
    excess_types: dict[str, PodSpec] = field(default_factory=dict)
    """Pods that ask for more resource types than are taken up, as the API has them, by uid."""
    applications: dict[str, Application] = field(default_factory=dict)
    explicit: dict[str, ApplicationSpec] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The groups of an application's user, by the application's id; those without any are left out."""
    placed: dict[str, Request] = field(default_factory=dict)
    """What the placement rules were last asked for an application that they placed, by id."""
    cluster: Cluster = field(init=False)
    discipline: Discipline = field(init=False)
    """The discipline in force, which is not the one that is asked for if the tree lacks what that needs: ``discipline_problem`` says so then."""
    discipline_problem: str = ""
    capacities: Any = None
    """The capacities of the tree, under the capacity discipline (``disciplines.capacity.live_tree.LiveCapacityTree``)."""
    automatic: Any = None
    """Its mapping rules, and the rounds for queues that applications made (``disciplines.capacity.auto_queues.Automatic``)."""
    dirty: dict[Application, None] = field(default_factory=dict)
    relieved: dict[Queue, None] = field(default_factory=dict)
    left: dict[Queue, None] = field(default_factory=dict)
    """Queues that an application left, or that go on with other definitions: their place in the order is out of date."""
    running: RunningLimits[Application] = field(default_factory=RunningLimits)
    newcomers: dict[Application, None] = field(default_factory=dict)
    """Applications that came into a queue since the last pass, which decides whether they may run."""
    enough_partitions: int = 16
    """With how many partitions that pods have named it is time to see which are in use."""
    resolved_types: int = 0
    """How many resource types were known when all limits were last resolved."""
    relimited: bool = True
    """Whether limits may have changed since the last pass."""
    passed_at: float = float("-inf")
    """When demands and instantaneous shares were last computed, and after which event."""
    passed_cause: int = -1
    masters_waiting: dict[Queue, None] = field(default_factory=dict)
    """Leaves in which masters wait for a share, or did lately."""
    contended: dict[Queue, UsersAtLimit] = field(default_factory=dict)
    """Leaves in which users have come to their limits."""
    masters_relieved: dict[Queue, None] = field(default_factory=dict)
    """Leaves whose masters hold less than before, or may hold more, while others wait for that."""
    refused: dict[Application, str] = field(default_factory=dict)
    """Running applications that were to move and may not, and why."""
    refused_at: float = float("-inf")
    """When those were last looked at."""
    placed_running: dict[Application, None] = field(default_factory=dict)
    """Applications that ran when it was last asked where they belong."""
    unplaced: dict[Application, None] = field(default_factory=dict)
    misnamed: dict[Application, str] = field(default_factory=dict)
    """Applications that ask for a queue that did not exist when another one took them, and its path."""
    standings: dict[str, tuple[float, dict[str, tuple[int, str]]]] = field(default_factory=dict)
    """Who was ahead of which application in a leaf, by ids, and when that was computed (``failed_scheduling``)."""
    retold: list[tuple[float, int, str, tuple[int, int, bool]]] = field(default_factory=list)
    """When events about what waits are written again: an application's id and the key of its ask."""
    timers: list[Timer] = field(default_factory=list)
    near_until: dict[Ask, float] = field(default_factory=dict)
    """Asks that wait for places that their pods would like, and until when."""
    near_timers: list[tuple[float, int, Ask]] = field(default_factory=list)
    near_seen: int = 0
    """How far the log of improved nodes has been read for those."""
    expiry: float = float("inf")
    """When a bind may be overdue at the earliest; infinite while none has been made since the last look."""
    preemption: Preemption = field(default_factory=Preemption)
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    story: Story = field(default_factory=Story)
    cause: int = 0
    now: float = 0.0
    updated: float = float("-inf")
    shared: float = float("-inf")
    """When the shares were last computed for those who show them."""
    adopted_at: float = float("-inf")
    """When a pod of ours that waited was last seen bound by somebody else: a predecessor whose binds were still on their way."""
    cluster_changed: bool = True
    rekey: bool = True
    failing: dict[str, None] = field(default_factory=dict)
    """Pods, by uid, whose binds have failed again since their owners were last told of such."""
    demands: dict[Application, None] | None = None
    """Applications whose demand changed since it was last followed; None while the order of no queue depends on demands."""
    demands_stale: bool = False
    """Whether all demands have to be computed anew before they are followed."""
    decisions: int = 0
    _sequence: int = 0

    def __post_init__(self) -> None:
        """Make the parts that share the resource types."""
        self.nodes = Nodes(self.types)
        self.shapes = Shapes(self.types)
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

    def decided(self, binds: Sequence[Bind]) -> None:
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
        width = len(self.types)
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
            for vector in (application.usage, application.demand, application.fair_share, application.instant_share):
                extend(vector, width)
        self.discipline.limits.widened()
        self.cluster_changed = True
        self.updated = float("-inf")
