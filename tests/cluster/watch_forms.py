"""The same objects as a real API server tells them in both of its forms, with every field that Treadle reads.

As a program it records them for the tests that have no control plane: ``python tests/cluster/watch_forms.py`` writes
``tests/kube/recorded``.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

if not __package__:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster.control_plane import ControlPlane, ssl_context

Json = dict[str, Any]

RECORDED = Path(__file__).resolve().parents[1] / "kube" / "recorded"
ARGUMENTS = (
    "--feature-gates=GenericWorkload=true,InPlacePodLevelResourcesVerticalScaling=true,UserNamespacesHostNetworkSupport=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
)
"""So that the server keeps fields that are still behind a gate."""
FORMS = {"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf;stream=watch"}
RESOURCES = ("pods", "nodes", "namespaces")
LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2"

PODS = "/api/v1/namespaces/default/pods"
AMOUNTS = {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"}
SMALL = {"cpu": "250m", "memory": "512Mi"}


def _container(name: str, **fields: Any) -> Json:
    return {"name": name, "image": "none", "resources": {"requests": AMOUNTS, "limits": AMOUNTS}, **fields}


def _expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


_SELECTOR = {"matchLabels": {"app": "full"}}
_NEAR = {"labelSelector": _SELECTOR, "topologyKey": "kubernetes.io/hostname"}
_FAR = {
    "labelSelector": {"matchExpressions": [_expression("app", "NotIn", "full"), _expression("tier", "Exists")]},
    "namespaces": ["default", "other"],
    "namespaceSelector": {"matchLabels": {"team": "a"}},
    "topologyKey": "topology.kubernetes.io/zone",
    "matchLabelKeys": ["treadle.dev/queue"],
}
FULL: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "full",
        "labels": {"app": "full", "treadle.dev/queue": "root.a", "empty": ""},
        "annotations": {"note": "größer, 大きい", "long": "x" * 1000, "none": ""},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "u-1", "controller": True},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "u-2"},
        ],
        "finalizers": ["example.com/kept"],
    },
    "spec": {
        "schedulerName": "treadle",
        "activeDeadlineSeconds": 600,
        "containers": [
            _container(
                "main",
                ports=[
                    {"containerPort": 80},
                    {"containerPort": 53, "hostPort": 5353, "hostIP": "10.0.0.1", "protocol": "UDP"},
                ],
            ),
            {"name": "idle", "image": "none"},
        ],
        "initContainers": [_container("sidecar", restartPolicy="Always"), _container("prepare")],
        "volumes": [
            {"name": "claim", "persistentVolumeClaim": {"claimName": "c"}},
            {
                "name": "ephemeral",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                    }
                },
            },
            {"name": "gce", "gcePersistentDisk": {"pdName": "d"}},
            {"name": "aws", "awsElasticBlockStore": {"volumeID": "v"}},
            {"name": "iscsi", "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:storage", "lun": 0}},
            {"name": "rbd", "rbd": {"monitors": ["10.0.0.1"], "image": "i"}},
            {"name": "plain", "emptyDir": {}},
        ],
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [_expression("zone", "In", "a", "b"), _expression("old", "DoesNotExist")],
                            "matchFields": [_expression("metadata.name", "NotIn", "n1")],
                        }
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": {"matchExpressions": [_expression("zone", "In", "a")]}}
                ],
            },
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [_NEAR],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": _FAR}],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [_NEAR, _FAR, {**_NEAR, "namespaceSelector": {}}],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 6, "podAffinityTerm": _NEAR}],
            },
        },
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a", "value": "b", "effect": "NoSchedule"},
            {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
        ],
        "runtimeClassName": "with-overhead",
        "priorityClassName": "seven",
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _SELECTOR},
            {
                "maxSkew": 2,
                "topologyKey": "rack",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": _SELECTOR,
                "minDomains": 3,
                "nodeAffinityPolicy": "Ignore",
                "nodeTaintsPolicy": "Honor",
                "matchLabelKeys": ["treadle.dev/queue"],
            },
        ],
        "schedulingGates": [{"name": "example.com/wait"}],
        "resourceClaims": [
            {"name": "claim", "resourceClaimName": "c"},
            {"name": "made", "resourceClaimTemplateName": "t"},
        ],
        "resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"cpu": "8"}},
        "schedulingGroup": {"podGroupName": "group"},
    },
}
DEEP: Json = {
    "metadata": {"name": "deep"},
    "spec": {
        "hostNetwork": True,
        "hostUsers": False,
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app:1",
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}],
            }
        ],
    },
}
STATUS: Json = {
    "phase": "Running",
    "startTime": "2026-01-02T03:04:05Z",
    "reason": "OutOfcpu",
    "message": "no room: größer",
    "nominatedNodeName": "n1",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "no room: größer"},
    ],
    "containerStatuses": [
        {
            "name": "main",
            "image": "none",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "allocatedResources": SMALL,
            "resources": {"requests": SMALL, "limits": SMALL},
        },
        {"name": "idle", "image": "none", "imageID": "", "ready": True, "restartCount": 0},
    ],
    "initContainerStatuses": [
        {"name": "sidecar", "image": "none", "imageID": "", "ready": True, "restartCount": 0, "allocatedResources": SMALL}
    ],
    "allocatedResources": SMALL,
    "resources": {"requests": SMALL},
    "resourceClaimStatuses": [{"name": "made", "resourceClaimName": "full-made-x"}],
    "extendedResourceClaimStatus": {
        "resourceClaimName": "full-extended-resources-x",
        "requestMappings": [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-2-request-1"}],
    },
}
NODE: Json = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {
        "unschedulable": True,
        "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}],
    },
    "status": {
        "allocatable": {**AMOUNTS, "pods": "110"},
        "capacity": {**AMOUNTS, "pods": "110"},
        "images": [
            {"names": ["registry.example/app@sha256:1", "registry.example/app:1"], "sizeBytes": 123456789},
            {"names": ["none"]},
        ],
        "declaredFeatures": ["One", "Two"],
    },
}


def fill(plane: ControlPlane) -> None:
    """Create the objects: a pod with everything, one with nothing, one on a node that is being deleted, a full and an empty node."""

    def ok(method: str, path: str, body: Json, content_type: str = "application/json") -> None:
        status, answer = plane.api(method, path, body, content_type=content_type)
        assert status in {200, 201}, answer

    merge = "application/merge-patch+json"
    named = {"metadata": {"name": "with-overhead"}, "handler": "h", "overhead": {"podFixed": {"cpu": "10m", "memory": "16Mi"}}}
    ok("POST", "/apis/node.k8s.io/v1/runtimeclasses", named)
    ok("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "seven"}, "value": -7})
    ok("POST", "/api/v1/nodes", NODE)
    ok("POST", "/api/v1/nodes", {"metadata": {"name": "n2"}})
    ok("POST", PODS, FULL)
    plain = {"containers": [{"name": "main", "image": "none"}]}
    ok("POST", PODS, {"metadata": {"name": "plain"}, "spec": plain})
    ok("POST", PODS, DEEP)
    ok("POST", PODS, {"metadata": {"name": "ending", "finalizers": ["example.com/kept"]}, "spec": {**plain, "nodeName": "n2"}})
    ok("DELETE", f"{PODS}/ending", {"gracePeriodSeconds": 3600})
    ok("PATCH", f"{PODS}/full/status", {"status": STATUS}, merge)


def told(plane: ControlPlane, resource: str, form: str) -> bytes:
    """What a streaming list of a resource says, in one form, to its end."""
    status, kind, body = _asked(plane, f"/api/v1/{resource}?{LIST}", form)
    assert (status, kind) == (200, FORMS[form])
    return body


def refused(plane: ControlPlane, form: str) -> bytes:
    """What the answer to a watch of nothing that there is says, in one form."""
    status, kind, body = _asked(plane, "/api/v1/nothing?watch=1", form)
    assert (status, kind) == (404, FORMS[form].partition(";")[0])
    return body


def too_late(plane: ControlPlane, form: str) -> bytes:
    """What a watch from the first version of all says to a server that has not kept it, in one form."""
    status, kind, body = _asked(plane, "/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=2", form)
    assert (status, kind) == (200, FORMS[form])
    return body


def _asked(plane: ControlPlane, path: str, form: str) -> tuple[int, str, bytes]:
    request = urllib.request.Request(f"{plane.url}{path}")
    request.add_header("Accept", f"{FORMS[form]}, {FORMS['json']}")
    request.add_header("Authorization", f"Bearer {plane.token}")
    try:
        with urllib.request.urlopen(request, context=ssl_context(plane.ca)) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def record() -> None:
    """Write what a server says to the folder of recordings."""
    with ControlPlane(arguments=ARGUMENTS) as plane:
        fill(plane)
        for form in FORMS:
            for resource in RESOURCES:
                (RECORDED / f"{resource}.{form}").write_bytes(told(plane, resource, form))
            (RECORDED / f"refusal.{form}").write_bytes(refused(plane, form))


if __name__ == "__main__":
    record()
