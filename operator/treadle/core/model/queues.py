"""Queues as they are written, for both disciplines."""

from dataclasses import dataclass, field

from treadle.core.model.access import AccessList, PriorityBound
from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.model.reservations import PlanSpec
from treadle.core.units.resources import amount

DEFAULT_QUEUE = "root.default"


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
    max_opportunistic: dict[str, Limit] = field(default_factory=dict)
    """What opportunistic pods of it and below may be given in sum, of memory and cpu."""
    min_share_timeout: float | None = None
    fair_share_timeout: float | None = None
    fair_share_threshold: float | None = None
    preemptable: bool = True
    capacity: CapacityQueueSpec | None = None
    """How the capacity discipline sees the queue; None: nothing is said, and that discipline cannot be in force."""
    submit: AccessList | None = None
    """Who may submit. None: only an ancestor may allow it."""
    administer: AccessList | None = None
    reserve: AccessList | None = None
    """Who may reserve. None at every level: whoever may submit."""
    view: AccessList | None = None
    """Who may see what the queue holds. None at every level: whoever may submit."""
    priorities: tuple[PriorityBound, ...] = ()
    """Who may ask for which priority, here and below, unless a queue below says it itself. Empty: the nearest ancestor says it."""
    plan: PlanSpec | None = None
    """How it takes reservations; such a queue holds queues, which are made for them. None: it takes none."""

    @property
    def parent(self) -> str:
        """The path of the parent, empty for the root."""
        return self.path.rpartition(".")[0]
