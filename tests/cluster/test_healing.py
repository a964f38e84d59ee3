"""Watches of our kinds that end are begun again: definitions that were deleted and put back, and an API server that has forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SOON = 12.0
"""Seconds in which an edit is in force where kopf tells of it; our own lists are thirty apart."""


def delete_the_definitions(plane: ControlPlane) -> None:
    for plural in ("queues", "applications", "schedulers", "reservations"):
        plane.api("DELETE", f"{DEFINITIONS}/{plural}.treadle.dev")
        served = f"/apis/treadle.dev/v1alpha1/{plural}"
        eventually(lambda served=served: plane.api("GET", served)[0] == 404, 60, f"{served} to be gone")


def queues_in_force(treadle: Treadle) -> bool:
    return 'queue="root.later"' in treadle.get("/metrics")[1]


def test_definitions_that_were_deleted_and_put_back_are_watched_again(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    cluster.queues(queue("root.before"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("first", "root.before", "first")])
        cluster.wait_bound(1)
        delete_the_definitions(cluster.plane)
        # no Queue is left, so there is root.default for all, in which this one is bound
        cluster.pods([pod("second", "root.before", "second")])
        cluster.wait_bound(2, 60)
        cluster.plane.apply_crds()
        cluster.queues(queue("root.later", weight=2))
        eventually(lambda: queues_in_force(treadle), SOON, "the new queue being in force")
        cluster.pods([pod("third", "root.later", "third")])
        cluster.wait_bound(3)
        held = eventually(lambda: cluster.condition("queues", "root.later", "Ready").get("status"), 30, "a condition")
        assert held == "True"
        assert treadle.get("/healthz")[0] == 200
        assert "Exception in callback" not in treadle.log.read_text()


@pytest.mark.parametrize("times", [1, 3])
def test_an_api_server_that_was_restarted_is_watched_again(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path, times: int
) -> None:
    """It remembers nothing from before its start, so a watch that goes on from an older version ends in 410."""
    cluster = fresh_cluster(1)
    cluster.queues(queue("root.before"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for _ in range(times):
            cluster.plane.stop_apiserver()
            cluster.plane.start_apiserver()
        treadle.wait_ready()
        cluster.queues(queue("root.later"))
        eventually(lambda: queues_in_force(treadle), SOON, "the new queue being in force")
