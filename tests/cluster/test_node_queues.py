"""Queues at nodes on a real API server: what a node has idle goes to the pod that stood there first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cluster.client import eventually
from cluster.idle_pods import PODS, idle, on_nodes, told
from cluster.treadle_process import Cluster, Treadle, queue

SCHEDULERS = "/apis/treadle.dev/v1alpha1/schedulers"


def test_a_large_pod_that_stands_first_at_a_node_is_not_overtaken_by_a_small_one(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "4", "64Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"))
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert plane.api("POST", SCHEDULERS, {**body, "spec": {"opportunistic": {"nodeQueues": {"maximum": 8}}}})[0] == 201
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([idle("first"), idle("second")])
        eventually(lambda: on_nodes(cluster) == {"first", "second"}, 30, "both run")
        cluster.pods([idle("large", cpu="4")])
        queued = 'treadle_opportunistic_pods{state="queued"}'
        eventually(lambda: treadle.metric(queued) == 1, 30, "it stands at the node")
        cluster.pods([idle("small", cpu="1")])
        eventually(lambda: treadle.metric(queued) == 2, 30, "the small one stands behind it")
        assert treadle.metric("treadle_opportunistic_queue_limit") == 5
        (node,) = {one["spec"]["nodeName"] for one in cluster.bound()}
        place = f"it stands at {node} (number 2 of 2)"
        eventually(lambda: place in told(plane, "small")[1], 60, "its owner is told")

        assert plane.api("DELETE", f"{PODS}/first?gracePeriodSeconds=0")[0] == 200
        eventually(
            lambda: treadle.metric('treadle_opportunistic_room{resource="cpu"}') == 2, 30, "there is room for the small one"
        )
        cluster.pods([idle("late", cpu="1")])
        eventually(lambda: treadle.metric(queued) == 3, 30, "it has been looked for room since")
        assert on_nodes(cluster) == {"second"}, "the room is kept for the large one"
        assert plane.api("DELETE", f"{PODS}/second?gracePeriodSeconds=0")[0] == 200
        eventually(lambda: on_nodes(cluster) == {"large"}, 30, "the large one runs")
        assert plane.api("DELETE", f"{PODS}/large?gracePeriodSeconds=0")[0] == 200
        eventually(lambda: on_nodes(cluster) == {"small", "late"}, 30, "then the others")
