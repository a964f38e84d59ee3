"""Nodes that are cordoned, shrink, are lost and come back, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

Json = dict[str, Any]
PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
MERGE = "application/merge-patch+json"


def create(plane: ControlPlane, name: str, cpu: str = "1") -> None:
    status, answer = plane.api("POST", PODS, pod(name, application=name, cpu=cpu, memory="64Mi"))
    assert status == 201, answer


def node_of(plane: ControlPlane, name: str) -> str:
    return plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName", "")


def waits(plane: ControlPlane, name: str, words: str) -> bool:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return any(words in one.get("message", "") for one in conditions if one["type"] == "PodScheduled")


def held(plane: ControlPlane, name: str, words: str, what: str) -> None:
    """Make a pod, and wait until it is told these words; one that was decided before the change to its node was known is made again."""
    create(plane, name)

    def told() -> bool:
        if node_of(plane, name):
            plane.api("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
            create(plane, name)
        return waits(plane, name, words)

    eventually(told, what=what)


def patched(plane: ControlPlane, path: str, body: Json) -> None:
    status, answer = plane.api("PATCH", path, body, content_type=MERGE)
    assert status == 200, answer


def test_a_node_through_its_life(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    plane.api("POST", NODES, fake_node("node-0", "4", "32Gi"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        create(plane, "first", cpu="2")
        cluster.wait_bound(1)

        patched(plane, f"{NODES}/node-0", {"spec": {"unschedulable": True}})
        held(plane, "second", "were unschedulable", "a cordoned node takes no more")
        patched(plane, f"{NODES}/node-0", {"spec": {"unschedulable": None}})
        eventually(lambda: node_of(plane, "second") == "node-0", what="the node is uncordoned")

        patched(plane, f"{NODES}/node-0/status", {"status": {"allocatable": {"cpu": "2"}}})
        held(plane, "third", "Insufficient cpu", "it has shrunk below what is used")
        patched(plane, f"{NODES}/node-0/status", {"status": {"allocatable": {"cpu": "4"}}})
        eventually(lambda: node_of(plane, "third") == "node-0", what="it has grown in place")

        plane.api("DELETE", f"{NODES}/node-0")
        create(plane, "fourth")
        eventually(lambda: waits(plane, "fourth", "0/0 nodes"), what="the node is lost, with pods bound to it")
        plane.api("POST", NODES, fake_node("node-0", "4", "32Gi"))
        create(plane, "fifth")
        eventually(lambda: waits(plane, "fifth", "Insufficient cpu"), what="made anew it is full of what is bound to its name")
        assert not node_of(plane, "fourth")
        plane.api("DELETE", f"{PODS}/first", {"gracePeriodSeconds": 0})
        eventually(lambda: node_of(plane, "fourth") == "node-0", what="room has come, for the older one first")


def resized(plane: ControlPlane, name: str, cpu: str) -> None:
    body = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}
    status, answer = plane.api("PATCH", f"{PODS}/{name}/resize", body, content_type="application/strategic-merge-patch+json")
    assert status == 200, answer


def in_force(plane: ControlPlane, name: str, cpu: str, **condition: str) -> None:
    """Say what a kubelet says of a pod that runs: which amounts are in force, and what becomes of those that were wished for."""
    amounts = {"cpu": cpu, "memory": "64Mi"}
    status = {
        "name": "main",
        "image": "pause",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "allocatedResources": amounts,
        "resources": {"requests": amounts},
        "state": {"running": {}},
    }
    conditions = [{"type": "PodScheduled", "status": "True"}]
    conditions += [{"type": "PodResizePending", "status": "True", **condition}] if condition else []
    patched(
        plane, f"{PODS}/{name}/status", {"status": {"phase": "Running", "containerStatuses": [status], "conditions": conditions}}
    )


def test_a_pod_that_is_resized_in_place_counts_with_what_it_wishes_and_with_what_is_in_force(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    plane.api("POST", NODES, fake_node("node-0", "4", "32Gi"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        create(plane, "grows", cpu="1")
        cluster.wait_bound(1)
        in_force(plane, "grows", "1")
        resized(plane, "grows", "3")
        used = 'treadle_queue_resource{kind="used",queue="root.default",resource="cpu"}'
        eventually(lambda: treadle.metric(used) == 3, what="its queue is charged with what it wishes")
        create(plane, "second", cpu="2")
        eventually(lambda: waits(plane, "second", "Insufficient cpu"), what="no room beside what is wished")

        in_force(plane, "grows", "1", reason="Infeasible", message="the node is too small")
        eventually(lambda: node_of(plane, "second") == "node-0", what="what cannot be had is not counted")

        in_force(plane, "grows", "1")
        resized(plane, "second", "1")
        resized(plane, "grows", "1")
        in_force(plane, "second", "2")
        create(plane, "third", cpu="2")
        eventually(lambda: waits(plane, "third", "Insufficient cpu"), what="until it has shrunk, it has what it had")
        in_force(plane, "second", "1")
        eventually(lambda: node_of(plane, "third") == "node-0", what="it has shrunk")
