"""Limits on running applications, moves of what runs, and edits of queues while hundreds of pods wait, on a real API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

GROUP = "/apis/treadle.dev/v1alpha1"
NODES = 10


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    """The reason and the message of a pod's PodScheduled condition, empty while it is told nothing."""
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one.get("reason", ""), one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), ("", "")
    )


def edit(plane: ControlPlane, path: str, spec: dict[str, Any]) -> None:
    status, answer = plane.api("PATCH", f"{GROUP}/{path}", {"spec": spec}, content_type="application/merge-patch+json")
    assert status == 200, answer


def application(plane: ControlPlane, name: str, leaf: str) -> None:
    body = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queue": leaf},
    }
    status, answer = plane.api("POST", f"{GROUP}/namespaces/default/applications", body)
    assert status == 201, answer


def used(treadle: Treadle, leaf: str) -> float:
    return treadle.metric(f'treadle_queue_resource{{kind="used",queue="{leaf}",resource="cpu"}}')


def test_an_application_that_ends_lets_the_next_one_run_also_after_a_crash(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    plane = cluster.plane
    narrow = queue("root.narrow")
    narrow["spec"]["maxRunningApplications"] = 1
    cluster.queues(narrow)

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod(f"first-{number}", "root.narrow", "first") for number in range(2)])
        cluster.wait_bound(2)
        cluster.pods([pod("second", "root.narrow", "second")])
        reason, message = eventually(
            lambda: told(plane, "second") if told(plane, "second")[0] else None, 30, "the pod is told why it waits"
        )
        assert reason == "TooManyApplications"
        assert message.endswith("queue root.narrow has 1 running applications; its limit is 1 (maxRunningApplications)")
        treadle.kill()

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("first-2", "root.narrow", "first")])
        assert {one["metadata"]["name"] for one in cluster.wait_bound(3)} == {"first-0", "first-1", "first-2"}
        eventually(
            lambda: cluster.get("queues", "root.narrow").get("status", {}).get("applications") == {"running": 1, "pending": 1},
            30,
            "the queue counts one that runs and one that waits",
        )
        for number in range(3):
            plane.api("DELETE", f"/api/v1/namespaces/default/pods/first-{number}", {"gracePeriodSeconds": 0})
        (bound,) = cluster.wait_bound(1)
        eventually(lambda: [one["metadata"]["name"] for one in cluster.bound()] == ["second"], 30, "the next one runs")
        assert bound["metadata"]["namespace"] == "default"


def test_a_running_application_moves_when_it_may_and_says_why_it_may_not(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    plane = cluster.plane
    source = queue("root.from")
    source["spec"]["maxRunningApplications"] = 1
    cluster.queues(source, queue("root.to", maxResources={"cpu": "500m"}))
    application(plane, "mover", "root.from")

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod(f"mover-{number}", application="mover") for number in range(2)])
        cluster.wait_bound(2)
        cluster.pods([pod("behind", "root.from", "behind")])
        edit(plane, "namespaces/default/applications/mover", {"queue": "root.to"})
        refused = eventually(
            lambda: cluster.condition("applications", "mover", "Moved", "default"), 30, "the application says why it stays"
        )
        assert (refused["status"], refused["reason"]) == ("False", "MoveRefused")
        assert refused["message"].endswith("with what it holds root.to would be over its maximum")
        assert used(treadle, "root.from") == 1.0

        edit(plane, "queues/root.to", {"fair": {"maxResources": {"cpu": "1"}}})
        cluster.wait_bound(3)
        eventually(lambda: (used(treadle, "root.from"), used(treadle, "root.to")) == (0.5, 1.0), 30, "what it holds has moved")
        eventually(
            lambda: cluster.condition("applications", "mover", "Moved", "default")["status"] == "True", 30, "the refusal is over"
        )
        assert cluster.get("applications", "mover", "default")["status"]["queue"] == "root.to"


def test_edits_of_queues_take_effect_while_three_hundred_pods_wait(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(NODES, "3", "16Gi")
    plane = cluster.plane
    closed = queue("root.b")
    closed["spec"]["maxRunningApplications"] = 0
    cluster.queues(queue("root.a", maxResources={"cpu": "2"}), closed)
    cluster.pods(
        [pod(f"{leaf}-{number}", f"root.{leaf}", f"{leaf}-{number // 10}") for number in range(150) for leaf in ("a", "b")]
    )

    def held() -> Counter[str]:
        return Counter(one["metadata"]["labels"]["treadle.dev/queue"] for one in cluster.bound())

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: held() == {"root.a": 4}, 60, "only what the first limits allow")

        edit(plane, "queues/root.a", {"fair": {"maxResources": {"cpu": "5"}}})
        edit(plane, "queues/root.b", {"maxRunningApplications": 5})
        eventually(lambda: held() == {"root.a": 10, "root.b": 50}, 60, "what the raised limits allow")

        # nothing is free now; what comes goes to whoever is further below its part, which is one to three from here on
        edit(plane, "queues/root.b", {"maxRunningApplications": 15, "fair": {"weight": "3"}})
        edit(plane, "queues/root.a", {"fair": {"maxResources": {"cpu": "100%"}}})
        for name in ("a", "b"):
            eventually(lambda name=name: in_force(cluster, f"root.{name}"), 30, "the edits are in force")
        plane.create_nodes(5, "4", "16Gi", prefix="late-")
        cluster.wait_bound(100)
        found = held()
        assert abs(found["root.a"] - 25) <= 1, found
        assert found.total() == 100
        assert treadle.get("/healthz")[0] == 200


def in_force(cluster: Cluster, name: str) -> bool:
    found = cluster.get("queues", name)
    return bool(found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"])
