"""Devices as the core is told of them: slices of pools, classes, claims and their allocations (``resource.k8s.io/v1``); and what a pod asks of them.

The fields are those of the Kubernetes API that decide on nodes, under its names. Amounts are exact: integers, or fractions where a quantity is none.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from treadle.core.model.volumes import NodeTerms

Amount = int | Fraction
Value = tuple[str, str | int | bool]
"""An attribute of a device: its type (``string``, ``int``, ``bool`` or ``version``) and what it is."""
DeviceId = tuple[str, str, str]
"""Driver, pool and name."""
ALL, EXACT_COUNT = "All", "ExactCount"
Counts = tuple[tuple[str, int], ...]
"""Numbers of devices by the resource type that they count as in queues."""
MOST_RESULTS = 32
"""Devices that one claim can have (``AllocationResultsMaxSize``)."""
MOST_CONSUMERS = 256
"""Pods that one claim can be reserved for (``ResourceClaimReservedForMaxSize``)."""
PROTECTION = "resource.kubernetes.io/delete-protection"
"""The finalizer of a claim that is allocated."""
CLASS_RESOURCE = "deviceclass.resource.kubernetes.io/"
"""Before the name of a class: the extended resource that each class serves."""
NODE_NAME = "metadata.name"


class SelectorProblem(Exception):
    """An expression could not be understood, or could not be answered for a device; the text says why."""


@dataclass(frozen=True, slots=True)
class DeviceSelector:
    """A CEL expression, and the test that it stands for: of a driver's device, true or false, or ``SelectorProblem``. The same expression is the same test."""

    expression: str
    test: Callable[[str, "DeviceSpec"], bool] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceTaint:
    """A taint of a device."""

    key: str
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """A toleration of a request for devices; an empty key or effect stands for any."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceCapacity:
    """What a device has of something, and how requests for a part of it are rounded (``requestPolicy``): up to one of ``values``, or from ``least`` on in steps."""

    value: Amount
    default: Amount | None = None
    values: tuple[Amount, ...] = ()
    ranged: bool = False
    least: Amount | None = None
    most: Amount | None = None
    step: Amount | None = None


Counters = tuple[tuple[str, tuple[tuple[str, Amount], ...]], ...]
"""Amounts by the name of a counter, by the name of its set."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device of a slice. ``multiple``: several claims may have a part of it. ``nodes`` and its neighbours count where the slice says so."""

    name: str
    attributes: tuple[tuple[str, Value], ...] = ()
    capacity: tuple[tuple[str, DeviceCapacity], ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    multiple: bool = False
    counters: Counters = ()
    node: str = ""
    all_nodes: bool = False
    nodes: NodeTerms | None = None
    binds_to_node: bool = False
    conditions: tuple[str, ...] = ()
    """The conditions that must hold of an allocated device before its pod is bound (``bindingConditions``)."""
    failures: tuple[str, ...] = ()
    """Those of which none may (``bindingFailureConditions``)."""


@dataclass(frozen=True, slots=True)
class SliceSpec:
    """A ResourceSlice: devices of a pool, or counters that its devices share; ``count`` is how many slices the pool has in this generation."""

    name: str
    driver: str = ""
    pool: str = ""
    generation: int = 0
    count: int = 1
    node: str = ""
    all_nodes: bool = False
    nodes: NodeTerms | None = None
    per_device: bool = False
    devices: tuple[DeviceSpec, ...] = ()
    counters: Counters = ()

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class DeviceClassSpec:
    """A DeviceClass. ``configs`` are opaque (JSON), ``resource`` is the extended resource that it serves."""

    name: str
    selectors: tuple[DeviceSelector, ...] = ()
    configs: tuple[str, ...] = ()
    resource: str = ""
    created: float = 0.0

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class Alternative:
    """Devices of one class that a request can be satisfied by; ``name`` is empty where the request has no other."""

    name: str
    device_class: str
    selectors: tuple[DeviceSelector, ...] = ()
    mode: str = EXACT_COUNT
    count: int = 1
    admin: bool = False
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: tuple[tuple[str, Amount], ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request of a claim; ``first``: the first of several alternatives that can be had (``firstAvailable``)."""

    name: str
    alternatives: tuple[Alternative, ...]
    first: bool = False


@dataclass(frozen=True, slots=True)
class AttributeConstraint:
    """All devices for some requests (none: for all) have an attribute, of the same value, or each of its own if ``distinct``."""

    attribute: str
    requests: tuple[str, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """A device that a claim has for a request (``request``, or ``request/alternative``). ``shared``: a part of it, which ``consumed`` tells."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool = False
    shared: bool = False
    consumed: tuple[tuple[str, Amount], ...] = ()
    tolerations: tuple[DeviceToleration, ...] = ()
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def id(self) -> DeviceId:
        """Which device it is."""
        return self.driver, self.pool, self.device


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """Configuration for the devices of some requests (none: of all), opaque (JSON); ``source`` is ``FromClass`` or ``FromClaim``."""

    source: str
    requests: tuple[str, ...]
    opaque: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices of a claim, and the nodes where they can be used (None: on all)."""

    results: tuple[DeviceResult, ...] = ()
    nodes: NodeTerms | None = None
    configs: tuple[DeviceConfig, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Consumer:
    """Whom a claim is reserved for."""

    uid: str
    name: str = ""
    resource: str = "pods"
    group: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClaimSpec:
    """A ResourceClaim. ``owner`` is the uid of its controller, ``problem`` names what of it is not acted on.

    ``special``: it was made by a scheduler for the extended resources of its pod. ``conditions`` are those of its devices, as far as they hold.
    """

    namespace: str
    name: str
    uid: str = ""
    version: str = ""
    owner: str = ""
    deleting: bool = False
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[AttributeConstraint, ...] = ()
    configs: tuple[tuple[tuple[str, ...], str], ...] = ()
    allocation: Allocation | None = None
    reserved: tuple[Consumer, ...] = ()
    finalizers: tuple[str, ...] = ()
    special: bool = False
    conditions: tuple[tuple[DeviceId, str], ...] = ()
    problem: str = ""

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


DeviceObject = SliceSpec | DeviceClassSpec | DeviceClaimSpec


@dataclass(frozen=True, slots=True)
class ContainerAsk:
    """The extended resources that a container asks for: each with the count and its position among all that it requests, by name.

    ``at`` is its place among init containers and containers; ``brief``: it ends before those that stay are started.
    """

    at: int
    name: str
    brief: bool
    resources: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class PodClaims:
    """What a pod says of its claims for devices, in its ``namespace``.

    ``claims`` are their names, each with whether it was made for the pod from a template. ``waiting`` names the entries of the pod whose claims have not
    been made yet. ``pod`` is the pod's uid and ``name`` its name where a claim is its own. ``asks`` are its containers with extended resources, which a
    class may serve, and ``special`` is the claim that was made for these.
    """

    namespace: str
    claims: tuple[tuple[str, bool], ...] = ()
    waiting: tuple[str, ...] = ()
    pod: str = ""
    name: str = ""
    asks: tuple[ContainerAsk, ...] = ()
    special: str = ""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which request of the special claim serves a container's extended resource."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """A claim that is not allocated. ``claim`` is its key where several pods have it, or where it may still get what was decided for another, else empty: such claims are alike."""

    claim: str
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[AttributeConstraint, ...]
    configs: tuple[tuple[tuple[str, ...], str], ...]


@dataclass(frozen=True, slots=True)
class DeviceNeeds:
    """What a pod's claims for devices come to, as they are now: pods with the same needs go to the same nodes.

    ``problem`` is why no node will do at present, ``unsupported`` names what is not acted on. ``bound`` are where the devices of allocated claims are.
    ``extended`` are extended resources that a class serves, each with how much of it the pod asks for, and ``asks`` its containers with such.
    ``charged`` is what the pod counts for in queues for devices that it alone would have, by resource type, and ``shared`` what it would for claims that
    other pods have as well, which count once for all of them.
    """

    problem: str = ""
    unsupported: str = ""
    bound: tuple[NodeTerms, ...] = ()
    wanted: tuple[WantedDevices, ...] = ()
    extended: tuple[tuple[str, int], ...] = ()
    asks: tuple[ContainerAsk, ...] = ()
    charged: Counts = ()
    shared: tuple[tuple[str, Counts], ...] = ()


NO_DEVICES = DeviceNeeds()
