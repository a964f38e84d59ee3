"""From the API's objects of storage, and the volumes of pods, to what the core is told of them. Nothing here raises: an amount that makes no sense counts as none."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from treadle.core.errors import InvalidSpec
from treadle.core.model import LabelSelector, Requirement
from treadle.core.model.volumes import (
    AT_ONCE,
    AttachmentSpec,
    ClaimSpec,
    CSIDriverSpec,
    CSINodeSpec,
    Disk,
    NodeTerms,
    PodVolumes,
    StorageCapacitySpec,
    StorageClassSpec,
    StorageObject,
    VolumeSpec,
)
from treadle.core.units.resources import amount
from treadle.kube import wire

BOUND = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
FILESYSTEM = "Filesystem"
_FIELD = "\0"
"""Before the name of a field where a requirement is about one: no label has such a name, and to volumes nodes have no fields."""
EBS, PD = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"


def matters(volume: wire.Volume) -> bool:
    """Whether a volume of a pod has a say in the choice of its node."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def volumes_of(volumes: Iterable[wire.Volume], meta: wire.Metadata) -> PodVolumes:
    """Return what a pod says of its volumes; the claim of an ephemeral one has the name of the pod and of the volume."""
    claims: dict[tuple[str, bool], None] = {}
    disks: list[Disk] = []
    handles: list[tuple[str, str]] = []
    for one in volumes:
        if one.persistent_volume_claim is not None:
            claims[one.persistent_volume_claim.claim_name, False] = None
        elif one.ephemeral is not None:
            claims[f"{meta.name}-{one.name}", True] = None
        elif one.gce_persistent_disk is not None:
            disk = one.gce_persistent_disk
            disks.append(Disk("gcePersistentDisk", (disk.pd_name,), (), disk.read_only))
            handles.append((PD, disk.pd_name))
        elif one.aws_elastic_block_store is not None:
            store = one.aws_elastic_block_store
            disks.append(Disk("awsElasticBlockStore", (store.volume_id,), (), store.read_only))
            handles.append((EBS, store.volume_id))
        elif one.iscsi is not None:
            disks.append(Disk("iscsi", (one.iscsi.iqn,), (), one.iscsi.read_only))
        elif one.rbd is not None:
            rbd = one.rbd
            disks.append(Disk("rbd", tuple(rbd.monitors or ()), (rbd.pool, rbd.image), rbd.read_only))
    own = any(is_own for _, is_own in claims)
    return PodVolumes(
        meta.namespace, tuple(claims), tuple(disks), tuple(handles), meta.uid if own else "", meta.name if own else ""
    )


def claim(seen: wire.PersistentVolumeClaim) -> ClaimSpec:
    """Translate a PersistentVolumeClaim."""
    meta, spec = seen.metadata, seen.spec or wire.ClaimSpec()
    notes = meta.annotations or {}
    requests = spec.resources.requests if spec.resources is not None else None
    owner = next((one.uid for one in meta.owner_references or () if one.controller), "")
    return ClaimSpec(
        meta.namespace,
        meta.name,
        meta.uid,
        spec.volume_name,
        bound=BOUND in notes,
        lost=seen.status is not None and seen.status.phase == "Lost",
        deleting=meta.deletion_timestamp is not None,
        storage_class=notes.get(OLD_CLASS, spec.storage_class_name or ""),
        modes=tuple(spec.access_modes or ()),
        size=_size((requests or {}).get("storage")),
        selector=_selector(spec.selector) if spec.selector is not None else (),
        volume_mode=spec.volume_mode or FILESYSTEM,
        attributes_class=spec.volume_attributes_class_name or "",
        selected_node=notes.get(SELECTED_NODE),
        owner=owner,
        version=meta.resource_version,
    )


def volume(seen: wire.PersistentVolume) -> VolumeSpec:
    """Translate a PersistentVolume."""
    meta, spec = seen.metadata, seen.spec or wire.VolumeSpec()
    reference = spec.claim_ref
    required = spec.node_affinity.required if spec.node_affinity is not None else None
    driver, handle, plugin = _source(spec)
    return VolumeSpec(
        meta.name,
        None if reference is None else (f"{reference.namespace}/{reference.name}", reference.uid),
        (meta.annotations or {}).get(OLD_CLASS, spec.storage_class_name),
        _size((spec.capacity or {}).get("storage")) or 0,
        tuple(spec.access_modes or ()),
        spec.volume_mode or FILESYSTEM,
        spec.volume_attributes_class_name or "",
        None if required is None else _terms(required),
        tuple((meta.labels or {}).items()),
        driver,
        handle,
        plugin,
        seen.status.phase if seen.status is not None else "",
        deleting=meta.deletion_timestamp is not None,
        version=meta.resource_version,
    )


def storage_class(seen: wire.StorageClass) -> StorageClassSpec:
    """Translate a StorageClass."""
    topologies = tuple(
        tuple(Requirement(one.key, "In", tuple(one.values or ())) for one in term.match_label_expressions or ())
        for term in seen.allowed_topologies or ()
    )
    return StorageClassSpec(seen.metadata.name, seen.provisioner, seen.volume_binding_mode or AT_ONCE, topologies)


def csi_node(seen: wire.CSINode) -> CSINodeSpec:
    """Translate a CSINode."""
    drivers = (seen.spec.drivers if seen.spec is not None else None) or ()
    limits = tuple(
        (one.name, one.allocatable.count) for one in drivers if one.allocatable is not None and one.allocatable.count is not None
    )
    migrated = (seen.metadata.annotations or {}).get(MIGRATED, "")
    return CSINodeSpec(seen.metadata.name, limits, tuple(filter(None, migrated.split(","))))


def csi_driver(seen: wire.CSIDriver) -> CSIDriverSpec:
    """Translate a CSIDriver."""
    return CSIDriverSpec(seen.metadata.name, capacity=seen.spec is not None and bool(seen.spec.storage_capacity))


def storage_capacity(seen: wire.CSIStorageCapacity) -> StorageCapacitySpec:
    """Translate a CSIStorageCapacity: the largest volume that can be made is told, or is all that is left."""
    largest = seen.maximum_volume_size if seen.maximum_volume_size is not None else seen.capacity
    meta = seen.metadata
    return StorageCapacitySpec(meta.namespace, meta.name, seen.storage_class_name, _size(largest), _selector(seen.node_topology))


def attachment(seen: wire.VolumeAttachment) -> AttachmentSpec:
    """Translate a VolumeAttachment."""
    spec = seen.spec or wire.AttachmentSpec()
    named = spec.source.persistent_volume_name if spec.source is not None else None
    return AttachmentSpec(seen.metadata.name, spec.node_name, spec.attacher, named or "")


TRANSLATED: Final[dict[type, tuple[type[StorageObject], Callable[[Any], StorageObject]]]] = {
    wire.PersistentVolumeClaim: (ClaimSpec, claim),
    wire.PersistentVolume: (VolumeSpec, volume),
    wire.StorageClass: (StorageClassSpec, storage_class),
    wire.CSINode: (CSINodeSpec, csi_node),
    wire.CSIDriver: (CSIDriverSpec, csi_driver),
    wire.CSIStorageCapacity: (StorageCapacitySpec, storage_capacity),
    wire.VolumeAttachment: (AttachmentSpec, attachment),
}
"""What each kind of the API is to the core, and how it is translated."""
PATHS: Final[dict[str, tuple[str, type]]] = {
    "persistentvolumeclaims": ("/api/v1/persistentvolumeclaims", wire.PersistentVolumeClaim),
    "persistentvolumes": ("/api/v1/persistentvolumes", wire.PersistentVolume),
    "storageclasses": ("/apis/storage.k8s.io/v1/storageclasses", wire.StorageClass),
    "csinodes": ("/apis/storage.k8s.io/v1/csinodes", wire.CSINode),
    "csidrivers": ("/apis/storage.k8s.io/v1/csidrivers", wire.CSIDriver),
    "csistoragecapacities": ("/apis/storage.k8s.io/v1/csistoragecapacities", wire.CSIStorageCapacity),
    "volumeattachments": ("/apis/storage.k8s.io/v1/volumeattachments", wire.VolumeAttachment),
}
"""Where each resource is listed."""


def _size(text: str | float | None) -> int | None:
    if text is None:
        return None
    try:
        return amount("storage", text)
    except InvalidSpec:
        return None


def _source(spec: wire.VolumeSpec) -> tuple[str, str, str]:
    """Return the CSI driver of a volume and its handle, or the in-tree plugin whose work a driver may do."""
    found = ("", "", "")
    if spec.csi is not None:
        found = (spec.csi.driver, spec.csi.volume_handle, "")
    elif spec.aws_elastic_block_store is not None:
        found = ("", spec.aws_elastic_block_store.volume_id, EBS)
    elif spec.gce_persistent_disk is not None:
        found = ("", spec.gce_persistent_disk.pd_name, PD)
    elif spec.azure_disk is not None:
        found = ("", spec.azure_disk.disk_uri, "kubernetes.io/azure-disk")
    elif spec.azure_file is not None:
        found = ("", spec.azure_file.share_name, "kubernetes.io/azure-file")
    elif spec.cinder is not None:
        found = ("", spec.cinder.volume_id, "kubernetes.io/cinder")
    elif spec.portworx_volume is not None:
        found = ("", spec.portworx_volume.volume_id, "kubernetes.io/portworx-volume")
    elif spec.vsphere_volume is not None:
        found = ("", spec.vsphere_volume.volume_path, "kubernetes.io/vsphere-volume")
    return found


def _terms(seen: wire.NodeSelector) -> NodeTerms:
    return tuple(tuple(_requirements(term)) for term in seen.node_selector_terms or ())


def _requirements(term: wire.NodeSelectorTerm) -> Iterator[Requirement]:
    for one in term.match_expressions or ():
        yield Requirement(one.key, one.operator, tuple(one.values or ()))
    for one in term.match_fields or ():
        yield Requirement(f"{_FIELD}{one.key}", one.operator, tuple(one.values or ()))


def _selector(seen: wire.LabelSelector | None) -> LabelSelector:
    if seen is None:
        return None
    return (
        *(Requirement(key, "In", (value,)) for key, value in sorted((seen.match_labels or {}).items())),
        *(Requirement(one.key, one.operator, tuple(one.values or ())) for one in seen.match_expressions or ()),
    )
