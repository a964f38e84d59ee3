"""Storage as the core is told of it: claims, volumes, classes, and what of them nodes can have; and what a pod asks of all that.

The fields are those of the Kubernetes API that decide on nodes, under its names.
"""

from dataclasses import dataclass

from treadle.core.model.selectors import LabelSelector, Requirement

NodeTerms = tuple[tuple[Requirement, ...], ...]
"""Alternatives; all requirements of one must hold, and an empty one admits nothing."""
WAITS, AT_ONCE = "WaitForFirstConsumer", "Immediate"
"""When the claims of a class are bound."""
NO_PROVISIONER = "kubernetes.io/no-provisioner"
ONE_POD = "ReadWriteOncePod"
AVAILABLE = "Available"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a pod names itself: ``kind`` is the field of its volume, ``names`` are any of those it has (monitors of a Ceph cluster), ``within`` is the rest of its identity."""

    kind: str
    names: tuple[str, ...]
    within: tuple[str, ...] = ()
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What a pod says of its volumes.

    ``claims`` are the names of the claims in its ``namespace``, each with whether it is made for the pod (an ephemeral volume); ``pod`` is the
    pod's uid where one is, by which such a claim is known to be its own, and ``name`` its name. ``handles`` are disks that a CSI driver may
    have taken over (plugin, identity).
    """

    namespace: str
    claims: tuple[tuple[str, bool], ...] = ()
    disks: tuple[Disk, ...] = ()
    handles: tuple[tuple[str, str], ...] = ()
    pod: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """A PersistentVolumeClaim. ``volume`` is the one that it is bound to, for good if ``bound``; ``owner`` is the uid of its controller."""

    namespace: str
    name: str
    uid: str = ""
    volume: str = ""
    bound: bool = False
    lost: bool = False
    deleting: bool = False
    storage_class: str = ""
    modes: tuple[str, ...] = ()
    size: int | None = None
    selector: LabelSelector = ()
    volume_mode: str = "Filesystem"
    attributes_class: str = ""
    selected_node: str | None = None
    owner: str = ""
    version: str = ""

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class VolumeSpec:
    """A PersistentVolume. ``claim`` is what it is bound to, or meant for: (namespace/name, uid); ``plugin`` names an in-tree one whose work a CSI driver may do."""

    name: str
    claim: tuple[str, str] | None = None
    storage_class: str = ""
    size: int = 0
    modes: tuple[str, ...] = ()
    volume_mode: str = "Filesystem"
    attributes_class: str = ""
    affinity: NodeTerms | None = None
    labels: tuple[tuple[str, str], ...] = ()
    driver: str = ""
    handle: str = ""
    plugin: str = ""
    phase: str = ""
    deleting: bool = False
    version: str = ""

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class StorageClassSpec:
    """A StorageClass. ``topologies`` are the nodes for which volumes can be made, empty for all."""

    name: str
    provisioner: str = ""
    binding: str = AT_ONCE
    topologies: NodeTerms = ()

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class CSINodeSpec:
    """A CSINode: how many volumes each driver can attach to a node, for those with a limit, and the in-tree plugins whose work drivers do there."""

    name: str
    limits: tuple[tuple[str, int], ...] = ()
    migrated: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name of the node."""
        return self.name


@dataclass(frozen=True, slots=True)
class CSIDriverSpec:
    """A CSIDriver; ``capacity``: it tells by CSIStorageCapacities how large volumes can be."""

    name: str
    capacity: bool = False

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True)
class StorageCapacitySpec:
    """A CSIStorageCapacity: the largest volume that a class can have on some nodes, None if nothing is told."""

    namespace: str
    name: str
    storage_class: str = ""
    largest: int | None = None
    nodes: LabelSelector = None

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class AttachmentSpec:
    """A VolumeAttachment: a driver has, or is to have, a volume attached to a node."""

    name: str
    node: str = ""
    driver: str = ""
    volume: str = ""

    @property
    def key(self) -> str:
        """The name."""
        return self.name


StorageObject = ClaimSpec | VolumeSpec | StorageClassSpec | CSINodeSpec | CSIDriverSpec | StorageCapacitySpec | AttachmentSpec


@dataclass(frozen=True, slots=True)
class Attachable:
    """A volume that counts against the limit of a driver; with a ``plugin`` only on nodes where the driver does that one's work.

    ``handle`` is empty for one that no other pod can have attached.
    """

    driver: str
    handle: str
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim for which a volume is to be found, or made. ``claim`` is its key where a volume is meant for it by name, or several pods have it, else empty: such claims are alike."""

    claim: str
    uid: str
    storage_class: str
    modes: tuple[str, ...]
    size: int | None
    selector: LabelSelector
    volume_mode: str
    attributes_class: str


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """What a pod's volumes come to, as storage is now: pods with the same needs go to the same nodes.

    ``problem`` is why no node will do at present. ``disks`` and ``attached`` are what it brings to its node, ``exclusive`` the claims that it
    must be alone with. ``bound`` are where its volumes are, ``zones`` what their labels say of that, ``missing``: one is not there. ``find`` are
    claims for which a volume must be found or made, ``make`` those for which one must be made on the node ``selected``.
    """

    problem: str = ""
    disks: tuple[Disk, ...] = ()
    exclusive: tuple[str, ...] = ()
    attached: tuple[Attachable, ...] = ()
    bound: tuple[NodeTerms, ...] = ()
    missing: bool = False
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    find: tuple[Wanted, ...] = ()
    make: tuple[Wanted, ...] = ()
    selected: tuple[str, ...] = ()


NO_NEEDS = VolumeNeeds()
