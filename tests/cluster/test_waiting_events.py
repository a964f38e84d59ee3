"""A waiting pod says why where people look: in the events that ``kubectl describe pod`` and ``kubectl get events`` ask the API server for."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue


def about(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    """The warnings that ``kubectl describe pod`` shows of a pod: it asks by the uid."""
    uid = cluster.plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["metadata"]["uid"]
    path = f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid},type=Warning"
    return cluster.plane.api("GET", path)[1]["items"]


def warnings(cluster: Cluster, reason: str) -> list[dict[str, Any]]:
    found = cluster.plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
    return [event for event in found if event["reason"] == reason]


@pytest.fixture
def cluster(fresh_cluster: Callable[..., Cluster]) -> Cluster:
    return fresh_cluster(2, "4", "16Gi")


def test_pods_of_a_full_queue_are_told_of_by_one_event_with_limit_lack_and_who_is_ahead(cluster: Cluster, tmp_path: Path) -> None:
    cluster.queues(queue("root.etl", maxResources={"cpu": "3"}, schedulingPolicy="fifo"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod(f"early-{number}", "root.etl", "early", cpu="1", memory="64Mi") for number in range(5)])
        cluster.wait_bound(3)
        cluster.pods([pod(f"late-{number}", "root.etl", "late", cpu="2", memory="64Mi") for number in range(4)])
        early, late = eventually(lambda: sorted(found, key=lambda e: e["message"]) if len(found := warnings(cluster, "FailedScheduling")) > 1 else None)  # fmt: skip
        waiting = sorted(one["metadata"]["name"] for one in cluster.all_pods() if not one["spec"].get("nodeName"))
    full = "QueueMaximum: queue root.etl is at its maximum (maxResources): cpu 3 used of 3, "
    if "application default/early" not in early["message"]:
        early, late = late, early
    assert early["message"] == (
        f"{full}1 wanted, 1 missing. 2 pods of application default/early of queue root.etl wait for this. No pod of the queue is ahead."
    )
    first = next(name for name in waiting if name.startswith("early"))
    assert late["message"].startswith(
        f"{full}2 wanted, 2 missing. 4 pods of application default/late of queue root.etl wait for this."
    )
    assert late["message"].endswith(f"2 pods are ahead, first default/{early['involvedObject']['name']}.")
    assert early["involvedObject"]["name"] in waiting, first
    assert [event["message"] for event in about(cluster, early["involvedObject"]["name"])] == [early["message"]]


def test_a_queue_that_does_not_exist_is_told_of_when_the_default_takes_the_pod(cluster: Cluster, tmp_path: Path) -> None:
    cluster.queues(queue("root.default"), queue("root.etl"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("lost", "root.elt", "nightly")])
        cluster.wait_bound(1)
        (event,) = eventually(lambda: about(cluster, "lost"))
    assert event["reason"] == "QueueNotFound"
    assert (
        event["message"]
        == "Queue root.elt, which application default/nightly asks for, does not exist (did you mean root.etl?); its pods are in queue root.default"
    )


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_kubectl_describe_shows_it(cluster: Cluster, tmp_path: Path) -> None:
    kubectl = ["kubectl", f"--kubeconfig={cluster.plane.kubeconfig}"]
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("huge", cpu="64")])
        eventually(lambda: about(cluster, "huge"))
        described = subprocess.run([*kubectl, "describe", "pod", "huge"], capture_output=True, text=True, check=True).stdout
        listed = subprocess.run([*kubectl, "get", "events"], capture_output=True, text=True, check=True).stdout
    for text in (described, listed):
        assert "FailedScheduling" in text
        assert "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu. The nearest that suits, node-0000" in text
        assert "lacks cpu 60." in text
