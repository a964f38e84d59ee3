"""The settings of a scheduler."""

from dataclasses import dataclass, field

from treadle.core.model.capacity import CapacitySettings, live
from treadle.core.model.fair import FairSettings, PlacementRule
from treadle.core.model.gangs import GangSettings
from treadle.core.model.mapping import MappingRule
from treadle.core.model.opportunistic import OpportunisticSettings
from treadle.core.model.placement_constraints import PlacementConstraint
from treadle.core.model.queues import Limit

FAIR, CAPACITY = "Fair", "Capacity"
"""The disciplines: whose rules share the tree."""
NEVER, DECLARED, ESTIMATED = "Never", "Declared", "Estimated"
"""What backfilling goes by: it is off, by the run times that are declared, by those of pods that have ended as well."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each preference counts in the choice of a node; each gives a node 0 to 100 points (kube-scheduler's plugins and their default weights).

    ``images`` is 0 unless it is asked for: every pod has images, and pods that differ in them could not share what is found out for them.
    ``required_affinity`` is what a pod that must be with others is worth to these (``hardPodAffinityWeight``).
    """

    taints: int = 3
    node_affinity: int = 2
    spread: int = 2
    pod_affinity: int = 2
    resources: int = 1
    images: int = 0
    required_affinity: int = 1


@dataclass(frozen=True, slots=True)
class TogetherSettings:
    """How sets of pods are placed together: with a solver of integer programs or without, and the seconds that it may take for a set."""

    solver: bool = False
    time_limit: float = 0.5


@dataclass(frozen=True, slots=True)
class NamespaceLimits:
    """What one namespace may have: queues that rules make, applications and pods that wait. None: no limit."""

    queues: int | None = None
    applications: int | None = None
    pods: int | None = None

    @property
    def unlimited(self) -> bool:
        """Whether nothing is limited that waits."""
        return self.applications is None and self.pods is None


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
    mapping: tuple[MappingRule, ...] = ()
    """The rules of the capacity discipline (``mapping-rule-json``, ``queue-mappings``); none: applications are where they ask to be."""
    mapping_override: bool = False
    """Whether those are asked for applications that name a queue, too."""
    placement: tuple[tuple[str, PlacementConstraint], ...] = ()
    """Placement constraints of the cluster, each with the allocation tag of the pods that it holds for."""
    weights: Weights = field(default_factory=Weights)
    headroom: tuple[tuple[str, Limit], ...] = ()
    """What is left of each node to the pods of other schedulers, where the node does not say otherwise of a type."""
    gangs: GangSettings = field(default_factory=GangSettings)
    together: TogetherSettings = field(default_factory=TogetherSettings)
    profiles: dict[str, dict[str, int]] = field(default_factory=dict)
    """The amounts of each resource profile, by its name."""
    device_classes: dict[str, str] = field(default_factory=dict)
    """The resource type that devices of a class count as, by the name of the class; for others the extended resource that they serve, if there is one."""
    opportunistic: OpportunisticSettings = field(default_factory=OpportunisticSettings)
    backfill: str = DECLARED
    """By which run times pods may use room that is kept for others (``kernel.backfill``)."""
    namespace_limits: NamespaceLimits = field(default_factory=NamespaceLimits)

    @property
    def names(self) -> frozenset[str]:
        """Every schedulerName that this scheduler serves."""
        return frozenset((self.name, *self.aliases))
