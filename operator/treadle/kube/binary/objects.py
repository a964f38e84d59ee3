"""From messages to wire objects: what is read from them equals what is read from the JSON of the same objects.

A field that is no pointer in Go is always there, empty where JSON leaves it out; an absent list is an empty one.
"""

from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

from google.protobuf.message import DecodeError

from treadle.kube import wire
from treadle.kube.binary.schema import CLASSES

V = TypeVar("V")

MAGIC: Final = b"k8s\0"
"""What every object begins with."""
MOST, LONGEST = 1024, 512
"""Parts that are remembered by each of the readers below, and bytes of such a part."""
MOST_IMAGES = 8192
"""Images of nodes that are remembered: each node tells up to fifty with every report."""
MOST_WHOLE, LONGEST_WHOLE = 512, 4096
"""Specs, and as many statuses, that are remembered, and bytes of one."""

_BROKEN = (DecodeError, ValueError, OverflowError, OSError)
"""What reading raises: for no protobuf at all, for a text that is not UTF-8, and for a time in no year that there is."""

_event = CLASSES["WatchEvent"].FromString
_unknown = CLASSES["Unknown"].FromString


class NotUnderstood(ValueError):
    """Something is not in the form that was agreed on, or has text in it that is none."""


class _Remembered(dict[bytes, V], Generic[V]):
    """What parts of objects mean, by their bytes: the pods of an application have most of them alike.

    Nobody may change what is found here.
    """

    def __init__(self, read: Callable[[bytes], V], most: int = MOST, longest: int = LONGEST) -> None:
        super().__init__()
        self._read, self._most, self._longest = read, most, longest

    def __missing__(self, part: bytes) -> V:
        found = self._read(part)
        if len(part) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[part] = found
        return found


def event(frame: bytes) -> tuple[str, bytes]:
    """Return what a frame of a watch says: the change, and the object in its envelope. Raises ``NotUnderstood``."""
    try:
        found = _event(frame)
        change: str = found.type
        blob: bytes = found.object.raw
    except _BROKEN as error:
        raise NotUnderstood(f"an event: {error}") from error
    return change, blob


def read(kind: type[V], blob: bytes) -> V:
    """Read an object, in its envelope, of one of the kinds ``Pod``, ``Node``, ``Namespace`` and ``Status``.

    Raises ``NotUnderstood``.
    """
    parse, build = _KINDS[kind]
    if not blob.startswith(MAGIC):
        raise NotUnderstood(f"{kind.__name__}: it begins with {blob[:4]!r} and not with {MAGIC!r}")
    try:
        found: V = build(parse(_unknown(blob[len(MAGIC) :]).raw))
    except _BROKEN as error:
        raise NotUnderstood(f"{kind.__name__}: {error}") from error
    return found


# -- parts that are alike in many objects


def _text_entry(part: bytes) -> tuple[str, str]:
    entry = _text_entry_of(part)
    return entry.key.decode(errors="replace"), entry.value.decode(errors="replace")


def _amount_entry(part: bytes) -> tuple[str, str]:
    entry = _amount_entry_of(part)
    return entry.key, entry.value.string


def _owner(part: bytes) -> wire.OwnerReference:
    one = _owner_of(part)
    return wire.OwnerReference(one.kind, one.name, one.uid, one.controller if one.HasField("controller") else None)


def _time(part: bytes) -> datetime | None:
    return datetime.fromtimestamp(_time_of(part).seconds, UTC) if part else None


def _resources(part: bytes) -> wire.Resources:
    one = _resources_of(part)
    return wire.Resources(_amounts(one.requests), _amounts(one.limits))


def _toleration(part: bytes) -> wire.Toleration:
    one = _toleration_of(part)
    return wire.Toleration(one.key, one.operator or "Equal", one.value, one.effect)


def _image(part: bytes) -> wire.ContainerImage:
    one = _image_of(part)
    return wire.ContainerImage(list(one.names) or None, one.sizeBytes)


def _affinity(part: bytes) -> wire.Affinity:
    one = _affinity_of(part)
    return wire.Affinity(
        _node_affinity(one.nodeAffinity) if one.HasField("nodeAffinity") else None,
        _pod_affinity(one.podAffinity) if one.HasField("podAffinity") else None,
        _pod_affinity(one.podAntiAffinity) if one.HasField("podAntiAffinity") else None,
    )


_text_entry_of = CLASSES["TextEntry"].FromString
_amount_entry_of = CLASSES["AmountEntry"].FromString
_image_of = CLASSES["ContainerImage"].FromString
_owner_of = CLASSES["OwnerReference"].FromString
_time_of = CLASSES["Time"].FromString
_resources_of = CLASSES["ResourceRequirements"].FromString
_toleration_of = CLASSES["Toleration"].FromString
_affinity_of = CLASSES["Affinity"].FromString

_text = _Remembered(_text_entry).__getitem__
_amount = _Remembered(_amount_entry).__getitem__
_owner_in = _Remembered(_owner).__getitem__
_time_in = _Remembered(_time).__getitem__
_resources_in = _Remembered(_resources).__getitem__
_toleration_in = _Remembered(_toleration).__getitem__
_image_in = _Remembered(_image, MOST_IMAGES).__getitem__
_affinity_in = _Remembered(_affinity).__getitem__


def _texts(entries: Any) -> dict[str, str] | None:
    return dict(map(_text, entries)) if entries else None


def _amounts(entries: Any) -> wire.Amounts | None:
    return dict(map(_amount, entries)) if entries else None


def _presents(parts: Any) -> list[wire.Present] | None:
    return [wire.Present() for _ in parts] if parts else None


# -- affinity and spread


def _node_affinity(seen: Any) -> wire.NodeAffinity:
    required = None
    if seen.HasField("requiredDuringSchedulingIgnoredDuringExecution"):
        terms = seen.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
        required = wire.NodeSelector([_term(one) for one in terms] or None)
    wishes = seen.preferredDuringSchedulingIgnoredDuringExecution
    preferred = [wire.PreferredTerm(one.weight, _term(one.preference)) for one in wishes] or None
    return wire.NodeAffinity(required, preferred)


def _term(seen: Any) -> wire.NodeSelectorTerm:
    return wire.NodeSelectorTerm(_expressions(seen.matchExpressions), _expressions(seen.matchFields))


def _expressions(seen: Any) -> list[wire.Expression] | None:
    return [wire.Expression(one.key, one.operator, list(one.values) or None) for one in seen] or None


def _pod_affinity(seen: Any) -> wire.PodAffinity:
    wishes = seen.preferredDuringSchedulingIgnoredDuringExecution
    return wire.PodAffinity(
        [_pod_term(one) for one in seen.requiredDuringSchedulingIgnoredDuringExecution] or None,
        [wire.PreferredPodTerm(one.weight, _pod_term(one.podAffinityTerm)) for one in wishes] or None,
    )


def _pod_term(seen: Any) -> wire.PodAffinityTerm:
    return wire.PodAffinityTerm(
        _label_selector(seen.labelSelector) if seen.HasField("labelSelector") else None,
        list(seen.namespaces) or None,
        seen.topologyKey,
        _label_selector(seen.namespaceSelector) if seen.HasField("namespaceSelector") else None,
    )


def _label_selector(seen: Any) -> wire.LabelSelector:
    return wire.LabelSelector(_texts(seen.matchLabels), _expressions(seen.matchExpressions))


def _spread(seen: Any) -> wire.SpreadConstraint:
    has = seen.HasField
    return wire.SpreadConstraint(
        seen.maxSkew,
        seen.topologyKey,
        seen.whenUnsatisfiable,
        _label_selector(seen.labelSelector) if has("labelSelector") else None,
        seen.minDomains if has("minDomains") else None,
        seen.nodeAffinityPolicy if has("nodeAffinityPolicy") else None,
        seen.nodeTaintsPolicy if has("nodeTaintsPolicy") else None,
        list(seen.matchLabelKeys) or None,
    )


# -- objects


def _metadata(seen: Any) -> wire.Metadata:
    deleted, owners = seen.deletionTimestamp, seen.ownerReferences
    return wire.Metadata(
        seen.name,
        seen.namespace,
        seen.uid,
        seen.resourceVersion,
        seen.generation,
        _texts(seen.labels),
        _texts(seen.annotations),
        _time_in(seen.creationTimestamp),
        _time_in(deleted) if deleted else None,
        [_owner_in(one) for one in owners] if owners else None,
    )


def _containers(seen: Any) -> list[wire.Container] | None:
    return [
        wire.Container(
            one.name,
            _resources_in(one.resources),
            _ports(one.ports),
            one.restartPolicy,
            one.image,
            [wire.RestartRule(rule.action) for rule in one.restartPolicyRules] if one.restartPolicyRules else None,
        )
        for one in seen
    ] or None


def _ports(seen: Any) -> list[wire.ContainerPort] | None:
    return (
        [wire.ContainerPort(one.containerPort, one.hostPort, one.hostIP, one.protocol or "TCP") for one in seen] if seen else None
    )


def _volume(seen: Any) -> wire.Volume:
    source = seen.volumeSource
    has = source.HasField
    disk, store, iscsi, rbd = source.gcePersistentDisk, source.awsElasticBlockStore, source.iscsi, source.rbd
    return wire.Volume(
        seen.name,
        wire.ClaimSource(source.persistentVolumeClaim.claimName) if has("persistentVolumeClaim") else None,
        wire.Present() if has("ephemeral") else None,
        wire.PersistentDisk(disk.pdName, disk.readOnly) if has("gcePersistentDisk") else None,
        wire.BlockStore(store.volumeID, store.readOnly) if has("awsElasticBlockStore") else None,
        wire.Iscsi(iscsi.iqn, iscsi.readOnly) if has("iscsi") else None,
        wire.Rbd(list(rbd.monitors) or None, rbd.image, rbd.pool, rbd.readOnly) if has("rbd") else None,
    )


def _named(alike: wire.Volume, name: str) -> wire.Volume:
    volume = copy(alike)
    volume.name = name
    return volume


def _pod_spec(part: bytes) -> wire.PodSpec:
    """Read a spec but for the name of the node, and those of volumes."""
    seen = _pod_spec_of(part)
    has, tolerations = seen.HasField, seen.tolerations
    return wire.PodSpec(
        "",
        seen.schedulerName,
        seen.priority if has("priority") else None,
        _texts(seen.nodeSelector),
        _affinity_in(seen.affinity) if has("affinity") else None,
        [_toleration_in(one) for one in tolerations] if tolerations else None,
        _containers(seen.containers),
        _containers(seen.initContainers),
        _amounts(seen.overhead),
        _resources_in(seen.resources) if has("resources") else None,
        [wire.SchedulingGate(one.name) for one in seen.schedulingGates] or None,
        [_spread(one) for one in seen.topologySpreadConstraints] or None,
        [_volume(one) for one in seen.volumes] or None,
        [wire.PodClaim(one.name, one.resourceClaimName, one.resourceClaimTemplateName) for one in seen.resourceClaims] or None,
        wire.SchedulingGroup(seen.schedulingGroup.podGroupName) if has("schedulingGroup") else None,
        seen.hostNetwork,
        seen.hostUsers if has("hostUsers") else None,
        seen.activeDeadlineSeconds if has("activeDeadlineSeconds") else None,
    )


def _condition(seen: Any) -> wire.Condition:
    return wire.Condition(seen.type, seen.status, seen.reason.decode(errors="replace"), seen.message.decode(errors="replace"))


def _container_statuses(seen: Any) -> list[wire.ContainerStatus] | None:
    return [
        wire.ContainerStatus(
            one.name, _amounts(one.allocatedResources), _resources_in(one.resources) if one.HasField("resources") else None
        )
        for one in seen
    ] or None


def _pod_status(part: bytes) -> wire.PodStatus:
    seen = _pod_status_of(part)
    return wire.PodStatus(
        seen.phase,
        [_condition(one) for one in seen.conditions] or None,
        _container_statuses(seen.containerStatuses),
        _container_statuses(seen.initContainerStatuses),
        _amounts(seen.allocatedResources),
        _resources_in(seen.resources) if seen.HasField("resources") else None,
        [wire.PodClaimStatus(one.name, one.resourceClaimName) for one in seen.resourceClaimStatuses] or None,
        wire.ExtendedClaimStatus(seen.extendedResourceClaimStatus.resourceClaimName)
        if seen.HasField("extendedResourceClaimStatus")
        else None,
        seen.reason.decode(errors="replace"),
        seen.message.decode(errors="replace"),
        seen.nominatedNodeName,
        _time_in(seen.startTime) if seen.HasField("startTime") else None,
    )


_pod_spec_of = CLASSES["PodSpec"].FromString
_pod_status_of = CLASSES["PodStatus"].FromString
_pod_spec_in = _Remembered(_pod_spec, MOST_WHOLE, LONGEST_WHOLE).__getitem__
_pod_status_in = _Remembered(_pod_status, MOST_WHOLE, LONGEST_WHOLE).__getitem__


def _pod(seen: Any) -> wire.Pod:
    """Read a pod.

    With what we do not read left out, and the node, and the names of volumes, of which the one with the pod's token has a new one
    in every pod, specs and statuses are alike too, as those of an application's pods.
    """
    seen.DiscardUnknownFields()
    part = seen.spec
    node, volumes = part.nodeName, part.volumes
    part.ClearField("nodeName")
    names = [one.name for one in volumes]
    for one in volumes:
        one.ClearField("name")
    spec = copy(_pod_spec_in(part.SerializeToString()))
    spec.node_name = node
    if names:
        spec.volumes = list(map(_named, spec.volumes or (), names))
    return wire.Pod(_metadata(seen.metadata), spec, _pod_status_in(seen.status.SerializeToString()))


def _node(seen: Any) -> wire.Node:
    spec, status = seen.spec, seen.status
    taints = [wire.Taint(one.key, one.value, one.effect) for one in spec.taints] or None
    return wire.Node(
        _metadata(seen.metadata),
        wire.NodeSpec(taints, spec.unschedulable),
        wire.NodeStatus(
            _amounts(status.allocatable),
            [_image_in(one) for one in status.images] or None,
            list(status.declaredFeatures) or None,
        ),
    )


def _namespace(seen: Any) -> wire.Namespace:
    return wire.Namespace(_metadata(seen.metadata))


def _status(seen: Any) -> wire.Status:
    return wire.Status(seen.code, seen.reason, seen.message.decode(errors="replace"))


_KINDS: Final[dict[type, tuple[Callable[[bytes], Any], Callable[[Any], Any]]]] = {
    wire.Pod: (CLASSES["Pod"].FromString, _pod),
    wire.Node: (CLASSES["Node"].FromString, _node),
    wire.Namespace: (CLASSES["Namespace"].FromString, _namespace),
    wire.Status: (CLASSES["Status"].FromString, _status),
}
KINDS: Final = frozenset(_KINDS)
"""The kinds that can be read."""
