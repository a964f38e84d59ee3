"""The settings of the CapacityScheduler: cluster-wide ones and those of a queue, as Hadoop's properties say them.

Amounts are by the name of the type, in the unit in which the type is counted. Times are in the unit of the driver's ``now``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from treadle.core.model.access import AccessList

UNLIMITED = (1 << 31) - 1


class Kind(Enum):
    """What a number of a capacity means."""

    ABSOLUTE = "absolute"
    PERCENT = "percent"
    WEIGHT = "weight"


@dataclass(frozen=True, slots=True)
class Portion:
    """A number of a capacity: an amount, percent of the parent, or a weight among the siblings."""

    kind: Kind
    value: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity: one portion for every type (``uniform``), or portions by type. Neither: nothing was said.

    ``written`` by type even if it came to nothing, which makes the queue one with absolute resources.
    """

    uniform: Portion | None = None
    types: Mapping[str, Portion] = field(default_factory=dict)
    written_by_type: bool = False

    def part(self, single: Callable[[float], float], default: float) -> float:
        """Return the part of the parent, ``default`` percent if nothing was said; ``single`` rounds.

        Weights and amounts are no parts.
        """
        if self.uniform is None:
            return single((100.0 if self.written_by_type and default else default) / 100.0)
        return 0.0 if self.uniform.kind is Kind.WEIGHT else single(single(self.uniform.value) / 100.0)

    @property
    def amounts(self) -> dict[str, int]:
        """The absolute amounts by type; nothing unless memory is among them, which Hadoop demands, nor beside percentages."""
        if any(one.kind is Kind.PERCENT for one in self.types.values()):
            return {}
        found = {name: int(one.value) for name, one in self.types.items() if one.kind is Kind.ABSOLUTE}
        return found if found.get("memory") else {}


@dataclass(frozen=True, slots=True)
class PartitionShare:
    """What a queue gets of a partition. Percentages and the share of masters are float32 in Hadoop."""

    guaranteed: Capacity = field(default_factory=Capacity)
    maximum: Capacity = field(default_factory=Capacity)
    master_share: float | None = None


@dataclass(frozen=True, slots=True)
class FlexibleCreation:
    """Child queues of any depth that are made when an application asks for them (``auto-queue-creation-v2``), and their removal.

    ``max_queues`` (1000 if not said) are the child queues at most, ``max_depth`` is how far from the first declared queue a leaf
    may be. ``common``, ``leaf`` and ``parent`` are the templates, each with no more than what was said; ``partitions`` names
    those that the children have shares of (``None``: they name them themselves). ``removal`` (true if not said) is about the
    queue itself, should it have been made.
    """

    enabled: bool = False
    max_queues: int | None = None
    max_depth: int | None = None
    removal: bool | None = None
    common: CapacityQueueSpec | None = None
    leaf: CapacityQueueSpec | None = None
    parent: CapacityQueueSpec | None = None
    partitions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ManagedCreation:
    """Leaves that are made from one template, each with all of its capacity or none (``auto-create-child-queue``).

    ``fail_on_excess``: a leaf for which there is no capacity is not made, and capacities are never taken away again.
    """

    template: CapacityQueueSpec
    max_queues: int = 1000
    fail_on_excess: bool = False


@dataclass(frozen=True, slots=True)
class CapacityQueueSpec:
    """A queue by its path. ``None`` is what was not said: it comes from above or has a default.

    ``partitions`` is by name, the default partition is the empty one. ``accessible`` holds ``*`` for all partitions. ``children``
    in the order in which they were listed. With ``managed`` or enabled ``flexible`` creation a queue is a parent without any.
    """

    path: str
    children: tuple[str, ...] = ()
    partitions: Mapping[str, PartitionShare] = field(default_factory=dict)
    accessible: frozenset[str] | None = None
    default_partition: str | None = None
    state: str | None = None
    user_limit: float | None = None
    user_limit_factor: float | None = None
    user_weights: Mapping[str, float] = field(default_factory=dict)
    max_applications: int | None = None
    max_parallel: int | None = None
    master_share: float | None = None
    max_allocation: Mapping[str, int] = field(default_factory=dict)
    order: str | None = None
    size_based_weight: bool | None = None
    enforced_partitions: frozenset[str] = frozenset()
    priority: int | None = None
    default_application_priority: int | None = None
    disable_preemption: bool | None = None
    disable_intra_preemption: bool | None = None
    max_lifetime: float | None = None
    default_lifetime: float | None = None
    allow_zero_sum: bool | None = None
    submit: AccessList | None = None
    administer: AccessList | None = None
    flexible: FlexibleCreation = field(default_factory=FlexibleCreation)
    managed: ManagedCreation | None = None


@dataclass(frozen=True, slots=True)
class CapacityPreemption:
    """The settings of preemption (``ProportionalCapacityPreemptionPolicy``), with Hadoop's defaults; times in milliseconds there."""

    enabled: bool = False
    observe_only: bool = False
    interval: float = 3000
    wait_before_kill: float = 15000
    per_round: float = 0.1
    ignored_over_capacity: float = 0.1
    natural_termination: float = 0.2
    count_reserved_as_pending: bool = False
    by_reserved: bool = False
    conservative: bool = False
    intra_queue: bool = False
    intra_threshold: float = 0.5
    intra_limit: float = 0.2
    intra_by_priority: bool = False
    intra_conservative: bool = True
    balance: bool = False
    balance_wait: float = 300000
    by_priority: bool = False
    by_priority_delay: float = 60000
    by_priority_moves: bool = False
    delete_blocked: bool = False
    """Live: whether a victim that no disruption budget lets go is deleted after ``wait_before_kill``."""
    hold_timeout: float = 120
    """Live: how long room is held for whom it was made, once its victims should have been asked to go."""


@dataclass(frozen=True, slots=True)
class CapacitySettings:
    """The cluster-wide settings.

    ``partitions`` says of each partition whether it is exclusive. ``least`` is also the step of all rounding.

    ``precise``: fractions are in double precision and a hair below a whole number counts as it. Without, they are in Java's
    single precision, in which 70% of 100 cores is a little less than 70 cores: Hadoop's answer, but not what people mean.
    """

    legacy: bool = True
    precise: bool = False
    all_types: bool = False
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    user_limit: float = 100.0
    user_limit_factor: float = 1.0
    max_applications: int = 10000
    queue_max_applications: int = -1
    master_share: float = 0.1
    max_parallel: int = UNLIMITED
    user_max_parallel: int = UNLIMITED
    user_max_parallel_of: Mapping[str, int] = field(default_factory=dict)
    max_priority: int = 0
    node_delay: int = 40
    rack_delay: int = -1
    rack_full_reset: bool = True
    look_further: bool = True
    assign_multiple: bool = True
    max_assign: int = 100
    max_offswitch: int = 1
    lazy_preemption: bool = False
    masters_share_partitions: bool = False
    partitions: Mapping[str, bool] = field(default_factory=dict)
    max_depth: int = 2
    idle_before_removal: float = 301000
    removal_interval: float = 300000
    management_interval: float = 1500
    preemption: CapacityPreemption = field(default_factory=CapacityPreemption)
    reservable_nodes: float = 0.05
    """Live: the part of a partition's nodes that may be kept for large pods that find no room."""


def live() -> CapacitySettings:
    """Return the defaults of a live cluster: every resource counts, times are in seconds, and the least amounts are one byte and one milli-cpu."""
    preemption = CapacityPreemption(interval=3.0, wait_before_kill=15.0, balance_wait=300.0, by_priority_delay=60.0)
    return CapacitySettings(
        precise=True,
        all_types=True,
        least={"memory": 1, "cpu": 1},
        max_priority=UNLIMITED,
        idle_before_removal=301.0,
        removal_interval=300.0,
        management_interval=1.5,
        preemption=preemption,
    )
