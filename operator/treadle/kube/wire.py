"""API objects as they come over the wire, with only the fields that we read.

msgspec skips everything else without building it. Every list may be null: the bookmark that ends a streaming list is a
skeleton whose lists are. ``gc=False`` keeps hundreds of thousands of retained objects out of the collector's sight.
"""

from datetime import datetime
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Amounts = dict[str, str | int | float]


class Wire(msgspec.Struct, gc=False, rename="camel"):
    """The base: camelCase on the wire, unknown fields skipped."""


class Present(Wire):
    """An object of which only its presence matters."""


class OwnerReference(Wire):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: list[OwnerReference] | None = None


class Resources(Wire):
    requests: Amounts | None = None
    limits: Amounts | None = None


class ContainerPort(Wire):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class RestartRule(Wire):
    action: str = ""


class Container(Wire):
    name: str = ""
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str = ""
    image: str = ""
    restart_policy_rules: list[RestartRule] | None = None


class Toleration(msgspec.Struct, gc=False, rename="camel", frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Expression(Wire):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(Wire):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Wire):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredTerm(Wire):
    weight: int = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Wire):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredTerm] | None = msgspec.field(default=None, name="preferredDuringSchedulingIgnoredDuringExecution")


class LabelSelector(Wire):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class PodAffinityTerm(Wire):
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None


class PreferredPodTerm(Wire):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Wire):
    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredPodTerm] | None = msgspec.field(default=None, name="preferredDuringSchedulingIgnoredDuringExecution")


class Affinity(Wire):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Wire):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ClaimSource(Wire):
    claim_name: str = ""


class PersistentDisk(Wire):
    pd_name: str = ""
    read_only: bool = False


class BlockStore(Wire):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class Iscsi(Wire):
    iqn: str = ""
    read_only: bool = False


class Rbd(Wire):
    monitors: list[str] | None = None
    image: str = ""
    pool: str = ""
    read_only: bool = False


class Volume(Wire):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: PersistentDisk | None = None
    aws_elastic_block_store: BlockStore | None = None
    iscsi: Iscsi | None = None
    rbd: Rbd | None = None


class PodClaim(Wire):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodClaimStatus(Wire):
    name: str = ""
    resource_claim_name: str = ""


class ExtendedClaimStatus(Wire):
    resource_claim_name: str = ""


class SchedulingGate(Wire):
    name: str = ""


class SchedulingGroup(Wire):
    pod_group_name: str = ""


class PodSpec(Wire):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Amounts | None = None
    resources: Resources | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    topology_spread_constraints: list[SpreadConstraint] | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodClaim] | None = None
    scheduling_group: SchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None
    active_deadline_seconds: int | None = None


class Condition(Wire):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ContainerStatus(Wire):
    name: str = ""
    allocated_resources: Amounts | None = None
    resources: Resources | None = None


class PodStatus(Wire):
    phase: str = ""
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    allocated_resources: Amounts | None = None
    resources: Resources | None = None
    resource_claim_statuses: list[PodClaimStatus] | None = None
    extended_resource_claim_status: ExtendedClaimStatus | None = None
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: datetime | None = None


class Pod(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec | None = None
    status: PodStatus | None = None


class EndedSpec(Wire):
    scheduler_name: str = ""
    scheduling_group: SchedulingGroup | None = None


class EndedPod(Wire):
    """A pod of which only matters that it has ended, and in which group."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: EndedSpec | None = None


class Taint(Wire):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire):
    taints: list[Taint] | None = None
    unschedulable: bool = False


class ContainerImage(Wire):
    names: list[str] | None = None
    size_bytes: int = 0


class NodeStatus(Wire):
    allocatable: Amounts | None = None
    images: list[ContainerImage] | None = None
    declared_features: list[str] | None = None


class Node(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Namespace(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class PodGroup(Wire):
    """A PodGroup object of whatever system; ``spec`` and ``status`` stay plain, the systems' differ."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


class TimedCondition(Wire):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class ProvisioningStatus(Wire):
    conditions: list[TimedCondition] | None = None


class ProvisioningRequest(Wire):
    """A request for nodes of the cluster-autoscaler's API."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    status: ProvisioningStatus | None = None


class Custom(Wire):
    """An object of one of our own kinds; ``spec`` and ``status`` stay plain, pydantic reads them."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    kind: str = ""
    spec: dict[str, object] | None = None
    status: dict[str, object] | None = None


class ObjectReference(Wire):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class ClaimRequests(Wire):
    requests: Amounts | None = None


class ClaimSpec(Wire):
    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ClaimRequests | None = None
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PhaseStatus(Wire):
    phase: str = ""


class PersistentVolumeClaim(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: ClaimSpec | None = None
    status: PhaseStatus | None = None


class VolumeNodeAffinity(Wire):
    required: NodeSelector | None = None


class CSISource(Wire):
    driver: str = ""
    volume_handle: str = ""


class AzureDisk(Wire):
    disk_uri: str = msgspec.field(default="", name="diskURI")


class ByVolumeID(Wire):
    volume_id: str = msgspec.field(default="", name="volumeID")


class VsphereVolume(Wire):
    volume_path: str = ""


class AzureFile(Wire):
    share_name: str = ""


class VolumeSpec(Wire):
    capacity: Amounts | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSISource | None = None
    gce_persistent_disk: PersistentDisk | None = None
    aws_elastic_block_store: BlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: ByVolumeID | None = None
    portworx_volume: ByVolumeID | None = None
    vsphere_volume: VsphereVolume | None = None


class PersistentVolume(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: VolumeSpec | None = None
    status: PhaseStatus | None = None


class TopologyRequirement(Wire):
    key: str = ""
    values: list[str] | None = None


class TopologyTerm(Wire):
    match_label_expressions: list[TopologyRequirement] | None = None


class StorageClass(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologyTerm] | None = None


class DriverAllocatable(Wire):
    count: int | None = None


class DriverOnNode(Wire):
    name: str = ""
    allocatable: DriverAllocatable | None = None


class CSINodeDrivers(Wire):
    drivers: list[DriverOnNode] | None = None


class CSINode(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: CSINodeDrivers | None = None


class CSIDriverSpec(Wire):
    storage_capacity: bool | None = None


class CSIDriver(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: CSIDriverSpec | None = None


class CSIStorageCapacity(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class AttachmentSource(Wire):
    persistent_volume_name: str | None = None


class AttachmentSpec(Wire):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource | None = None


class VolumeAttachment(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: AttachmentSpec | None = None


Storage = PersistentVolumeClaim | PersistentVolume | StorageClass | CSINode | CSIDriver | CSIStorageCapacity | VolumeAttachment
Object = Pod | EndedPod | Node | Namespace | Custom | PodGroup | ProvisioningRequest | Storage


class ListMetadata(Wire):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Status(Wire):
    code: int = 0
    reason: str = ""
    message: str = ""
