"""Gangs on a real API server: they start whole among many small pods, and a restart in the middle loses none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
SMALL = int(os.environ.get("TREADLE_GANG_SMALL", "5000"))
"""Small pods beside the gang."""
PODS = "/api/v1/namespaces/default/pods"


def member(name: str, least: int | None = None, **fields: Any) -> Json:
    found = pod(name, "root.train", "train", **fields)
    found["metadata"]["labels"]["treadle.dev/gang"] = "workers"
    if least is not None:
        found["metadata"]["labels"]["treadle.dev/gang-min-member"] = str(least)
    return found


def bound_of(cluster: Cluster, prefix: str) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.bound() if one["metadata"]["name"].startswith(prefix)]


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one["reason"], one["message"]) for one in conditions if one["type"] == "PodScheduled" and "reason" in one), ("", "")
    )


def application(name: str, least: int) -> Json:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"gangs": [{"name": "workers", "minMember": least}]},
    }


def test_a_large_gang_among_many_small_pods_starts_whole_when_there_is_room_for_all_of_it(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    nodes = SMALL // 50
    plane.create_nodes(nodes, "64", "256Gi")
    cluster = Cluster(plane)
    cluster.queues(queue("root.small"), queue("root.train"))
    path = "/apis/treadle.dev/v1alpha1/namespaces/default/applications"
    assert plane.api("POST", path, application("train", 200))[0] == 201
    free = 64 * nodes - SMALL
    cpu = free // 200 + 1  # the small pods leave too little for all of the gang
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods(
            [pod(f"small-{number}", "root.small", f"job-{number % 20}", cpu="1", memory="64Mi") for number in range(SMALL)]
        )
        cluster.wait_bound(SMALL)
        cluster.pods([member(f"worker-{number}", cpu=str(cpu), memory="64Mi") for number in range(200)])
        start = 'gang "workers" starts with 200 pods: 0 are placed, and of the 200 others at most '
        reason, words = eventually(lambda: (found := told(plane, "worker-0"))[0] and found, 60, "the gang is told why it waits")
        assert reason == "Unschedulable"
        assert words.startswith(start)
        assert words.endswith(" fit now")
        assert 0 < int(words.removeprefix(start).removesuffix(" fit now")) < 200
        assert bound_of(cluster, "worker") == []

        # small pods go on while it waits: nothing is held for it
        cluster.pods([pod(f"late-{number}", "root.small", "late", cpu="1", memory="64Mi") for number in range(20)])
        eventually(lambda: len(bound_of(cluster, "late")) == 20, 60, "others are placed")
        assert bound_of(cluster, "worker") == []

        for number in range(200 * cpu - free + 20 + nodes * cpu):
            plane.api("DELETE", f"{PODS}/small-{number}", {"gracePeriodSeconds": 0})
        eventually(lambda: len(bound_of(cluster, "worker")) == 200, 120, "the gang has started")


def test_a_restart_in_the_middle_of_a_gangs_binds_completes_it(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(10, "64", "256Gi")
    cluster = Cluster(plane)
    cluster.queues(queue("root.train"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([member(f"worker-{number}", 500, cpu="1", memory="64Mi") for number in range(499)])
        wanted = (
            "GangIncomplete",
            'gang "workers" starts with 500 pods: 0 are placed and 499 wait, the others are not there yet',
        )
        eventually(lambda: told(plane, "worker-0") == wanted, 60, "one is missing")
        cluster.pods([member("worker-last", 500, cpu="1", memory="64Mi")])
        eventually(lambda: bound_of(cluster, "worker"), 60, "some are bound", 0.01)
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path):
        cluster.wait_bound(500)


def test_task_groups_in_yunikorns_words_start_together(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "8", "32Gi")
    groups = '[{"name": "driver", "minMember": 1}, {"name": "executors", "minMember": 14}]'

    def of(name: str, group: str) -> Json:
        found = pod(name, application="spark", cpu="1", memory="64Mi")
        found["metadata"]["annotations"] = {
            "yunikorn.apache.org/task-group-name": group,
            "yunikorn.apache.org/task-groups": groups,
        }
        return found

    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path):
        cluster.pods([pod("other", application="other", cpu="2", memory="64Mi"), of("driver", "driver")])
        cluster.wait_bound(2)
        cluster.pods([of(f"executor-{number}", "executors") for number in range(14)])
        eventually(
            lambda: told(cluster.plane, "executor-0")[1].startswith('gang "executors" starts with 14 pods'), 30, "it waits"
        )
        assert bound_of(cluster, "executor") == []
        cluster.plane.api("DELETE", f"{PODS}/other", {"gracePeriodSeconds": 0})
        eventually(lambda: len(bound_of(cluster, "executor")) == 14, 30, "it has started")


def test_the_example_of_a_training_job_starts_whole(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "7", "32Gi")
    cluster.plane.start_controller_manager()
    paths = {
        "Application": "/apis/treadle.dev/v1alpha1/namespaces/default/applications",
        "Job": "/apis/batch/v1/namespaces/default/jobs",
    }
    for one in yaml.safe_load_all((ROOT / "examples" / "gang.yaml").read_text()):
        status, answer = cluster.plane.api("POST", paths[one["kind"]], one)
        assert status == 201, answer
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path):
        names = eventually(
            lambda: len(found := [one["metadata"]["name"] for one in cluster.all_pods()]) == 8 and found, 60, "the pods"
        )
        eventually(lambda: told(cluster.plane, names[0])[1].startswith('gang "workers" starts with 8 pods'), 30, "they wait")
        assert cluster.bound() == []
        cluster.plane.api("POST", "/api/v1/nodes", fake_node("another", "2", "8Gi"))
        cluster.wait_bound(8)
        assert cluster.condition("applications", "train", "NotActedOn", "default").get("status") != "True"
