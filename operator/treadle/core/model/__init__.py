"""What the core is told of: immutable descriptions of nodes, pods, queues, applications and the scheduler itself.

Adapters translate API objects to these; the core never sees JSON. Amounts are integers as ``units.resources`` defines them.
"""

from treadle.core.model.access import AccessList, Asker, DefaultAccess, PriorityBound
from treadle.core.model.applications import ApplicationSpec
from treadle.core.model.constraints import NO_CONSTRAINTS, RACK_LABEL, Constraints, HostPort, Toleration, Wish
from treadle.core.model.fair import FairSettings, PlacementRule
from treadle.core.model.gangs import GangSettings, GangSpec, PodGroupSpec
from treadle.core.model.nodes import NodeSpec, Taint
from treadle.core.model.pod_rules import PodRules, PodTerm, SpreadTerm
from treadle.core.model.pods import PodSpec, version_of
from treadle.core.model.queues import DEFAULT_QUEUE, Limit, QueueSpec
from treadle.core.model.scheduler import CAPACITY, FAIR, SchedulerSpec
from treadle.core.model.selectors import LabelSelector, Requirement, selects
from treadle.core.model.settings import Settings
from treadle.core.model.waits import Wait

__all__ = [
    "CAPACITY",
    "DEFAULT_QUEUE",
    "FAIR",
    "NO_CONSTRAINTS",
    "RACK_LABEL",
    "AccessList",
    "ApplicationSpec",
    "Asker",
    "Constraints",
    "DefaultAccess",
    "FairSettings",
    "GangSettings",
    "GangSpec",
    "HostPort",
    "LabelSelector",
    "Limit",
    "NodeSpec",
    "PlacementRule",
    "PodGroupSpec",
    "PodRules",
    "PodSpec",
    "PodTerm",
    "PriorityBound",
    "QueueSpec",
    "Requirement",
    "SchedulerSpec",
    "Settings",
    "SpreadTerm",
    "Taint",
    "Toleration",
    "Wait",
    "Wish",
    "selects",
    "version_of",
]
