"""Everything that the core wants done. An effect carries the id of the event that caused it."""

from functools import partial
from typing import NamedTuple

from treadle.core.model.devices import Allocation, Consumer, DeviceRequest, Mapping

FAILED_SCHEDULING = "FailedScheduling"
"""The reason of an event about a pod that waits."""
QUEUE_NOT_FOUND = "QueueNotFound"
"""The reason of an event about a pod whose queue does not exist."""
PARTITION_IGNORED = "PartitionIgnored"
"""The reason of an event about a pod that asks for a partition under the fair discipline, which has none."""
POD_REFUSED = "RefusedByKubelet"
"""The reason of an event about a pod that the kubelet of its node did not take."""
GANG_IGNORED = "GangIgnored"
"""The reason of an event about a pod of whose PodGroup something is not acted on."""
PROFILE_UNKNOWN = "ProfileUnknown"
"""The reason of an event about a pod that names a resource profile which is not there."""
PROFILE_DIFFERS = "ProfileDiffers"
"""The reason of an event about a pod that asks for something else than the resource profile has that it names."""
DURATION_IGNORED = "DurationIgnored"
"""The reason of an event about a pod whose word on its run time cannot be understood."""
USER_IGNORED = "UserIgnored"
"""The reason of an event about a pod that claims to be of a user whom it is not taken to be of."""
LABEL_UNKNOWN = "LabelUnknown"
"""The reason of an event about a pod with a label or annotation of ours that means nothing."""
EXECUTION_TYPE_IGNORED = "ExecutionTypeIgnored"
"""The reason of an event about a pod of which something is not acted on that it says of its execution type."""
PROMOTED, DEMOTED = "Promoted", "Demoted"
"""The reasons of events about a pod on a node whose execution type has changed."""
PROMOTION_WAITS = "PromotionWaits"
"""The reason of an event about an opportunistic pod that asks to be guaranteed and has to wait for that."""
RESIZE_REFUSED = "ResizeRefused"
"""The reason of an event about a pod whose execution type cannot be changed, since its requests cannot be."""
LIFETIME_OVER = "LifetimeOver"
"""The reason of an event about an application whose pods are deleted since its lifetime is over."""


class Bind(NamedTuple):
    """Bind a pod to a node. It is counted already; a failure must come back as ``BindFailed``."""

    uid: str
    namespace: str
    name: str
    node: str
    application: str
    queue: str
    cause: int
    version: str = ""
    """The resourceVersion that the pod must still have; empty where it is not known."""


new_bind = partial(tuple.__new__, Bind)
"""``Bind`` from a tuple of its fields in order, at half the cost of calling it: one is made for every placement."""


class ClaimVolume(NamedTuple):
    """Keep a PersistentVolume for a claim: both as they were read, at these resourceVersions."""

    volume: str
    volume_version: str
    namespace: str
    claim: str
    claim_uid: str
    claim_version: str


class ProvisionVolume(NamedTuple):
    """Let the volume of a claim be made for the node, as the claim was read at this resourceVersion."""

    namespace: str
    claim: str
    version: str


class BindVolumes(NamedTuple):
    """Bind the claims of a pod that is placed on a node and counted there. Its bind follows when they are; a failure must come back as ``BindFailed``.

    Both lists may be empty: the API has been asked before.
    """

    uid: str
    namespace: str
    name: str
    node: str
    found: tuple[ClaimVolume, ...]
    made: tuple[ProvisionVolume, ...]
    cause: int


class ClaimDevices(NamedTuple):
    """Let a claim be reserved for a pod beside others, and have these devices if any are given: as it was read at this resourceVersion."""

    namespace: str
    claim: str
    uid: str
    version: str
    reserved: tuple[Consumer, ...]
    finalizers: tuple[str, ...]
    allocation: Allocation | None


class MakeClaim(NamedTuple):
    """Make a claim for the extended resources of a pod that a class of devices serves, let it have these devices, and let the pod's status say which request is for which container."""

    requests: tuple[DeviceRequest, ...]
    mappings: tuple[Mapping, ...]
    allocation: Allocation


class ReserveDevices(NamedTuple):
    """Write what the claims of a pod get that is placed on a node and counted there. Its bind follows when the API says so; a failure must come back as ``BindFailed``.

    There may be no claims: they wait for what is written for another pod.
    """

    uid: str
    namespace: str
    name: str
    node: str
    claims: tuple[ClaimDevices, ...]
    cause: int
    made: MakeClaim | None = None


class FreeDevices(NamedTuple):
    """Take the devices from a claim that is reserved for nobody, as it was read at this resourceVersion: they keep a pod from being placed. It may fail.

    ``delete``: the claim was made for the extended resources of the pod, and is made anew.
    """

    uid: str
    namespace: str
    claim: str
    version: str
    cause: int
    delete: bool = False


Placed = Bind | BindVolumes | ReserveDevices
"""What a placement comes to."""


class ReportWaiting(NamedTuple):
    """Tell a waiting pod's owner why: PodScheduled=False with this reason and message."""

    uid: str
    namespace: str
    name: str
    reason: str
    message: str
    cause: int


class Resize(NamedTuple):
    """Let a pod on a node request what it uses (``guaranteed``), or nothing. It is counted so already if it is to be guaranteed.

    ``ResizeDone`` or ``ResizeFailed`` must come back.
    """

    uid: str
    namespace: str
    name: str
    guaranteed: bool
    cause: int


class Evict(NamedTuple):
    """Ask a pod of ``queue`` to go, for ``why``.

    Where it cannot be had within ``patience`` seconds it is deleted if ``delete``, else ``EvictFailed`` must come back.
    ``beneficiary`` is the application that gets its room, of ``owed``, the path of a queue; both are empty where it goes for no other application.
    """

    uid: str
    namespace: str
    name: str
    queue: str
    why: str
    patience: float
    delete: bool
    cause: int
    beneficiary: str = ""
    owed: str = ""


class Withhold(NamedTuple):
    """Do not send the binds of these pods that have not been sent, for ``why``: each that is not must come back as ``BindFailed``."""

    uids: tuple[str, ...]
    why: str
    cause: int


class Expire(NamedTuple):
    """Delete a pod of ``queue`` whose ``application`` has come to the end of its lifetime, which ``why`` tells.

    Nothing need be told: it is asked again while the pod is there.

    ``object_uid`` is that of the Application object, empty where there is none.
    """

    uid: str
    namespace: str
    name: str
    queue: str
    cause: int
    application: str = ""
    object_uid: str = ""
    why: str = ""


class Verify(NamedTuple):
    """Ask for a pod whose bind to ``node`` has long been neither confirmed nor failed.

    What the API server has must come back: ``PodSeen`` (an ``answer``), ``PodGone`` or ``BindFailed``; nothing while the bind is
    still under way.
    """

    uid: str
    namespace: str
    name: str
    node: str
    cause: int


class RecordEvent(NamedTuple):
    """Write an event of type Warning about a pod, for its ``application``: a CamelCase reason and a note of whole sentences."""

    uid: str
    namespace: str
    name: str
    application: str
    reason: str
    note: str
    cause: int


RESERVATION_REFUSED, RESERVATION_MOVED, RESERVATION_DROPPED = "ReservationRefused", "ReservationMoved", "ReservationDropped"
RESERVATION_REPROVISIONED, RESERVATION_LAGGING = "ReservationReprovisioned", "ReservationLagging"
ABOUT_RESERVATIONS = (
    RESERVATION_REFUSED,
    RESERVATION_MOVED,
    RESERVATION_DROPPED,
    RESERVATION_REPROVISIONED,
    RESERVATION_LAGGING,
)
"""The reasons of events about reservations."""


class ReservationDecided(NamedTuple):
    """Write what was decided on a reservation, by its id ``namespace/name``: until that is written it is not promised.

    ``reason``, one of ``ABOUT_RESERVATIONS``, and ``note`` are those of an event for its owner; empty: none is written.
    """

    id: str
    uid: str
    cause: int
    reason: str = ""
    note: str = ""
    warning: bool = False


Effect = (
    Bind
    | BindVolumes
    | ReserveDevices
    | FreeDevices
    | Withhold
    | ReportWaiting
    | Evict
    | Expire
    | Verify
    | Resize
    | RecordEvent
    | ReservationDecided
)
