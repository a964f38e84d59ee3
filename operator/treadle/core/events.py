"""Everything that can happen to the core. Events are facts and levels: a later one about the same thing overwrites."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from treadle.core.model import ApplicationSpec, NodeSpec, PodGroupSpec, PodSpec, QueueSpec, SchedulerSpec
from treadle.core.model.devices import Allocation, DeviceObject
from treadle.core.model.gangs import RequestPhase
from treadle.core.model.opportunistic import Removal
from treadle.core.model.reservations import Decision, ReservationSpec
from treadle.core.model.volumes import StorageObject

if TYPE_CHECKING:
    from treadle.core.model import Wait


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node exists and looks like this."""

    node: NodeSpec


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node was removed; pods bound to it are still counted until they are gone themselves."""

    name: str


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod exists and looks like this.

    ``answer``: that is what a question about an assumed pod got for an answer. The watch may have told more meanwhile, so it only
    counts while the pod is known and still assumed. ``known``: it was read apart from the watch, for another reason, and only
    counts while the pod is known and nothing newer has been told of it.
    """

    pod: PodSpec
    answer: bool = False
    known: bool = False


@dataclass(frozen=True, slots=True)
class PodGone:
    """A pod was deleted, or finished and left the watch."""

    uid: str


@dataclass(frozen=True, slots=True)
class PodRefused:
    """The kubelet of a pod's node did not take the pod, which has failed for it: the reason and the message of its status."""

    pod: PodSpec
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeHeldOff:
    """Told to a new core: pods like this one are not placed on the node that it names before ``until``, and ``pause`` seconds is how long that was for."""

    pod: PodSpec
    until: float
    pause: float


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """A queue was defined or changed."""

    queue: QueueSpec


@dataclass(frozen=True, slots=True)
class QueueGone:
    """A queue's definition was deleted."""

    path: str


@dataclass(frozen=True, slots=True)
class ApplicationSeen:
    """An Application object was made or changed."""

    application: ApplicationSpec


@dataclass(frozen=True, slots=True)
class ApplicationGone:
    """An Application object was deleted; its pods go on as an implicit application."""

    id: str


@dataclass(frozen=True, slots=True)
class ReservationSeen:
    """A Reservation object was made or changed, or what its status keeps was: ``decided`` is what the API has of that, None where nothing was decided yet."""

    reservation: ReservationSpec
    decided: Decision | None = None


@dataclass(frozen=True, slots=True)
class ReservationLost:
    """What was decided on a reservation was not written, since the object had changed: it is told again as it is now, and decided anew."""

    id: str


@dataclass(frozen=True, slots=True)
class ReservationGone:
    """A Reservation object was deleted."""

    id: str


@dataclass(frozen=True, slots=True)
class QueuesPlanned:
    """Told to a new core: these queues were made for reservations, and are in force as long as nothing else is decided."""

    queues: tuple[QueueSpec, ...]


@dataclass(frozen=True, slots=True)
class RunTimesKnown:
    """How long the pods ran that have ended of applications and their families: (name, the middle run time, the longest), in seconds; of others nothing is known."""

    applications: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class SchedulerSeen:
    """The settings of this scheduler changed."""

    scheduler: SchedulerSpec


@dataclass(frozen=True, slots=True)
class NamespaceSeen:
    """A namespace names a queue for its pods (empty: it names none), and has labels, by which pods' rules choose namespaces. One that is gone has neither."""

    name: str
    queue: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StorageSeen:
    """An object of storage exists and looks like this."""

    thing: StorageObject


@dataclass(frozen=True, slots=True)
class StorageGone:
    """An object of storage was deleted; ``key`` is its name, after its namespace if it has one."""

    kind: type[StorageObject]
    key: str


@dataclass(frozen=True, slots=True)
class StorageKnown:
    """Whether all objects of storage that there are have been told, and if not why they cannot be had."""

    known: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class PodGroupSeen:
    """A PodGroup object of another system exists and looks like this."""

    group: PodGroupSpec


@dataclass(frozen=True, slots=True)
class PodGroupGone:
    """A PodGroup object was deleted; ``id`` is ``namespace/name``."""

    source: str
    id: str


@dataclass(frozen=True, slots=True)
class PodGroupsServed:
    """Whether the API server knows the PodGroups of a system; if it does all that there are have been told."""

    source: str
    served: bool


@dataclass(frozen=True, slots=True)
class ProvisionerKnown:
    """Whether nodes can be asked for by ProvisioningRequests, and if not why not; empty: the API server has no such kind."""

    known: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class GangRequested:
    """How the request for the nodes of a gang is doing, in ``words`` for those who wait; an empty phase: there is none any more."""

    application: str
    gang: str
    phase: RequestPhase
    words: str = ""


@dataclass(frozen=True, slots=True)
class DevicesSeen:
    """An object about devices exists and looks like this."""

    thing: DeviceObject


@dataclass(frozen=True, slots=True)
class DevicesGone:
    """An object about devices was deleted; ``key`` is its name, after its namespace if it has one."""

    kind: type[DeviceObject]
    key: str


@dataclass(frozen=True, slots=True)
class DevicesKnown:
    """Whether all objects about devices that there are have been told, and if not why they cannot be had."""

    known: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class NodeSampled:
    """What a node used, by name, in the ``window`` of seconds before ``at``, by the core's clock.

    ``pressure`` is how long of the last ten seconds tasks of its pods waited, in thousandths: (resource, some of them, all of them); empty where nobody tells.
    """

    node: str
    usage: tuple[tuple[str, int], ...]
    at: float
    window: float = 0.0
    pressure: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PodSampled:
    """What a pod used, by its uid, in the ``window`` of seconds before ``at``, by the core's clock."""

    uid: str
    usage: tuple[tuple[str, int], ...]
    at: float
    window: float = 0.0


@dataclass(frozen=True, slots=True)
class UsageKnown:
    """Whether it can be had what nodes use, and if not why not."""

    known: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class RemovedLately:
    """What is remembered of whoever decided before: which nodes take no opportunistic pods of which applications for a while."""

    removals: tuple[Removal, ...]


@dataclass(frozen=True, slots=True)
class BindDone:
    """The API server accepted a binding; the watch will confirm it."""

    uid: str


@dataclass(frozen=True, slots=True)
class BindFailed:
    """A binding is known not to hold.

    ``refused``: the server will not take it as the pod is now (gone, gated, being deleted, bound elsewhere): the watch tells
    the rest and the pod is not tried again before it. ``transient``: it may work later (a full or absent server).
    """

    uid: str
    kind: Literal["refused", "transient"]
    message: str


@dataclass(frozen=True, slots=True)
class ResizeDone:
    """The API server took the requests that a pod is to have by its execution type; the watch will show them."""

    uid: str
    guaranteed: bool


@dataclass(frozen=True, slots=True)
class ResizeFailed:
    """The requests of a pod were not changed, as far as is known. ``refused``: the server will not take them as the pod is now."""

    uid: str
    message: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ReportLost:
    """What the owner of a waiting pod was to be told was not written, since the pod had changed meanwhile."""

    uid: str


@dataclass(frozen=True, slots=True)
class EvictFailed:
    """A pod that was to go stays: a disruption budget did not let it go in time, or the server refused."""

    uid: str
    message: str


@dataclass(frozen=True, slots=True)
class QueuesInForce:
    """Told to a new core: these queues are in force, whatever is written now; what is written is told after the pods (``core.facts``)."""

    queues: tuple[QueueSpec, ...]


@dataclass(frozen=True, slots=True)
class ApplicationPlaced:
    """Told to a new core: an application, whose pods have been told, is in this queue, or in none for the reason ``wait``.

    ``wanted`` is what its pods asked for, those that are gone included. ``runs``: it is one of those that may run, by the limits
    on running applications.
    """

    id: str
    queue: str
    wanted: str
    runs: bool
    wait: "Wait | None"


@dataclass(frozen=True, slots=True)
class PodAssumed:
    """Told to a new core: it was decided that a pod goes to a node, from a queue; it counts there until it is known what became of the bind."""

    pod: PodSpec
    node: str
    queue: str


@dataclass(frozen=True, slots=True)
class DevicesAssumed:
    """Told to a new core: it was decided what the claims of an assumed pod get, by their keys; they have it until it is known what became of that."""

    uid: str
    allocations: tuple[tuple[str, Allocation], ...]


@dataclass(frozen=True, slots=True)
class BindsFailed:
    """Told to a new core: so many binds of a pod have failed in a row; it is not tried before ``again``, and if that is infinite not before it has changed."""

    uid: str
    failures: int
    again: float


Event = (
    NodeSeen
    | NodeGone
    | PodSeen
    | PodGone
    | PodRefused
    | NodeHeldOff
    | QueueSeen
    | QueueGone
    | ApplicationSeen
    | ApplicationGone
    | ReservationSeen
    | ReservationLost
    | ReservationGone
    | QueuesPlanned
    | RunTimesKnown
    | SchedulerSeen
    | NamespaceSeen
    | StorageSeen
    | StorageGone
    | StorageKnown
    | PodGroupSeen
    | PodGroupGone
    | PodGroupsServed
    | ProvisionerKnown
    | GangRequested
    | DevicesSeen
    | DevicesGone
    | DevicesKnown
    | NodeSampled
    | PodSampled
    | UsageKnown
    | RemovedLately
    | BindDone
    | BindFailed
    | EvictFailed
    | ResizeDone
    | ResizeFailed
    | ReportLost
    | QueuesInForce
    | ApplicationPlaced
    | PodAssumed
    | DevicesAssumed
    | BindsFailed
)
