"""The settings of a scheduler."""

from dataclasses import dataclass, field

from treadle.core.model.capacity import CapacitySettings, live
from treadle.core.model.fair import FairSettings, PlacementRule
from treadle.core.model.gangs import GangSettings
from treadle.core.model.mapping import MappingRule
from treadle.core.model.placement_constraints import PlacementConstraint

FAIR, CAPACITY = "Fair", "Capacity"
"""The disciplines: whose rules share the tree."""


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
    gangs: GangSettings = field(default_factory=GangSettings)

    @property
    def names(self) -> frozenset[str]:
        """Every schedulerName that this scheduler serves."""
        return frozenset((self.name, *self.aliases))
