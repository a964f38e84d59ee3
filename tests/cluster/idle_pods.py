"""Opportunistic pods on a real API server, in few words, and what is said of pods."""

from __future__ import annotations

from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, pod

PODS = "/api/v1/namespaces/default/pods"


def idle(name: str, queue: str = "root.batch", cpu: str = "2", memory: str = "1Gi", **labels: str) -> dict[str, Any]:
    """A pod as the chart's policy leaves it: it requests nothing, its limits hold it, and the annotation says what it will use."""
    body = pod(name, queue, "scan", cpu="0", memory="0")
    body["metadata"]["labels"] |= {"treadle.dev/execution-type": "opportunistic", **labels}
    body["metadata"]["annotations"] = {"treadle.dev/demand": f"main cpu={cpu} memory={memory}"}
    body["spec"]["containers"][0]["resources"]["limits"] = {"cpu": cpu, "memory": memory}
    return body


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one.get("reason", ""), one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), ("", "")
    )


def events(plane: ControlPlane, reason: str) -> list[dict[str, Any]]:
    found = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
    return [one for one in found if one["reason"] == reason]


def on_nodes(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.bound() if not one["metadata"].get("deletionTimestamp")}
