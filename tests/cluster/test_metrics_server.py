"""Room by usage with the real metrics-server: a node is used more and less, its source goes and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane, free_port
from cluster.idle_pods import PODS, events, idle, on_nodes, told
from cluster.metrics_server import MetricsServer, front_proxy, metrics_of_kwok, node_of_kwok
from cluster.treadle_process import Cluster, Treadle, pod, queue

pytestmark = pytest.mark.slow
MERGE = "application/merge-patch+json"
SCHEDULERS = "/apis/treadle.dev/v1alpha1/schedulers"


def uses(plane: ControlPlane, name: str, cpu: str, memory: str = "1Gi") -> None:
    """Let a pod use so much from now on, as kwok tells metrics-server."""
    said = {"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": memory}
    status, answer = plane.api("PATCH", f"{PODS}/{name}", {"metadata": {"annotations": said}}, content_type=MERGE)
    assert status == 200, answer


def with_usage(body: dict[str, Any], cpu: str, memory: str = "1Gi") -> dict[str, Any]:
    annotations = body["metadata"].setdefault("annotations", {})
    annotations |= {"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": memory}
    return body


def begins(sample: dict[str, Any]) -> float:
    """The time of day at which the window of a sample began."""
    return datetime.fromisoformat(sample["timestamp"]).timestamp() - float(sample["window"].removesuffix("s"))


def settings() -> dict[str, Any]:
    """Half of a node may be used before its opportunistic pods are placed no more; at 80% they have to go, the newest first."""
    limits = {"allocationPercent": 50, "preemptionPercent": 80}
    return {
        "usage": {"source": "Metrics", "maxAge": "25s"},
        "thresholds": {"cpu": limits, "memory": limits},
        "preemption": {"order": "Newest"},
    }


def test_by_metrics_server_the_newest_pod_leaves_a_node_that_is_used_too_much_and_nothing_is_placed_blindly(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane(arguments=front_proxy(tmp_path / "front-proxy"))
    plane.apply_crds()
    (node,) = plane.create_nodes(1, "8", "32Gi")
    address = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}}
    assert plane.api("PATCH", f"/api/v1/nodes/{node}/status", address, content_type=MERGE)[0] == 200
    assert plane.api("PATCH", f"/api/v1/nodes/{node}", node_of_kwok(node), content_type=MERGE)[0] == 200
    plane.start_controller_manager()
    kubelet = free_port()
    plane.start_kwok(metrics_of_kwok(), f"--server-address=127.0.0.1:{kubelet}")
    cluster = Cluster(plane)
    cluster.queues(queue("root.batch"), queue("root.prod"))
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert plane.api("POST", SCHEDULERS, {**body, "spec": {"opportunistic": settings()}})[0] == 201
    whole = pod("whole", "root.prod", "prod", cpu="8", memory="32Gi")
    cluster.pods([with_usage(whole, "1"), with_usage(idle("older", cpu="1"), "1")])

    def ready() -> tuple[str, str]:
        found = cluster.condition("schedulers", "treadle", "Ready")
        return found.get("reason", ""), found.get("message", "")

    server = MetricsServer(plane, f"--kubelet-port={kubelet}", "--deprecated-kubelet-completely-insecure")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle, server:
        treadle.wait_ready()
        eventually(lambda: on_nodes(cluster) == {"whole", "older"}, 60, "a node that is requested whole takes it by usage")
        eventually(lambda: ready() == ("InForce", ""), 30, "all is well")
        cluster.pods([with_usage(idle("newer", cpu="1"), "1")])
        eventually(lambda: on_nodes(cluster) == {"whole", "older", "newer"}, 60, "there is room for another")

        uses(plane, "whole", "5")
        since, told_of = time.time(), set()

        def left() -> bool:
            sample = server.samples().get(node)
            if sample is not None and begins(sample) >= since:
                told_of.add(sample["timestamp"])
            return on_nodes(cluster) == {"whole", "older"}

        eventually(left, 60, "the newest leaves", 0.2)
        assert len(told_of) <= 2, "no later than the second sample that tells of nothing but the time since"
        (event,) = eventually(lambda: events(plane, "Preempted"), 30, "its owner is told")
        assert event["regarding"]["name"] == "newer"
        assert f"opportunistic: node {node} uses " in event["note"]
        assert "of its 8 cpu, more than 80%" in event["note"]
        assert treadle.metric('treadle_opportunistic_pods_removed_total{reason="Usage"}') == 1

        uses(plane, "whole", "1")
        server.stop()
        cluster.pods([with_usage(idle("late", cpu="1"), "1")])
        eventually(lambda: ready()[0] == "UsageUnknown", 60, "the Scheduler says that the source is gone")
        assert "metrics.k8s.io" in ready()[1]
        eventually(lambda: told(plane, "late")[0] == "UsageUnknown", 90, "and so is the pod told, which waits")
        assert on_nodes(cluster) == {"whole", "older"}, "nobody is placed, and nobody goes, for a guess"

        server.start()
        eventually(lambda: on_nodes(cluster) == {"whole", "older", "late"}, 90, "the source is back and placement goes on")
        eventually(lambda: ready() == ("InForce", ""), 30, "and the Scheduler says so")
