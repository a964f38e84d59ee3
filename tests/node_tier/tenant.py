"""What a user of the cluster does in a namespace of their own, whose queue an annotation names."""

from __future__ import annotations

from typing import Any

from cluster.client import eventually
from node_tier import real_node
from node_tier.build import REFERENCE
from node_tier.release import GROUP, Release

SPACE = "team"
QUEUE = "root.research"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
QUEUES = f"{GROUP}/queues"


def moved_in(release: Release) -> None:
    """Make the namespace, and its queue, which may have one processor."""
    space = {"metadata": {"name": SPACE, "annotations": {"treadle.dev/queue": QUEUE}}}
    release.plane.api("POST", "/api/v1/namespaces", space)
    queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": QUEUE}}
    body = {**queue, "spec": {"fair": {"maxResources": {"cpu": "1"}}}}
    # An API server needs up to half a minute to know the kind of a policy's parameters.
    eventually(lambda: release.plane.api("POST", QUEUES, body)[0] in {201, 409}, 60, "the queue is there")
    eventually(
        lambda: release.plane.api("GET", f"/api/v1/namespaces/{SPACE}/serviceaccounts/default")[0] == 200, 30, "its account"
    )


def spec(cpu: str, image: str = real_node.IMAGE, *arguments: str) -> dict[str, Any]:
    """The spec of a pod; without arguments it runs until it is deleted."""
    resources = {"requests": {"cpu": cpu, "memory": "32Mi"}}
    container = {"name": "c", "image": image, "imagePullPolicy": "Never", "args": list(arguments), "resources": resources}
    return {"schedulerName": "treadle", "terminationGracePeriodSeconds": 1, "containers": [container]}


def pod(name: str, cpu: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec(cpu)}


def job(name: str, count: int) -> dict[str, Any]:
    """A Job of pods that end."""
    template = {"spec": {**spec("100m", REFERENCE, "--version"), "restartPolicy": "Never"}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
    return {**body, "spec": {"completions": count, "parallelism": count, "template": template}}


def made(release: Release, *bodies: dict[str, Any]) -> None:
    for body in bodies:
        status, answer = release.plane.api("POST", JOBS if body["kind"] == "Job" else PODS, body)
        assert status == 201, answer


def seen(release: Release, name: str) -> dict[str, Any]:
    found: dict[str, Any] = release.plane.api("GET", f"{PODS}/{name}")[1]
    return found


def runs(release: Release, name: str) -> bool:
    return bool(seen(release, name).get("status", {}).get("phase") == "Running")


def waits(release: Release, name: str) -> dict[str, Any]:
    """Why a pod waits, as its condition says; empty while it says nothing, and when it is placed."""
    said = seen(release, name).get("status", {}).get("conditions", [])
    return next((one for one in said if one["type"] == "PodScheduled" and one["status"] == "False"), {})
