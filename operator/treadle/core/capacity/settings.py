"""The settings of the CapacityScheduler: cluster-wide ones and those of a queue, as Hadoop's properties say them.

Amounts are by the name of the type, in the unit in which the type is counted. Times are in the unit of the driver's ``now``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

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
class CapacityQueueSpec:
    """A queue by its path. ``None`` is what was not said: it comes from above or has a default.

    ``partitions`` is by name, the default partition is the empty one. ``accessible`` holds ``*`` for all partitions.
    ``children`` in the order in which they were listed.
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
    size_based_weight: bool = False
    enforced_partitions: frozenset[str] = frozenset()
    priority: int = 0
    default_application_priority: int = 0
    disable_preemption: bool | None = None
    disable_intra_preemption: bool | None = None
    max_lifetime: float | None = None
    default_lifetime: float | None = None
    allow_zero_sum: bool = False
    submit: tuple[frozenset[str], frozenset[str]] | None = None
    administer: tuple[frozenset[str], frozenset[str]] | None = None


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


@dataclass(frozen=True, slots=True)
class CapacitySettings:
    """The cluster-wide settings. ``partitions`` says of each partition whether it is exclusive. ``least`` is also the step of all rounding."""

    legacy: bool = True
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
    preemption: CapacityPreemption = field(default_factory=CapacityPreemption)
