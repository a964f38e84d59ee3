"""The manifests of the guides on a real API server: it takes those of its own kinds and ours, without a warning, and their pods are placed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.treadle_process import Cluster, Treadle, eventually
from guides import manifests

PATHS = {
    "Queue": "/apis/treadle.dev/v1alpha1/queues",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "CronJob": "/apis/batch/v1/namespaces/default/cronjobs",
    "Pod": "/api/v1/namespaces/default/pods",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
}


def template(one: dict[str, Any]) -> dict[str, Any]:
    """A pod as the controller of an object makes it."""
    if one["kind"] == "Pod":
        return copy.deepcopy(one)
    spec = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one["spec"]
    made = copy.deepcopy(spec["template"])
    return {**made, "metadata": {**made["metadata"], "name": f"{one['metadata']['name']}-0", "namespace": "default"}}


def test_what_the_guides_say_can_be_applied_and_runs(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(3, "8", "32Gi")
    plane = cluster.plane
    made = [one for one in manifests() if one["kind"] in PATHS]
    for one in made:
        status, answer = plane.api("POST", PATHS[one["kind"]], one, {"fieldValidation": "Strict"})
        assert status == 201, answer
    for one in made:
        if one["kind"] not in {"Queue", "Pod"}:
            status, answer = plane.api("POST", PATHS["Pod"], template(one), {"fieldValidation": "Strict"})
            assert status == 201, answer
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: len(cluster.bound()) == len(cluster.all_pods()), 60, "all pods are bound")
