"""Which fields this version acts on; the others are accepted, kept and shown in the condition ``NotActedOn``.

One table, so that a capability that is built is one line here. Paths are those of the object, without list indices.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from pydantic import BaseModel

from treadle.api import quantities
from treadle.api.application import Application
from treadle.api.identity import Source, who
from treadle.api.objects import Object
from treadle.api.reservation import Reservation
from treadle.api.scheduler import Scheduler
from treadle.core.model.opportunistic import BY_PODS, TELL_OF_PODS

_TEMPLATE: Final = (
    "guaranteed",
    "maximum",
    "userLimitFactor",
    "minimumUserLimitPercent",
    "maximumApplications",
    "maximumAllocation",
    "maximumApplicationLifetime",
    "defaultApplicationLifetime",
    "maximumAMResourcePercent",
    "priority",
    "defaultApplicationPriority",
    "orderingPolicy",
    "sizeBasedWeight",
    "disablePreemption",
    "disableIntraQueuePreemption",
    "partitions",
)
_MAKING: Final = (
    *(f"autoCreation.{name}" for name in ("enabled", "maximumQueues", "maximumDepth", "automaticRemoval")),
    *(f"managedChildren.{name}" for name in ("enabled", "maximumQueues", "failOnExcess")),
    *(f"autoCreation.{kind}.{name}" for kind in ("template", "leafTemplate", "parentTemplate") for name in _TEMPLATE),
    *(f"managedChildren.leafTemplate.{name}" for name in _TEMPLATE),
)

ACTED_ON: Final[dict[str, frozenset[str]]] = {
    "Scheduler": frozenset(
        {
            "spec.aliases",
            "spec.discipline",
            "spec.nodes.scoring",
            "spec.nodes.headroom",
            "spec.nodes.weights.taintToleration",
            "spec.nodes.weights.nodeAffinity",
            "spec.nodes.weights.podTopologySpread",
            "spec.nodes.weights.interPodAffinity",
            "spec.nodes.weights.nodeResourcesFit",
            "spec.nodes.weights.imageLocality",
            "spec.nodes.weights.hardPodAffinity",
            "spec.backfill",
            "spec.gangs.holdTimeout",
            "spec.gangs.partialTimeout",
            "spec.placeTogether.solver",
            "spec.placeTogether.timeLimit",
            "spec.gangs.provisioning.className",
            "spec.gangs.provisioning.parameters",
            "spec.resourceProfiles",
            "spec.deviceClasses",
            "spec.placementRules",
            "spec.placementConstraints.tag",
            "spec.placementConstraints.constraint",
            "spec.placementConstraints",
            "spec.fair.defaultQueueSchedulingPolicy",
            "spec.fair.queueMaxResourcesDefault",
            "spec.fair.queueMaxAppsDefault",
            "spec.fair.userMaxApps",
            "spec.fair.userMaxAppsDefault",
            "spec.fair.queueMaxAMShareDefault",
            "spec.fair.sizeBasedWeight",
            "spec.fair.localityDelayNode",
            "spec.fair.localityDelayRack",
            "spec.fair.preemption",
            "spec.fair.preemptionClusterUtilizationThreshold",
            "spec.fair.waitTimeBeforeKill",
            "spec.fair.waitTimeBeforeNextStarvationCheck",
            "spec.fair.deleteBlockedVictims",
            "spec.fair.holdTimeout",
            "spec.fair.reservableNodes",
            "spec.fair.amPreemption",
            "spec.fair.amPreemptionOf",
            "spec.fair.defaultMinSharePreemptionTimeout",
            "spec.fair.defaultFairSharePreemptionTimeout",
            "spec.fair.defaultFairSharePreemptionThreshold",
            "spec.capacity.legacyQueueMode",
            "spec.capacity.resourceCalculator",
            "spec.capacity.minimumUserLimitPercent",
            "spec.capacity.userLimitFactor",
            "spec.capacity.maximumApplications",
            "spec.capacity.queueMaximumApplications",
            "spec.capacity.maximumAMResourcePercent",
            "spec.capacity.maxParallelApps",
            "spec.capacity.userMaxParallelApps",
            "spec.capacity.userMaxParallelAppsOf",
            "spec.capacity.maximumApplicationPriority",
            "spec.capacity.nodeLocalityDelay",
            "spec.capacity.rackLocalityAdditionalDelay",
            "spec.capacity.rackLocalityFullReset",
            "spec.capacity.reservableNodes",
            "spec.capacity.mappingRules",
            "spec.capacity.queueMappings",
            "spec.capacity.queueMappingsOverride",
            "spec.capacity.autoCreation.maximumDepth",
            "spec.capacity.autoCreation.expirationTime",
            "spec.capacity.autoCreation.managementInterval",
            "spec.capacity.preemption.enabled",
            "spec.capacity.preemption.observeOnly",
            "spec.capacity.preemption.monitoringInterval",
            "spec.capacity.preemption.maxWaitBeforeKill",
            "spec.capacity.preemption.totalPreemptionPerRound",
            "spec.capacity.preemption.maxIgnoredOverCapacity",
            "spec.capacity.preemption.naturalTerminationFactor",
            "spec.capacity.preemption.deleteBlockedVictims",
            "spec.capacity.preemption.holdTimeout",
            "spec.capacity.preemption.intraQueue.enabled",
            "spec.capacity.preemption.intraQueue.minimumThreshold",
            "spec.capacity.preemption.intraQueue.maxAllowableLimit",
            "spec.capacity.preemption.intraQueue.preemptionOrderPolicy",
            "spec.capacity.preemption.queuePriority.enabled",
            "spec.capacity.preemption.queuePriority.reservedContainerDelay",
            "spec.capacity.preemption.balance.enabled",
            "spec.capacity.preemption.balance.maxWaitBeforeKill",
            "spec.opportunistic.usage.source",
            "spec.opportunistic.usage.interval",
            *(
                f"spec.opportunistic.usage.prometheus.{field}"
                for field in ("url", "cpuQuery", "memoryQuery", "nodeLabel", "window", "timeout", "caBundle")
            ),
            *(f"spec.opportunistic.usage.agent.{field}" for field in ("namespace", "matchLabels", "port", "timeout")),
            "spec.opportunistic.usage.maxAge",
            "spec.opportunistic.usage.warmUp",
            *(
                f"spec.opportunistic.thresholds.{name}.{field}"
                for name in ("cpu", "memory")
                for field in ("allocationPercent", "preemptionPercent", "borneSamples")
            ),
            *(
                f"spec.opportunistic.pressure.{name}.{field}"
                for name in ("cpu", "memory")
                for field in ("of", "allocationPercent", "preemptionPercent", "borneSamples")
            ),
            "spec.opportunistic.prediction.method",
            "spec.opportunistic.prediction.percentile",
            "spec.opportunistic.prediction.marginPercent",
            "spec.opportunistic.prediction.deviations",
            "spec.opportunistic.prediction.halfLife",
            "spec.opportunistic.prediction.horizon",
            "spec.opportunistic.nodes",
            *(
                f"spec.opportunistic.nodeQueues.{field}"
                for field in ("order", "candidates", "nodesPerPod", "deviations", "minimum", "maximum")
            ),
            "spec.opportunistic.maximumPercent",
            "spec.opportunistic.preemption.order",
            "spec.opportunistic.preemption.minimumRunTime",
            "spec.opportunistic.preemption.emergencyPercent",
            "spec.namespaceLimits.queues",
            "spec.namespaceLimits.waitingApplications",
            "spec.namespaceLimits.waitingPods",
            "spec.nodes.partitionLabel",
            "spec.nodes.partitions",
        }
    ),
    "Queue": frozenset(
        {
            "spec.state",
            "spec.holdsQueues",
            *(
                f"spec.{acl}.{field}"
                for acl in ("submitAcl", "administerAcl", "reserveAcl", "viewAcl", "priorityAcl")
                for field in ("users", "groups", "serviceAccounts", "namespaces")
            ),
            "spec.priorityAcl.maxPriority",
            "spec.priorityAcl.defaultPriority",
            "spec.maxRunningApplications",
            "spec.opportunistic.limits.cpu",
            "spec.opportunistic.limits.memory",
            *(
                f"spec.reservations.{field}"
                for field in (
                    "agent",
                    "smoothness",
                    "favorEarlyAllocation",
                    "policy",
                    "window",
                    "instantaneousMaxCapacity",
                    "averageCapacity",
                    "moveOnExpiry",
                    "leadTime",
                    "enforcementWindow",
                    "replanAfter",
                    "maximumPeriod",
                    "fromHistory",
                    "fromHistory.exclude",
                    "fromHistory.timeZone",
                    "fromHistory.reprovision",
                )
            ),
            "spec.fair.maxAMShare",
            "spec.fair.maxContainerAllocation",
            "spec.fair.maxChildResources",
            "spec.fair.weight",
            "spec.fair.minResources",
            "spec.fair.maxResources",
            "spec.fair.schedulingPolicy",
            "spec.fair.minSharePreemptionTimeout",
            "spec.fair.fairSharePreemptionTimeout",
            "spec.fair.fairSharePreemptionThreshold",
            "spec.fair.allowPreemptionFrom",
            "spec.capacity.guaranteed",
            "spec.capacity.maximum",
            "spec.capacity.userLimitFactor",
            "spec.capacity.minimumUserLimitPercent",
            "spec.capacity.userWeights",
            "spec.capacity.maximumApplications",
            "spec.capacity.maximumAMResourcePercent",
            "spec.capacity.maximumAllocation",
            "spec.capacity.priority",
            "spec.capacity.defaultApplicationPriority",
            "spec.capacity.orderingPolicy",
            "spec.capacity.enforcedPartitions",
            "spec.capacity.sizeBasedWeight",
            "spec.capacity.allowZeroCapacitySum",
            "spec.capacity.disablePreemption",
            "spec.capacity.disableIntraQueuePreemption",
            "spec.capacity.accessiblePartitions",
            "spec.capacity.defaultPartition",
            "spec.capacity.partitions",
            "spec.capacity.maximumApplicationLifetime",
            "spec.capacity.defaultApplicationLifetime",
            *(f"spec.capacity.{name}" for name in _MAKING),
        }
    ),
    "Application": frozenset(
        {
            "spec.queue",
            "spec.lifetime",
            "spec.expectedDuration",
            "spec.deadline",
            "spec.priority",
            "spec.user",
            "spec.partition",
            "spec.placementConstraints",
            "spec.placeTogether",
            "spec.executionType",
            "spec.reservation",
            "spec.provisioning.className",
            "spec.provisioning.parameters",
        }
        | {"spec.gangs", "spec.gangs.name", "spec.gangs.minMember", "spec.gangs.topologyKey", "spec.gangs.topologyMode"}
    ),
    "Reservation": frozenset(
        {
            "spec.queue",
            "spec.arrival",
            "spec.deadline",
            "spec.recurrence",
            "spec.timeZone",
            "spec.applications",
            "spec.reprovision",
            "spec.priority",
            "spec.expression.interpreter",
            "spec.expression.requests",
        }
    ),
}


_NEED_PODS = "spec.opportunistic.prediction.method"
"""Some methods of this field need what single pods use, which not every source tells."""


def not_acted_on(model: Object, users: Source = Source.CLAIMS) -> list[str]:
    """The fields that are set in an object but not acted on, by path and in the order of the schema; ``users`` is what says whose it is."""
    acted = ACTED_ON[model.kind] - _by_value(model)
    if (
        users is not Source.CLAIMS
        and isinstance(model, Application)
        and model.spec.user != who(model.metadata.annotations, users).user
    ):
        acted -= {"spec.user"}
    found = list(dict.fromkeys(path for path in _set_fields(model.spec, "spec", acted) if path not in acted))
    if isinstance(model, Application | Reservation) and who(model.metadata.annotations, users).claimed:
        found.append("metadata.annotations of its user")
    return found


def _by_value(model: Object) -> set[str]:
    """The fields whose value is not acted on, though others are."""
    if isinstance(model, Reservation):
        calendar = model.spec.recurrence is not None and re.fullmatch(quantities.DURATION, model.spec.recurrence) is None
        return set() if calendar else {"spec.timeZone"}
    if not isinstance(model, Scheduler) or model.spec.opportunistic is None or model.spec.opportunistic.prediction is None:
        return set()
    usage = model.spec.opportunistic.usage
    told = usage is not None and usage.source in TELL_OF_PODS
    return {_NEED_PODS} if model.spec.opportunistic.prediction.method in BY_PODS and not told else set()


@lru_cache(maxsize=256)
def _above(acted: frozenset[str]) -> frozenset[str]:
    """Return the paths that have fields of the table below them."""
    return frozenset(one[:at] for one in acted for at in range(len(one)) if one[at] == ".")


def _set_fields(model: BaseModel, prefix: str, acted: frozenset[str]) -> Iterator[str]:
    """Yield the fields that are set. The members of a list are looked into where the table names fields of them."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name not in model.model_fields_set or value is None:
            continue
        path = f"{prefix}.{field.alias or name}"
        if isinstance(value, BaseModel):
            yield from _set_fields(value, path, acted)
        elif value not in ({}, []):
            yield path
            if isinstance(value, list) and path in _above(acted):
                for member in value:
                    yield from _set_fields(member, path, acted)
