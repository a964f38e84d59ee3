"""What a pod's volumes come to, as storage is now: the part of kube-scheduler's volume plugins that is the same for all nodes (their PreFilter).

The order of the problems is that of the plugins: VolumeRestrictions, VolumeBinding, VolumeZone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model.volumes import ONE_POD, WAITS, Attachable, VolumeNeeds, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model.volumes import ClaimSpec, NodeTerms, PodVolumes, VolumeSpec

UNKNOWN = "claims and volumes have not been listed yet"
ZONE_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
DRIVERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""In-tree plugins, and the CSI drivers that do their work where a node says so (csi-translation-lib)."""


class _Problem(Exception):
    """No node will do for now."""


def needs_of(volumes: PodVolumes, storage: Storage) -> VolumeNeeds:
    """Return what a pod's volumes come to."""
    if not volumes.claims:
        return VolumeNeeds(disks=volumes.disks, attached=_inline(volumes))
    if not storage.known:
        return VolumeNeeds(problem=f"{UNKNOWN}: {storage.trouble}" if storage.trouble else UNKNOWN)
    try:
        return _needs(volumes, storage)
    except _Problem as problem:
        return VolumeNeeds(problem=str(problem))


def claims_of(volumes: PodVolumes, storage: Storage) -> list[ClaimSpec]:
    """Return the claims of a pod that are known."""
    keys = (f"{volumes.namespace}/{name}" for name, _ in volumes.claims)
    return [storage.claims[key] for key in keys if key in storage.claims]


def unbound(volumes: PodVolumes, storage: Storage) -> list[ClaimSpec]:
    """Return the claims of a pod that are not bound for good, in the order in which volumes are found for them: the small ones first."""
    found = [claim for claim in claims_of(volumes, storage) if not (claim.volume and claim.bound)]
    return sorted(found, key=lambda claim: claim.size or 0)


def wanted(claim: ClaimSpec, storage: Storage) -> Wanted:
    """Return what volume a claim wants; it is named only where a volume is meant for it, or another pod names it as well."""
    named = len(storage.users.get(claim.key, ())) > 1 or any(
        (owner := storage.owner_of(volume)) is not None and owner[1] in {"", claim.uid} for volume in storage.meant_for(claim.key)
    )
    return Wanted(
        claim.key if named else "",
        claim.uid if named else "",
        claim.storage_class,
        claim.modes,
        claim.size,
        claim.selector,
        claim.volume_mode,
        claim.attributes_class,
    )


def attachable(claim: ClaimSpec, storage: Storage) -> Attachable | None:
    """Return what a claim's volume counts as against the limits of drivers (``CSILimits.getCSIDriverInfo``)."""
    volume = storage.volumes.get(claim.volume) if claim.volume else None
    if volume is None:
        found = storage.classes.get(claim.storage_class) if claim.storage_class else None
        if found is None:
            return None
        handle, plugin = f"\0{claim.key}", found.provisioner
        return Attachable(DRIVERS[plugin], handle, plugin) if plugin in DRIVERS else Attachable(plugin, handle)
    if volume.plugin:
        return Attachable(DRIVERS[volume.plugin], volume.handle, volume.plugin) if volume.plugin in DRIVERS else None
    return Attachable(volume.driver, volume.handle) if volume.driver and volume.handle else None


def _inline(volumes: PodVolumes) -> tuple[Attachable, ...]:
    return tuple(Attachable(DRIVERS[plugin], handle, plugin) for plugin, handle in volumes.handles if plugin in DRIVERS)


def _needs(volumes: PodVolumes, storage: Storage) -> VolumeNeeds:
    claims = list(_found(volumes, storage))
    ready, waiting = _sorted(claims, storage)
    zones = tuple(_zones(volumes, storage))
    bound: dict[NodeTerms, None] = {}
    missing = False
    for claim in ready:
        volume = storage.volumes.get(claim.volume)
        if volume is None:
            missing = True
        elif volume.affinity is not None:
            bound[volume.affinity] = None
    waiting.sort(key=lambda claim: claim.size or 0)
    chosen = [(claim, storage.selected_node(claim)) for claim in waiting]
    return VolumeNeeds(
        disks=volumes.disks,
        exclusive=tuple(_exclusive(volumes, storage)),
        attached=(*_inline(volumes), *_attached(claims, storage)),
        bound=tuple(bound),
        missing=missing,
        zones=tuple(dict.fromkeys(zones)),
        find=tuple(wanted(claim, storage) for claim, node in chosen if node is None),
        make=tuple(wanted(claim, storage) for claim, node in chosen if node is not None),
        selected=tuple(dict.fromkeys(node for _, node in chosen if node is not None)),
    )


def _found(volumes: PodVolumes, storage: Storage) -> Iterator[ClaimSpec]:
    """Return the claims, if all are there and can be used. Raises ``_Problem``."""
    for name, own in volumes.claims:
        if not own and f"{volumes.namespace}/{name}" not in storage.claims:
            raise _Problem(f'persistentvolumeclaim "{name}" not found')
    for name, own in volumes.claims:
        claim = storage.claims.get(f"{volumes.namespace}/{name}")
        if claim is None:
            raise _Problem(f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"')
        if claim.lost:
            raise _Problem(f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"')
        if claim.deleting:
            raise _Problem(f'persistentvolumeclaim "{name}" is being deleted')
        if own and claim.owner != volumes.pod:
            raise _Problem(
                f"PVC {volumes.namespace}/{name} was not created for pod {volumes.namespace}/{volumes.name} (pod is not owner)"
            )
        yield claim


def _sorted(claims: list[ClaimSpec], storage: Storage) -> tuple[list[ClaimSpec], list[ClaimSpec]]:
    """Return the claims that are bound for good, and those that wait for their first consumer. Raises ``_Problem`` for any other."""
    ready: list[ClaimSpec] = []
    waiting: list[ClaimSpec] = []
    for claim in claims:
        if claim.volume and claim.bound:
            ready.append(claim)
            continue
        found = storage.classes.get(claim.storage_class) if claim.storage_class else None
        if found is None or found.binding != WAITS or claim.volume:
            raise _Problem("pod has unbound immediate PersistentVolumeClaims")
        waiting.append(claim)
    return ready, waiting


def _zones(volumes: PodVolumes, storage: Storage) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the zones and regions that labels of volumes name. Raises ``_Problem``."""
    for name, own in volumes.claims:
        claim = storage.claims[f"{volumes.namespace}/{name}"]
        if own or not claim.volume:  # a claim without a volume waits for its first consumer by now
            continue
        volume = storage.volumes.get(claim.volume)
        if volume is None:
            raise _Problem(f'persistentvolume "{claim.volume}" not found')
        for key, text in volume.labels:
            if key in ZONE_LABELS and (values := _values(text)):
                yield key, values


def _values(text: str) -> tuple[str, ...]:
    """Return the zones in a label, several of which are parted by two underscores; nothing for one that makes no sense (``LabelZonesToSet``)."""
    values = [value.strip() for value in text.split("__")]
    return tuple(sorted(set(values))) if all(values) else ()


def _exclusive(volumes: PodVolumes, storage: Storage) -> Iterator[str]:
    """Return the claims for one pod alone that another one names as well."""
    for name, own in volumes.claims:
        key = f"{volumes.namespace}/{name}"
        if not own and ONE_POD in storage.claims[key].modes and len(storage.users.get(key, ())) > 1:
            yield key


def _attached(claims: list[ClaimSpec], storage: Storage) -> list[Attachable]:
    """Return what counts against limits; what no other pod can have attached is without a handle, so that pods are alike in it."""
    found: dict[Attachable, bool] = {}
    for claim in claims:
        one = attachable(claim, storage)
        if one is not None:
            found[one] = len(storage.users.get(claim.key, ())) > 1 or storage.shared(one.driver, one.handle)
    return [one if shared else Attachable(one.driver, "", one.plugin) for one, shared in found.items()]


def matches(volume: VolumeSpec, claim: Wanted) -> bool:
    """Whether a volume is large enough for a claim and of the same kind (``FindMatchingVolume``, what concerns volumes that are meant for it too)."""
    return (
        volume.size >= (claim.size or 0)
        and volume.volume_mode == claim.volume_mode
        and volume.attributes_class == claim.attributes_class
        and not volume.deleting
    )
