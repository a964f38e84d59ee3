"""What keeps an ask from competing at all, whatever room there is: its pods, its application, and the limits that no waiting mends.

``requeue`` is the one way by which an ask that was kept back, or whose surroundings changed, comes to compete or to wait for a
reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.tree.order import deactivate, forget_blockers, park, unpark
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
    from treadle.core.units.resources import Demand

TOO_MANY = "TooManyApplications"
OVER_LARGEST = "OverMaxAllocation"
AT_ZERO = "ZeroMaximum"
PARTITION_DENIED = "PartitionDenied"
INVALID_POD = "InvalidPod"
UNSUPPORTED = "UnsupportedConstraint"
VOLUMES = "VolumesNotReady"
DEVICES = "DevicesNotReady"
GANG_INCOMPLETE = "GangIncomplete"
GANG_OVER = "GangOverMaximum"


def refusal(record: PodRecord) -> Wait | None:
    """Return why a pod cannot be placed whatever the cluster looks like, or None."""
    if record.spec.problem:
        return Wait(INVALID_POD, record.spec.uid, record.spec.problem)
    unsupported, devices = record.shape.constraints.unsupported, record.shape.devices
    if devices is not None and devices.unsupported:
        unsupported = (*unsupported, devices.unsupported)
    if unsupported:
        return Wait(
            UNSUPPORTED,
            record.spec.uid,
            f"not supported: {', '.join(unsupported)}; the pod is not placed against its own rule",
        )
    storage = record.shape.storage
    if storage is not None and storage.problem:
        return Wait(VOLUMES, record.spec.uid, storage.problem)
    if devices is not None and devices.problem:
        return Wait(DEVICES, record.spec.uid, devices.problem)
    return None


def oversized(queue: Queue, demand: Demand) -> int | None:
    """Return the first resource type of which a demand is more than one pod may have in a leaf (``maxContainerAllocation``), or None."""
    largest = queue.largest
    if largest is None:
        return None
    return next((position for position, value in demand if value > largest[position]), None)


def barred(chain: tuple[Queue, ...], demand: Demand) -> tuple[Queue, int] | None:
    """Return the first queue up the chain that may have nothing of something that is demanded (a maximum of zero), and the type."""
    for queue in chain:
        if queue.zero:
            for position, _ in demand:
                if position in queue.zero:
                    return queue, position
    return None


def block(application: Application, record: PodRecord) -> Wait | None:
    """Return what keeps a pod of an application back before there is any question of room, or None."""
    found = refusal(record) or application.whole.wait or application.whole.ended
    if found is not None:
        return found
    queue = application.queue
    if queue is None:
        return None
    if not application.whole.busy:
        return Wait(TOO_MANY, queue.path, "")
    if queue.largest is not None and oversized(queue, record.shape.charged) is not None:
        return Wait(OVER_LARGEST, queue.path, "")
    if application.quota is not None and (words := application.quota.denied()):
        return Wait(PARTITION_DENIED, queue.path, words)
    return None


def asks_of(application: Application, gang: tuple[str, str]) -> list[Ask]:
    """Return the asks of a gang, in their order."""
    return sorted(one for one in application.asks.values() if one.shape.gang == gang)


def gang_changed(application: Application) -> None:
    """Let the gangs of an application compete again that waited for pods, one of which has come."""
    for one in list(application.asks.values()):
        if one.wait is not None and one.wait.reason == GANG_INCOMPLETE:
            unpark(one)


def requeue(state: State, ask: Ask) -> None:
    """Let an ask compete, or park it for what keeps it back now."""
    if not ask.pods:
        return
    wait = block(ask.application, ask.pods.first)
    if wait is None:
        unpark(ask)
        return
    deactivate(ask)
    forget_blockers(ask)
    if wait.reason == OVER_LARGEST:
        ask.application.chain[0].blocked[ask] = None
    park(state, ask, wait)
