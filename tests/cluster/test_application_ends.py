"""An Application ends as its pods do, on a real API server, and what is known of them outlives them and the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.treadle_process import Cluster, Treadle, eventually, pod

PODS, APPLICATIONS = "/api/v1/namespaces/default/pods", "/apis/treadle.dev/v1alpha1/namespaces/default/applications"


def test_an_application_is_finished_or_failed_when_its_pods_are(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "4", "16Gi")
    plane = cluster.plane

    def status() -> dict[str, Any]:
        found: dict[str, Any] = plane.api("GET", f"{APPLICATIONS}/nightly")[1].get("status") or {}
        return found

    def starts(*names: str) -> None:
        for name in names:
            assert plane.api("POST", PODS, pod(name, "root.default", "nightly", cpu="1", memory="1Gi"))[0] == 201
        eventually(lambda: all(plane.api("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName") for name in names), 30, "bound")
        eventually(lambda: status().get("phase") == "Running", 30, "it runs")

    def ends(name: str, phase: str) -> None:
        body = {"status": {"phase": phase}}
        code, said = plane.api("PATCH", f"{PODS}/{name}/status", body, content_type="application/merge-patch+json")
        assert code == 200, said

    def counted(succeeded: int, failed: int = 0) -> bool:
        pods = status().get("pods") or {}
        return (pods.get("succeeded", 0), pods.get("failed", 0)) == (succeeded, failed)

    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "nightly"}, "spec": {}}
    assert plane.api("POST", APPLICATIONS, body)[0] == 201
    kubeconfig = plane.scheduler_kubeconfig()
    with Treadle(kubeconfig, tmp_path) as treadle:
        treadle.wait_ready()
        starts("a", "b")
        ends("a", "Succeeded")
        eventually(lambda: counted(1), 20, "one has succeeded")
        assert status()["phase"] == "Running"
        ends("b", "Succeeded")
        eventually(lambda: status()["phase"] == "Finished", 60, "it is over")
        assert counted(2)
        assert status()["pods"]["running"] == 0
        treadle.kill()
    for name in ("a", "b"):
        assert plane.api("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})[0] == 200
    with Treadle(kubeconfig, tmp_path) as treadle:
        treadle.wait_ready()
        starts("c")
        assert counted(2)
        ends("c", "Failed")
        eventually(lambda: status()["phase"] == "Failed", 60, "it is over again")
        assert counted(2, 1)
        scheduler = plane.api("GET", "/apis/treadle.dev/v1alpha1/schedulers")[1]["items"]
        assert scheduler == []
        made = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {}}
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", made)[0] == 201

        def numbers() -> Any:
            said = plane.api("GET", "/apis/treadle.dev/v1alpha1/schedulers/treadle")[1].get("status") or {}
            return (said.get("nodes"), said.get("queues")) == (2, 2)

        eventually(numbers, 20, "the Scheduler says how many nodes and queues there are")
