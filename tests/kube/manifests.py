"""Pods, containers and nodes as manifests and as wire objects, in few words."""

from __future__ import annotations

from typing import Any

import msgspec

from treadle.kube import wire

Json = dict[str, Any]


def container(name: str = "main", *, always: bool = False, ports: list[Json] | None = None, **requests: str) -> Json:
    """A container with requests; ``always`` makes an init container a sidecar. Underscores in names stand for what Python forbids."""
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in requests.items()}
    return {
        "name": name,
        "image": "none",
        "resources": {"requests": named},
        **({"restartPolicy": "Always"} if always else {}),
        **({"ports": ports} if ports else {}),
    }


def pod(
    name: str = "a",
    *containers: Json,
    namespace: str = "default",
    metadata: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """A pod for treadle, with one small container if none is given."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **(metadata or {})},
        "spec": {"schedulerName": "treadle", "containers": list(containers) or [container(cpu="1", memory="1Gi")], **spec},
        **({"status": status} if status is not None else {}),
    }


def node(name: str, cpu: str = "4", memory: str = "16Gi", pods: str = "110", **fields: Any) -> Json:
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": allocatable, "capacity": allocatable},
        **fields,
    }


def wired(manifest: Json) -> wire.Pod:
    """A pod as it is decoded from the wire."""
    return msgspec.json.decode(msgspec.json.encode(manifest), type=wire.Pod)
