"""What the core is told: immutable descriptions of nodes, pods, queues, applications and the scheduler itself.

Adapters translate API objects to these; the core never sees JSON. Amounts are integers as ``resources`` defines them.
"""

from dataclasses import dataclass, field

from treadle.core.resources import amount

DEFAULT_QUEUE = "root.default"


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


@dataclass(frozen=True, slots=True)
class Constraints:
    """The hard rules of a pod about its node. Pods with equal constraints share one evaluation.

    ``affinity`` is None without required node affinity; otherwise the terms are alternatives and an empty term admits nothing.
    ``unsupported`` names the fields that we do not act on: a pod with any is refused, never bound against its wish.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()


NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: what pods may use of it, and what decides who may."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class PodSpec:
    """A pod, ours or foreign. ``demand`` is the named amounts by Kubernetes' accounting, the pod slot included.

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
    created: float = 0.0
    finished: bool = False
    deleting: bool = False
    gated: bool = False
    problem: str = ""
    reported: tuple[str, str] = ("", "")
    """The (reason, message) of a PodScheduled=False condition that the API already holds."""


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
        return self.value if self.percent is None else int(total * self.percent / 100)


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue by its path. ``weight`` is a float32 in YARN; the parent and the level are in the path."""

    path: str
    weight: float = 1.0
    minimum: dict[str, Limit] = field(default_factory=dict)
    maximum: dict[str, Limit] = field(default_factory=dict)
    policy: str = "drf"
    running: bool = True

    @property
    def parent(self) -> str:
        """The path of the parent, empty for the root."""
        return self.path.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """What an Application object says: where its pods are counted, whatever their labels, and how it ranks under fifo."""

    id: str
    queue: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class SchedulerSpec:
    """The scheduler's settings: the names that pods may ask for and how nodes are scored (Pack or Spread)."""

    name: str = "treadle"
    aliases: tuple[str, ...] = ()
    scoring: str = "Pack"

    @property
    def names(self) -> frozenset[str]:
        """Every schedulerName that this scheduler serves."""
        return frozenset((self.name, *self.aliases))
