"""A node that two schedulers place on, on a real API server: what kubelets refuse, what is nominated, and what is left to others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


def create(plane: ControlPlane, *pods: Json) -> None:
    for one in pods:
        status, answer = plane.api("POST", PODS, one)
        assert status == 201, answer


def patched(plane: ControlPlane, path: str, body: Json) -> None:
    status, answer = plane.api("PATCH", path, body, content_type=MERGE)
    assert status == 200, answer


def node_of(plane: ControlPlane, name: str) -> str:
    return plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName", "")


def warnings(plane: ControlPlane) -> list[str]:
    events = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
    return [one["note"] for one in events if one["reason"] == "RefusedByKubelet"]


def test_a_refused_pod_is_told_and_the_one_that_replaces_it_goes_elsewhere(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    plane.api("POST", "/api/v1/nodes", fake_node("node-0", "8", "32Gi"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        create(plane, pod("first", application="a", cpu="1", memory="1Gi"))
        cluster.wait_bound(1)
        words = "Node didn't have enough resource: cpu, requested: 1000, used: 7500, capacity: 8000"
        status = {"phase": "Failed", "reason": "OutOfcpu", "message": f"Pod was rejected: {words}"}
        patched(plane, f"{PODS}/first/status", {"status": status})
        eventually(lambda: any(words in note and "node-0" in note for note in warnings(plane)), what="the owner is told")
        plane.api("POST", "/api/v1/nodes", fake_node("node-1", "8", "32Gi"))
        create(plane, pod("again", application="a", cpu="1", memory="1Gi"))
        eventually(lambda: node_of(plane, "again") == "node-1", what="the pod that replaces it goes elsewhere")


def test_nominated_pods_and_headroom_are_left_their_room(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.api("POST", "/api/v1/nodes", fake_node("node-0", "4", "32Gi"))
    theirs = pod("theirs", cpu="3", memory="1Gi")
    theirs["spec"]["schedulerName"] = "default-scheduler"
    create(plane, theirs)
    patched(plane, f"{PODS}/theirs/status", {"status": {"nominatedNodeName": "node-0"}})
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        create(plane, pod("large", application="a", cpu="2", memory="1Gi"), pod("small", application="b", cpu="1", memory="1Gi"))
        eventually(lambda: node_of(plane, "small") == "node-0", what="what is left is ours")
        assert not node_of(plane, "large")
        patched(plane, "/api/v1/nodes/node-0", {"metadata": {"annotations": {"treadle.dev/headroom": "cpu=2"}}})
        plane.api("DELETE", f"{PODS}/theirs", {"gracePeriodSeconds": 0})
        create(plane, pod("third", application="c", cpu="1", memory="1Gi"))
        eventually(lambda: node_of(plane, "third") == "node-0", what="half of the node is ours")
        assert not node_of(plane, "large")
        patched(plane, "/api/v1/nodes/node-0", {"metadata": {"annotations": {"treadle.dev/headroom": None}}})
        eventually(lambda: node_of(plane, "large") == "node-0", what="all of the node is ours")
