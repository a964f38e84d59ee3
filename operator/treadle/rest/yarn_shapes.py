"""Resources, applications and nodes in the shapes of the ResourceManager's web services (Hadoop's ``ResourceInfo``, ``AppInfo``, ``NodeInfo``).

What is not known here is -1 where YARN has a number, as YARN says it itself of applications that are over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from treadle.core.model import RACK_LABEL
from treadle.core.views.nodes import CORDONED, HELD_OFF, NOT_READY, SCHEDULABLE
from treadle.rest.yarn_ids import cluster_of, id_of

if TYPE_CHECKING:
    from treadle.core.views.application_details import ApplicationDetails
    from treadle.core.views.nodes import NodeFigures

Json = dict[str, Any]
MIB: Final = 1 << 20
UNKNOWN: Final = -1
LARGEST_LONG: Final = (1 << 63) - 1
PORT: Final = 10250
"""The kubelet's port, which stands in the id of a node."""
TYPE: Final = "KUBERNETES"
"""The type of all applications."""
APP_STATES: Final = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED")
FINAL_STATES: Final = ("UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED")
NODE_STATES: Final = ("NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONED", "LOST", "REBOOTED", "DECOMMISSIONING", "SHUTDOWN")
OF_NODE: Final = {SCHEDULABLE: "RUNNING", HELD_OFF: "RUNNING", CORDONED: "DECOMMISSIONING", NOT_READY: "LOST"}
OF_PHASE: Final = {
    "New": ("NEW", "UNDEFINED"),
    "Submitted": ("SUBMITTED", "UNDEFINED"),
    "Accepted": ("ACCEPTED", "UNDEFINED"),
    "Running": ("RUNNING", "UNDEFINED"),
    "Finished": ("FINISHED", "SUCCEEDED"),
    "Failed": ("FAILED", "FAILED"),
    "Killed": ("KILLED", "KILLED"),
}
"""The state and the final status by the phase of an application."""
OVER: Final = frozenset({"FINISHED", "FAILED", "KILLED"})


def mebibytes(amounts: Mapping[str, int], *, down: bool = False) -> int:
    """Return memory in whole MiB, rounded up, or ``down``."""
    value = amounts.get("memory", 0)
    return value // MIB if down else -(-value // MIB)


def cores(amounts: Mapping[str, int], *, down: bool = False) -> int:
    """Return cpu in whole cores, rounded up, or ``down``."""
    value = amounts.get("cpu", 0)
    return value // 1000 if down else -(-value // 1000)


def resource(amounts: Mapping[str, int], *, down: bool = False) -> Json:
    """Return amounts as ``ResourceInfo``; what is there is rounded ``down``, what is taken up."""
    memory, vcores = mebibytes(amounts, down=down), cores(amounts, down=down)
    others = [(name, value) for name, value in amounts.items() if name not in {"memory", "cpu", "pods"}]
    kinds = [("memory-mb", "Mi", memory), ("vcores", "", vcores), *((name, "", value) for name, value in others)]
    return {
        "memory": memory,
        "vCores": vcores,
        "resourceInformations": {
            "resourceInformation": [
                {
                    "attributes": {},
                    "maximumAllocation": LARGEST_LONG,
                    "minimumAllocation": 0,
                    "name": name,
                    "resourceType": "COUNTABLE",
                    "units": units,
                    "value": value,
                }
                for name, units, value in kinds
            ]
        },
    }


def milliseconds(seconds: float | None, absent: int = 0) -> int:
    """Return a time in ms since 1970."""
    return absent if seconds is None else round(seconds * 1000)


def app(
    identity: str, one: ApplicationDetails, now: float, total: Mapping[str, int], share: Mapping[str, int], *, partitions: bool
) -> Json:
    """Return an application as ``AppInfo``. ``now`` is in seconds since 1970, ``total`` what the cluster has, ``share`` what its queue is due, ``partitions``: whether it is told what it has in each."""
    figures = one.figures
    state, final = OF_PHASE[figures.phase]
    waits = figures.obstacle.message if figures.obstacle is not None else figures.waiting[1] if figures.waiting else ""
    told = _common(identity, figures.user, figures.queue, state, final, waits)
    told |= {
        "progress": 0.0,
        "trackingUI": "UNASSIGNED" if state != "RUNNING" else "ApplicationMaster",
        "applicationTags": ",".join(one.tags),
        "priority": one.priority,
        "startedTime": milliseconds(one.submitted),
        "launchTime": milliseconds(one.started, UNKNOWN),
        "elapsedTime": milliseconds(max(0.0, now - one.submitted)) if one.submitted else 0,
        "masterNodeId": f"{one.master}:{PORT}" if one.master else "",
        "allocatedMB": mebibytes(figures.used),
        "allocatedVCores": cores(figures.used),
        "reservedMB": mebibytes(one.held),
        "reservedVCores": cores(one.held),
        "runningContainers": one.pods,
        "queueUsagePercentage": _percentage(figures.used, share),
        "clusterUsagePercentage": _percentage(figures.used, total),
    }
    if one.asks:
        told["resourceRequests"] = [
            {
                "priority": ask.priority,
                "allocationRequestId": 0,
                "resourceName": "*",
                "capability": resource(ask.requests),
                "numContainers": ask.pods,
                "relaxLocality": True,
                "nodeLabelExpression": ask.partition,
                "executionTypeRequest": {"executionType": "GUARANTEED", "enforceExecutionType": False},
            }
            for ask in one.asks
        ]
    if partitions:
        told["resourceInfo"] = {
            "resourceUsagesByPartition": [
                {
                    "partitionName": part.name,
                    "used": resource(part.used),
                    "reserved": resource(one.held if not part.name else {}),
                    "pending": resource(part.pending),
                    "amUsed": resource(part.masters),
                    "amLimit": resource({}),
                    "userAmLimit": resource({}),
                }
                for part in one.partitions
            ]
        }
    told["timeouts"] = {"timeout": [_lifetime(one.expires, now)]}
    return told


def ended(identity: str, status: Mapping[str, Any], started: float | None, finished: float | None) -> Json:
    """Return an application that is over as ``AppInfo``, by the status of its object."""
    state, final = OF_PHASE[status["phase"]]
    told = _common(identity, status.get("user") or "", status.get("queue") or "", state, final, "")
    nothing = dict.fromkeys(("allocatedMB", "allocatedVCores", "reservedMB", "reservedVCores", "runningContainers"), UNKNOWN)
    elapsed = (finished - started) if started and finished else 0.0
    return told | {
        "progress": 100.0,
        "trackingUI": "History",
        "applicationTags": "",
        "priority": 0,
        "startedTime": milliseconds(started),
        "launchTime": UNKNOWN,
        "finishedTime": milliseconds(finished),
        "elapsedTime": milliseconds(max(0.0, elapsed)),
        "masterNodeId": "",
        **nothing,
        "queueUsagePercentage": 0.0,
        "clusterUsagePercentage": 0.0,
        "timeouts": {"timeout": [_lifetime(None, 0.0)]},
    }


def _common(identity: str, user: str, queue: str, state: str, final: str, diagnostics: str) -> Json:
    own = id_of(identity)
    return {
        "id": own,
        "user": user,
        "name": identity,
        "queue": queue,
        "state": state,
        "finalStatus": final,
        "diagnostics": diagnostics,
        "clusterId": cluster_of(own),
        "applicationType": TYPE,
        "finishedTime": 0,
        "memorySeconds": UNKNOWN,
        "vcoreSeconds": UNKNOWN,
        "resourceSecondsMap": {},
        "preemptedResourceMB": UNKNOWN,
        "preemptedResourceVCores": UNKNOWN,
        "numNonAMContainerPreempted": UNKNOWN,
        "numAMContainerPreempted": UNKNOWN,
        "preemptedMemorySeconds": UNKNOWN,
        "preemptedVcoreSeconds": UNKNOWN,
        "preemptedResourceSecondsMap": {},
        "logAggregationStatus": "DISABLED",
        "unmanagedApplication": True,
    }


def _lifetime(expires: float | None, now: float) -> Json:
    if expires is None:
        return {"type": "LIFETIME", "expiryTime": "UNLIMITED", "remainingTimeInSeconds": -1}
    at = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "+0000"
    return {"type": "LIFETIME", "expiryTime": at, "remainingTimeInSeconds": max(0, int(expires - now))}


def _percentage(used: Mapping[str, int], of: Mapping[str, int]) -> float:
    """Return the largest part of memory or cores that is used, in percent."""
    return max((100.0 * used.get(name, 0) / of[name] for name in ("memory", "cpu") if of.get(name)), default=0.0)


def node(one: NodeFigures, now: float) -> Json:
    """Return a node as ``NodeInfo``; ``now`` is in seconds since 1970."""
    given = one.opportunistic
    free = {name: max(0, value) for name, value in one.free.items()}
    unwell = [taint.key for taint in one.taints if taint.key.startswith("node.kubernetes.io/")]
    return {
        "rack": f"/{one.labels.get(RACK_LABEL, 'default-rack')}",
        "state": OF_NODE[one.state],
        "id": f"{one.name}:{PORT}",
        "nodeHostName": one.name,
        "nodeHTTPAddress": "",
        "lastHealthUpdate": milliseconds(now),
        "version": "",
        "healthReport": ", ".join(unwell),
        "numContainers": one.used.get("pods", 0),
        "usedMemoryMB": mebibytes(one.used),
        "availMemoryMB": mebibytes(free, down=True),
        "usedVirtualCores": cores(one.used),
        "availableVirtualCores": cores(free, down=True),
        "memUtilization": float(UNKNOWN),
        "cpuUtilization": float(UNKNOWN),
        "numRunningOpportContainers": UNKNOWN,
        "usedMemoryOpportGB": -(-given.get("memory", 0) // (1 << 30)),
        "usedVirtualCoresOpport": cores(given),
        "numQueuedContainers": UNKNOWN,
        "nodeLabels": [one.partition] if one.partition else [],
        "allocationTags": {},
        "usedResource": resource(one.used),
        "availableResource": resource(free, down=True),
        "nodeAttributesInfo": {},
        "totalResource": resource(one.allocatable, down=True),
    }
