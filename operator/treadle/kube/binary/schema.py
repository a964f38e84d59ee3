"""The messages of Kubernetes' protobuf, with only the fields that we read; everything else is passed over by length.

Names and numbers are those of ``generated.proto`` in ``k8s.io/api/core/v1``, ``k8s.io/apimachinery/pkg/apis/meta/v1`` and
``k8s.io/apimachinery/pkg/runtime``; they never change, that is what the form promises. A field is ``name: (number, type)``, ``*``
before the type where it is repeated. Maps are repeated entries of a key and a value.

Two kinds of messages are declared as ``bytes`` and read by themselves: those that many objects have alike, so that each is read
once, and texts that need not be UTF-8, because nobody checks what is written in this form. Of a ``Present`` only matters that it
is there.
"""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

PACKAGE: Final = "k8s"
_SCALARS: Final = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "bool": FieldDescriptorProto.TYPE_BOOL,
}

MESSAGES: Final[dict[str, dict[str, tuple[int, str]]]] = {
    # -- k8s.io/apimachinery
    "WatchEvent": {"type": (1, "string"), "object": (2, "RawExtension")},
    "RawExtension": {"raw": (1, "bytes")},
    "Unknown": {"raw": (2, "bytes")},
    "Status": {"message": (3, "bytes"), "reason": (4, "string"), "code": (6, "int32")},
    "Time": {"seconds": (1, "int64")},
    "Quantity": {"string": (1, "string")},
    "Present": {},
    "ObjectMeta": {
        "name": (1, "string"),
        "namespace": (3, "string"),
        "uid": (5, "string"),
        "resourceVersion": (6, "string"),
        "generation": (7, "int64"),
        "creationTimestamp": (8, "bytes"),
        "deletionTimestamp": (9, "bytes"),
        "labels": (11, "*bytes"),
        "annotations": (12, "*bytes"),
        "ownerReferences": (13, "*bytes"),
    },
    "OwnerReference": {"kind": (1, "string"), "name": (3, "string"), "uid": (4, "string"), "controller": (6, "bool")},
    "TextEntry": {"key": (1, "bytes"), "value": (2, "bytes")},
    "AmountEntry": {"key": (1, "string"), "value": (2, "Quantity")},
    # -- pods
    "Pod": {"metadata": (1, "ObjectMeta"), "spec": (2, "PodSpec"), "status": (3, "PodStatus")},
    "PodSpec": {
        "volumes": (1, "*Volume"),
        "containers": (2, "*Container"),
        "activeDeadlineSeconds": (5, "int64"),
        "nodeSelector": (7, "*bytes"),
        "nodeName": (10, "string"),
        "hostNetwork": (11, "bool"),
        "affinity": (18, "bytes"),
        "schedulerName": (19, "string"),
        "initContainers": (20, "*Container"),
        "tolerations": (22, "*bytes"),
        "priority": (25, "int32"),
        "overhead": (32, "*bytes"),
        "topologySpreadConstraints": (33, "*TopologySpreadConstraint"),
        "hostUsers": (37, "bool"),
        "schedulingGates": (38, "*PodSchedulingGate"),
        "resourceClaims": (39, "*PodResourceClaim"),
        "resources": (40, "bytes"),
        "schedulingGroup": (43, "PodSchedulingGroup"),
    },
    "Container": {
        "name": (1, "string"),
        "image": (2, "string"),
        "ports": (6, "*ContainerPort"),
        "resources": (8, "bytes"),
        "restartPolicy": (24, "string"),
        "restartPolicyRules": (25, "*ContainerRestartRule"),
    },
    "ContainerRestartRule": {"action": (1, "string")},
    "ContainerPort": {
        "hostPort": (2, "int32"),
        "containerPort": (3, "int32"),
        "protocol": (4, "string"),
        "hostIP": (5, "string"),
    },
    "ResourceRequirements": {"limits": (1, "*bytes"), "requests": (2, "*bytes")},
    "Toleration": {"key": (1, "string"), "operator": (2, "string"), "value": (3, "string"), "effect": (4, "string")},
    "Affinity": {
        "nodeAffinity": (1, "NodeAffinity"),
        "podAffinity": (2, "PodAffinity"),
        "podAntiAffinity": (3, "PodAntiAffinity"),
    },
    "NodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": (1, "NodeSelector"),
        "preferredDuringSchedulingIgnoredDuringExecution": (2, "*PreferredSchedulingTerm"),
    },
    "PodAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": (1, "*PodAffinityTerm"),
        "preferredDuringSchedulingIgnoredDuringExecution": (2, "*WeightedPodAffinityTerm"),
    },
    "PodAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": (1, "*PodAffinityTerm"),
        "preferredDuringSchedulingIgnoredDuringExecution": (2, "*WeightedPodAffinityTerm"),
    },
    "WeightedPodAffinityTerm": {"weight": (1, "int32"), "podAffinityTerm": (2, "PodAffinityTerm")},
    "PodAffinityTerm": {
        "labelSelector": (1, "LabelSelector"),
        "namespaces": (2, "*string"),
        "topologyKey": (3, "string"),
        "namespaceSelector": (4, "LabelSelector"),
    },
    "LabelSelector": {"matchLabels": (1, "*bytes"), "matchExpressions": (2, "*NodeSelectorRequirement")},
    "NodeSelector": {"nodeSelectorTerms": (1, "*NodeSelectorTerm")},
    "NodeSelectorTerm": {"matchExpressions": (1, "*NodeSelectorRequirement"), "matchFields": (2, "*NodeSelectorRequirement")},
    "NodeSelectorRequirement": {"key": (1, "string"), "operator": (2, "string"), "values": (3, "*string")},
    "PreferredSchedulingTerm": {"weight": (1, "int32"), "preference": (2, "NodeSelectorTerm")},
    "TopologySpreadConstraint": {
        "maxSkew": (1, "int32"),
        "topologyKey": (2, "string"),
        "whenUnsatisfiable": (3, "string"),
        "labelSelector": (4, "LabelSelector"),
        "minDomains": (5, "int32"),
        "nodeAffinityPolicy": (6, "string"),
        "nodeTaintsPolicy": (7, "string"),
        "matchLabelKeys": (8, "*string"),
    },
    "PodResourceClaim": {
        "name": (1, "string"),
        "resourceClaimName": (3, "string"),
        "resourceClaimTemplateName": (4, "string"),
    },
    "PodExtendedResourceClaimStatus": {"resourceClaimName": (2, "string")},
    "PodResourceClaimStatus": {"name": (1, "string"), "resourceClaimName": (2, "string")},
    "PodSchedulingGate": {"name": (1, "string")},
    "PodSchedulingGroup": {"podGroupName": (1, "string")},
    "Volume": {"name": (1, "string"), "volumeSource": (2, "VolumeSource")},
    "VolumeSource": {
        "gcePersistentDisk": (3, "GCEPersistentDisk"),
        "awsElasticBlockStore": (4, "AWSElasticBlockStore"),
        "iscsi": (8, "ISCSI"),
        "persistentVolumeClaim": (10, "PersistentVolumeClaim"),
        "rbd": (11, "RBD"),
        "ephemeral": (29, "Present"),
    },
    "PersistentVolumeClaim": {"claimName": (1, "string")},
    "GCEPersistentDisk": {"pdName": (1, "string"), "readOnly": (4, "bool")},
    "AWSElasticBlockStore": {"volumeID": (1, "string"), "readOnly": (4, "bool")},
    "ISCSI": {"iqn": (2, "string"), "readOnly": (6, "bool")},
    "RBD": {"monitors": (1, "*string"), "image": (2, "string"), "pool": (4, "string"), "readOnly": (8, "bool")},
    "PodStatus": {
        "phase": (1, "string"),
        "conditions": (2, "*PodCondition"),
        "message": (3, "bytes"),
        "reason": (4, "bytes"),
        "startTime": (7, "bytes"),
        "containerStatuses": (8, "*ContainerStatus"),
        "initContainerStatuses": (10, "*ContainerStatus"),
        "nominatedNodeName": (11, "string"),
        "resourceClaimStatuses": (15, "*PodResourceClaimStatus"),
        "extendedResourceClaimStatus": (18, "PodExtendedResourceClaimStatus"),
        "allocatedResources": (19, "*bytes"),
        "resources": (20, "bytes"),
    },
    "PodCondition": {"type": (1, "string"), "status": (2, "string"), "reason": (5, "bytes"), "message": (6, "bytes")},
    "ContainerStatus": {"name": (1, "string"), "allocatedResources": (10, "*bytes"), "resources": (11, "bytes")},
    # -- nodes and namespaces
    "Node": {"metadata": (1, "ObjectMeta"), "spec": (2, "NodeSpec"), "status": (3, "NodeStatus")},
    "NodeSpec": {"unschedulable": (4, "bool"), "taints": (5, "*Taint")},
    "Taint": {"key": (1, "string"), "value": (2, "string"), "effect": (3, "string")},
    "NodeStatus": {"allocatable": (2, "*bytes"), "images": (8, "*bytes"), "declaredFeatures": (14, "*string")},
    "ContainerImage": {"names": (1, "*string"), "sizeBytes": (2, "int64")},
    "Namespace": {"metadata": (1, "ObjectMeta")},
}


def classes(messages: Mapping[str, Mapping[str, tuple[int, str]]]) -> dict[str, Any]:
    """Return the message classes of a table such as ``MESSAGES``, by name."""
    file = FileDescriptorProto(name=f"{PACKAGE}.proto", package=PACKAGE, syntax="proto2")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, wanted) in fields.items():
            many, kind = wanted.startswith("*"), wanted.removeprefix("*")
            label = FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
            made = message.field.add(name=field, number=number, label=label)
            if kind in _SCALARS:
                made.type = _SCALARS[kind]
            else:
                made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in messages}


CLASSES: Final = classes(MESSAGES)
"""The message classes, by name."""
