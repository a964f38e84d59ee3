"""Watches of our kinds that end are begun again: definitions that were deleted and put back, and an API server that has forgotten."""

from __future__ import annotations

import json
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
    with Treadle(cluster.plane.kubeconfig, tmp_path) as treadle:
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


@pytest.mark.parametrize("again", [1, 3])
def test_an_api_server_that_was_restarted_has_forgotten_and_is_watched_again(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path, again: int
) -> None:
    cluster = fresh_cluster(1)
    cluster.queues(queue("root.before"))
    with Treadle(cluster.plane.kubeconfig, tmp_path) as treadle:
        treadle.wait_ready()
        for _ in range(again):
            cluster.plane.stop_apiserver()
            cluster.plane.start_apiserver()
        treadle.wait_ready()
        cluster.queues(queue("root.later"))
        eventually(lambda: queues_in_force(treadle), SOON, "the new queue being in force")


def test_a_watch_that_is_told_410_goes_on(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    """The log of a resource is short while little happens, and compacted history is gone: a watch from an old version ends in 410."""
    cluster = fresh_cluster(1)
    plane = cluster.plane
    cluster.queues(queue("root.before"))
    with Treadle(plane.kubeconfig, tmp_path) as treadle:
        treadle.wait_ready()
        plane.stop_apiserver()
        # what happens now is nothing that the scheduler sees, and the server that comes back remembers nothing before itself
        plane.start_apiserver()
        for number in range(20):
            status, answer = plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", queue(f"root.q{number}"))
            assert status == 201, answer
        cluster.queues(queue("root.later"))
        eventually(lambda: queues_in_force(treadle), SOON, "the new queue being in force")
        assert json.loads(treadle.get("/readyz")[1])["synced"] is True
