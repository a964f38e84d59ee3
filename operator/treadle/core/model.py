"""What the core is told: immutable descriptions of nodes, pods, queues, applications and the scheduler itself.

Adapters translate API objects to these; the core never sees JSON. Amounts are integers as ``resources`` defines them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.capacity.settings import CapacityQueueSpec, CapacitySettings, live
from treadle.core.resources import amount

if TYPE_CHECKING:
    from treadle.core.tree.mapping import MappingRule

DEFAULT_QUEUE = "root.default"
FAIR, CAPACITY = "Fair", "Capacity"
"""The disciplines: whose rules share the tree."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration. An empty key with Exists tolerates everything, an empty effect means every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a node selector term: In, NotIn, Exists, DoesNotExist, Gt or Lt over a label or (``field``) the node's name."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    field: bool = False


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod wants; ``ip`` 0.0.0.0 means every address."""

    ip: str
    protocol: str
    port: int


RACK_LABEL = "topology.kubernetes.io/zone"
"""The label of a node that names its rack."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Where a pod would like to be: on nodes by name or by weighted terms, else in racks (the label ``RACK_LABEL``), those of such nodes included.

    ``relax``: anywhere else will do in the end. Without it, only the named nodes and racks will.
    """

    nodes: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    terms: tuple[tuple[int, tuple[Requirement, ...]], ...] = ()
    relax: bool = True


@dataclass(frozen=True, slots=True)
class Constraints:
    """The hard rules of a pod about its node. Pods with equal constraints share one evaluation.

    ``affinity`` is None without required node affinity; otherwise the terms are alternatives and an empty term admits nothing.
    ``unsupported`` names the fields that we do not act on: a pod with any is refused, never bound against its wish.
    ``wish`` is what the pod prefers; it is a hard rule only where it does not ``relax``.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()
    wish: Wish | None = None
    partition: tuple[str, str] | None = None
    """The label of nodes that names partitions, and the partition that is asked for; None where partitions do not matter."""
    problem: str = ""
    """Why the pod cannot be understood; it goes nowhere then, and stands for itself."""


NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: what pods may use of it, and what decides who may."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


@dataclass(slots=True)
class PodSpec:
    """A pod, ours or foreign; not to be changed, though a frozen class would not cost a third of what it takes to read one. ``demand`` is the named amounts by Kubernetes' accounting, the pod slot included.

    ``queue`` is what the pod asked for, empty if it did not say. ``application`` is ``namespace/name`` and unique.
    ``problem`` says why the pod cannot be understood at all (an absurd quantity, say): it waits with that reason.
    """

    uid: str
    namespace: str
    name: str
    scheduler: str = ""
    node: str = ""
    demand: tuple[tuple[str, int], ...] = ()
    constraints: Constraints = NO_CONSTRAINTS
    priority: int = 0
    application: str = ""
    queue: str = ""
    role: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    partition: str = ""
    """The partition of nodes that the pod asks for, empty if it did not say."""
    held_in: str = ""
    """The queue that the pod was bound in, as written with its bind."""
    created: float = 0.0
    finished: bool = False
    deleting: bool = False
    gated: bool = False
    problem: str = ""
    reported: tuple[str, str] = ("", "")
    """The (reason, message) of a PodScheduled=False condition that the API already holds."""
    version: str = field(default="", compare=False)
    """The resourceVersion at which the pod was read: a bind holds only while the pod has it. It says nothing about what the pod is."""


def version_of(pod: PodSpec) -> int:
    """Return a pod's resourceVersion as the integer that it may be compared as, 0 where it is none."""
    return int(pod.version) if pod.version.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Limit:
    """An amount of one resource type: a number in the type's unit, or a share of the cluster (``percent``)."""

    value: int = 0
    percent: float | None = None

    @staticmethod
    def parse(resource: str, text: str | int) -> "Limit":
        """Read ``60%`` or a quantity. Raises ``InvalidSpec``."""
        if isinstance(text, str) and text.endswith("%"):
            return Limit(percent=float(text[:-1]))
        return Limit(value=amount(resource, text))

    def resolve(self, total: int) -> int:
        """Return the amount for a cluster of ``total``; a percentage is truncated as YARN's ``ConfigurableResource`` does."""
        return self.value if self.percent is None else int(total * (self.percent / 100))


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue by its path. ``weight`` is a float32 in YARN; the parent and the level are in the path."""

    path: str
    weight: float = 1.0
    minimum: dict[str, Limit] = field(default_factory=dict)
    maximum: dict[str, Limit] = field(default_factory=dict)
    policy: str = "drf"
    running: bool = True
    holds_queues: bool = False
    """A parent even without children (``type=parent``): no application may live here."""
    max_running: int | None = None
    max_master_share: float | None = None
    """Part of the fair share that masters may hold (``maxAMShare``); -1: no limit, None: the scheduler's default."""
    max_container: dict[str, Limit] = field(default_factory=dict)
    max_child: dict[str, Limit] | None = None
    """The maximum of child queues that placement rules make, instead of the default."""
    min_share_timeout: float | None = None
    fair_share_timeout: float | None = None
    fair_share_threshold: float | None = None
    preemptable: bool = True
    capacity: CapacityQueueSpec | None = None
    """How the capacity discipline sees the queue; None: nothing is said, and that discipline cannot be in force."""
    submit: tuple[frozenset[str], frozenset[str]] | None = None
    """The (users, groups) that may submit; ``*`` among the users is everybody. None: only an ancestor may allow it."""
    administer: tuple[frozenset[str], frozenset[str]] | None = None

    @property
    def parent(self) -> str:
        """The path of the parent, empty for the root."""
        return self.path.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """A rule that names the queue of an application (Hadoop's ``PlacementRule`` of the FairScheduler).

    ``name`` is user, primaryGroup, secondaryGroup, nestedUserQueue, specified, namespace, applicationName, default or reject.
    ``create``: whether a queue that nobody defined may be made. ``queue`` belongs to default, ``parent`` places above.
    """

    name: str
    create: bool = True
    queue: str = ""
    parent: "PlacementRule | None" = None


@dataclass(frozen=True, slots=True)
class FairSettings:
    """The cluster-wide settings of the FairScheduler and its allocation file, with YARN's defaults; times in seconds.

    ``increment``, ``least`` and ``most`` round and bound what one container asks, by resource type; empty: asks are taken as they are.
    """

    preemption: bool = False
    utilization_threshold: float = 0.8
    wait_before_kill: float = 15.0
    wait_before_next_check: float = 10.0
    heartbeat: float = 1.0
    master_preemption: bool = True
    master_preemption_of: dict[str, bool] = field(default_factory=dict)
    size_based_weight: bool = False
    assign_multiple: bool = False
    dynamic_max_assign: bool = True
    max_assign: int = -1
    node_threshold: float = -1.0
    rack_threshold: float = -1.0
    node_delay: float = -1.0
    rack_delay: float = -1.0
    reservable_nodes: float = 0.05
    keep_nodes: bool = False
    """Whether nodes are kept in a live cluster for large pods that find no room (``reservable_nodes`` says how many)."""
    reservation_multiple: float = 2.0
    increment: dict[str, int] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    user_max_running: dict[str, int] = field(default_factory=dict)
    user_max_running_default: int | None = None
    queue_max_running_default: int | None = None
    queue_max_default: dict[str, Limit] | None = None
    queue_max_master_share_default: float = 0.5
    default_policy: str = "drf"
    min_share_timeout: float | None = None
    """None: never."""
    fair_share_timeout: float | None = None
    fair_share_threshold: float = 0.5
    delete_blocked_victims: bool = False
    """Whether a victim that no disruption budget lets go is deleted after ``wait_before_kill``."""
    hold_timeout: float = 120.0
    """How long room is held for whom it was made, once its victims should have been asked to go."""


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """What an Application object says: where its pods are counted, whatever their labels, and how it ranks under fifo."""

    id: str
    queue: str = ""
    priority: int = 0
    user: str = ""
    groups: tuple[str, ...] = ()
    partition: str = ""
    lifetime: float | None = None
    """Seconds after which it ends, whatever it does; None: its queue's default."""
    created: float | None = None
    """When it was submitted, on the clock of the pods' ``created``; None: when its first pod was made."""
    uid: str = ""
    """That of the object, for what is told about it."""


@dataclass(frozen=True, slots=True)
class SchedulerSpec:
    """The scheduler's settings: the names that pods may ask for and how nodes are scored (Pack or Spread)."""

    name: str = "treadle"
    aliases: tuple[str, ...] = ()
    scoring: str = "Pack"
    discipline: str = FAIR
    fair: FairSettings = field(default_factory=FairSettings)
    capacity: CapacitySettings = field(default_factory=live)
    partition_label: str = "treadle.dev/partition"
    rules: tuple[PlacementRule, ...] | None = None
    """None: what Treadle does without rules, see ``QueueTree.place``."""
    mapping: "tuple[MappingRule, ...]" = ()
    """The rules of the capacity discipline (``mapping-rule-json``, ``queue-mappings``); none: applications are where they ask to be."""
    mapping_override: bool = False
    """Whether those are asked for applications that name a queue, too."""

    @property
    def names(self) -> frozenset[str]:
        """Every schedulerName that this scheduler serves."""
        return frozenset((self.name, *self.aliases))
