"""Pods of the node tier: they use the node's network, and the program of its image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster.client import eventually
from cluster.idle_pods import PODS, idle
from cluster.treadle_process import pod
from node_tier.real_node import IMAGE, RealNode

MERGE = "application/merge-patch+json"


def real(body: dict[str, Any], *arguments: str, **spec: Any) -> dict[str, Any]:
    """A pod that a kubelet can run; ``arguments`` are the program's."""
    (container,) = body["spec"]["containers"]
    container |= {"image": IMAGE, "imagePullPolicy": "Never", "args": list(arguments)}
    body["spec"] |= {"hostNetwork": True, "terminationGracePeriodSeconds": 1, **spec}
    return body


def idle_pod(name: str, cpu: str = "500m", memory: str = "64Mi", *arguments: str) -> dict[str, Any]:
    return real(idle(name, cpu=cpu, memory=memory), *arguments)


def guaranteed(name: str, cpu: str = "1", memory: str = "64Mi", *arguments: str, **spec: Any) -> dict[str, Any]:
    return real(pod(name, "root.prod", "prod", cpu=cpu, memory=memory), *arguments, **spec)


def get(node: RealNode, name: str) -> dict[str, Any]:
    status, found = node.plane.api("GET", f"{PODS}/{name}")
    return found if status == 200 else {}


def phase(node: RealNode, name: str) -> str:
    found: str = get(node, name).get("status", {}).get("phase", "")
    return found


def container(node: RealNode, name: str) -> dict[str, Any]:
    """What the kubelet says of the only container of a pod; empty where it says nothing."""
    return next(iter(get(node, name).get("status", {}).get("containerStatuses", [])), {})


def running(node: RealNode, *names: str) -> dict[str, Any]:
    """Wait until the pods run, and return the last of them."""
    for name in names:
        eventually(lambda name=name: phase(node, name) == "Running" and container(node, name).get("ready"), 60, f"{name} runs")
    return get(node, names[-1])


def relabelled(node: RealNode, name: str, kind: str) -> None:
    labels = {"metadata": {"labels": {"treadle.dev/execution-type": kind}}}
    status, answer = node.plane.api("PATCH", f"{PODS}/{name}", labels, content_type=MERGE)
    assert status == 200, answer


def holds(node: RealNode, name: str, what: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Wait until the kernel holds a pod to something, and return it."""
    found: dict[str, int] = {}

    def look() -> bool:
        found.update(node.held(get(node, name)))
        return what(found)

    eventually(look, 60, f"the kernel's limits of {name}; they are {found}")
    return found
