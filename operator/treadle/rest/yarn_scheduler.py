"""The queue tree in the shapes of the ResourceManager's web services: ``FairSchedulerInfo`` and ``CapacitySchedulerInfo``, with the queues that may be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from treadle.rest.yarn_shapes import UNKNOWN, resource

if TYPE_CHECKING:
    from treadle.core.views.queue_details import CapacityDetails, CapacityWords, QueueDetails, UserDetails
    from treadle.core.views.view import View

Json = dict[str, Any]
LARGEST_INT: Final = (1 << 31) - 1
STATES: Final = {"Running": "RUNNING", "Draining": "DRAINING", "Stopped": "STOPPED"}
MODES: Final = {"PERCENTAGE": "percentage", "ABSOLUTE_RESOURCE": "absolute", "WEIGHT": "weight"}
FAIR_LEAF, CAPACITY_LEAF = "fairSchedulerLeafQueueInfo", "capacitySchedulerLeafQueueInfo"


class Tree:
    """The queues of a view, of which those are told that ``sees`` shows; of queues on the way to them, the names alone.

    ``details`` are those of the queues that are told, and of the root; they may be of a moment ago.
    """

    def __init__(self, view: View, sees: Callable[[str], bool], details: Mapping[str, QueueDetails]) -> None:
        """Find out which queues are told."""
        self._details, self._sees = details, sees
        self._capacity = view.discipline == "Capacity"
        shown = [path for path in details if sees(path)]
        self._on_the_way = {
            ".".join(parts[:depth]) for path in shown for parts in [path.split(".")] for depth in range(1, len(parts) + 1)
        }
        self._total = view.total
        self._largest = view.largest_node

    def scheduler(self) -> Json:
        """Return ``SchedulerTypeInfo``."""
        root = self._queue("root")
        if self._capacity:
            return {"scheduler": {"schedulerInfo": {"type": "capacityScheduler", **root}}}
        return {"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": root}}}

    def _queue(self, path: str) -> Json:
        one = self._details[path]
        below = [self._queue(child) for child in one.children if child in self._on_the_way and child in self._details]
        if not self._sees(path):
            if self._capacity:
                return {"queueName": path.rpartition(".")[2], "queuePath": path, "queues": {"queue": below}}
            return {"queueName": path, "childQueues": {"queue": below}}
        return self._of_capacity(one, below) if self._capacity else self._of_fair(one, below)

    def _of_fair(self, one: QueueDetails, below: list[Json]) -> Json:
        """Return ``FairSchedulerQueueInfo``."""
        told = {
            "maxApps": LARGEST_INT if one.max_running is None else one.max_running,
            "minResources": resource(one.minimum),
            "maxResources": resource(one.maximum, down=True),
            "usedResources": resource(one.used),
            "amUsedResources": resource(one.masters),
            "amMaxResources": resource(one.master_limit),
            "demandResources": resource(one.demand),
            "steadyFairResources": resource(one.steady),
            "fairResources": resource(one.fair),
            "clusterResources": resource(self._total, down=True),
            "reservedResources": resource(one.held),
            "maxContainerAllocation": resource(self._largest if one.largest is None else one.largest, down=True),
            "pendingContainers": one.waiting,
            "allocatedContainers": one.pods,
            "reservedContainers": one.holds,
            "queueName": one.path,
            "schedulingPolicy": one.policy,
            "preemptable": one.preemptable,
        }
        if not one.leaf:
            return {**told, "childQueues": {"queue": below}}
        return {"type": FAIR_LEAF, **told, "numPendingApps": one.accepted, "numActiveApps": one.running}

    def _of_capacity(self, one: QueueDetails, below: list[Json]) -> Json:
        """Return ``CapacitySchedulerQueueInfo``."""
        words = one.capacity
        if words is None:  # its capacity is not computed yet
            return {"queueName": one.path.rpartition(".")[2], "queuePath": one.path, "queues": {"queue": below}}
        here = words.partitions[""]
        told: Json = {
            **({"type": CAPACITY_LEAF} if one.leaf else {}),
            "queuePath": one.path,
            **_parts(here),
            "numApplications": one.running + one.accepted,
            "maxParallelApps": LARGEST_INT if one.max_running is None else one.max_running,
            "queueName": one.path.rpartition(".")[2],
            "isAbsoluteResource": words.kind == "ABSOLUTE_RESOURCE",
            "state": STATES[one.state],
            "resourcesUsed": resource(one.used),
            "hideReservationQueues": False,
            "nodeLabels": ["*"],
            "allocatedContainers": one.pods,
            "reservedContainers": one.holds,
            "pendingContainers": one.waiting,
            "capacities": {"queueCapacitiesByPartition": [_capacities(*each) for each in words.partitions.items()]},
            "resources": {"resourceUsagesByPartition": [_usages(one)]},
            "minEffectiveCapacity": resource(here.minimum_in_force),
            "maxEffectiveCapacity": resource(here.maximum_in_force, down=True),
            "maximumAllocation": resource(words.max_allocation or self._largest, down=True),
            "queuePriority": words.priority,
            "orderingPolicyInfo": words.order,
            "mode": MODES.get(words.kind, words.kind.lower()),
            "queueType": "leaf" if one.leaf else "parent",
            "creationMethod": "dynamicFlexible" if one.dynamic else "static",
        }
        return {**told, **_leaf(one, words)} if one.leaf else {**told, "queues": {"queue": below}}


def _leaf(one: QueueDetails, words: CapacityWords) -> Json:
    return {
        "numActiveApplications": one.running,
        "numPendingApplications": one.accepted,
        "numContainers": one.pods,
        "maxApplications": words.max_applications,
        "maxApplicationsPerUser": words.max_applications_of_user,
        "userLimit": words.user_limit,
        "users": {"user": [_user(user) for user in words.users]} if words.users else {},
        "userLimitFactor": words.user_limit_factor,
        "configuredMaxAMResourceLimit": words.partitions[""].master_share,
        "AMResourceLimit": resource(one.master_limit),
        "usedAMResource": resource(one.masters),
        "preemptionDisabled": words.preemption_disabled,
        "intraQueuePreemptionDisabled": words.intra_preemption_disabled,
        "defaultPriority": words.default_priority,
        "isAutoCreatedLeafQueue": one.dynamic,
        "maxApplicationLifetime": int(words.max_lifetime) or UNKNOWN,
        "defaultApplicationLifetime": int(words.default_lifetime) or UNKNOWN,
    }


def _user(one: UserDetails) -> Json:
    return {
        "username": one.name,
        "resourcesUsed": resource(one.used),
        "numPendingApplications": one.pending,
        "numActiveApplications": one.running,
        "AMResourceUsed": resource(one.masters),
        "userWeight": one.weight,
        "isActive": bool(one.pending),
    }


def _parts(one: CapacityDetails) -> Json:
    return {
        "capacity": 100.0 * one.capacity,
        "usedCapacity": 100.0 * one.used,
        "maxCapacity": 100.0 * one.maximum,
        "absoluteCapacity": 100.0 * one.absolute,
        "absoluteMaxCapacity": 100.0 * one.absolute_maximum,
        "absoluteUsedCapacity": 100.0 * one.absolute_used,
        "weight": one.weight,
        "normalizedWeight": one.normalized_weight,
    }


def _capacities(name: str, one: CapacityDetails) -> Json:
    return {
        "partitionName": name,
        **_parts(one),
        "maxAMLimitPercentage": 100.0 * one.master_share,
        "configuredMinResource": resource(one.configured_minimum),
        "configuredMaxResource": resource(one.configured_maximum),
        "effectiveMinResource": resource(one.minimum_in_force),
        "effectiveMaxResource": resource(one.maximum_in_force, down=True),
    }


def _usages(one: QueueDetails) -> Json:
    told = {
        "partitionName": "",
        "used": resource(one.used),
        "reserved": resource(one.held),
        "pending": resource(one.pending),
    }
    return {**told, "amUsed": resource(one.masters), "amLimit": resource(one.master_limit)} if one.leaf else told
