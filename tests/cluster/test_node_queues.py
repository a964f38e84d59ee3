"""Queues at nodes on a real API server: what a node has idle goes to the pod that stood there first."""

from __future__ import annotations

from collections import Counter
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


def settings(**more: object) -> dict[str, object]:
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    return {**body, "spec": {"opportunistic": {"nodeQueues": more}}}


def edited(cluster: Cluster, node: str, **spec: object) -> None:
    status, answer = cluster.plane.api(
        "PATCH", f"/api/v1/nodes/{node}", {"spec": spec}, content_type="application/merge-patch+json"
    )
    assert status == 200, answer


def names(cluster: Cluster) -> list[str]:
    return sorted(one["metadata"]["name"] for one in cluster.plane.api("GET", "/api/v1/nodes")[1]["items"])


def given(cluster: Cluster) -> dict[str, int]:
    """How many pods of two cores each are on which node."""
    return Counter(one["spec"]["nodeName"] for one in cluster.bound() if not one["metadata"].get("deletionTimestamp"))


def test_owners_are_told_soon_when_a_node_at_which_their_pods_stand_is_cordoned_tainted_or_gone(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(3, "2", "64Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"))
    assert plane.api("POST", SCHEDULERS, settings(nodesPerPod=3))[0] == 201
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([idle(f"f{at}") for at in range(3)])
        eventually(lambda: len(on_nodes(cluster)) == 3, 30, "the nodes are full")
        cluster.pods([idle("w")])
        one, two, three = names(cluster)
        eventually(lambda: all(f"{node} (number 1 of 1)" in told(plane, "w")[1] for node in (one, two, three)), 30, "it stands")
        edited(cluster, one, unschedulable=True)
        eventually(lambda: "2/3 nodes admit it" in told(plane, "w")[1], 10, "one is cordoned")
        assert one not in told(plane, "w")[1]
        edited(cluster, two, taints=[{"key": "gpu", "effect": "NoSchedule"}])
        eventually(lambda: "1/3 nodes admit it" in told(plane, "w")[1], 10, "one is tainted")
        assert told(plane, "w")[1].endswith(f"; it stands at {three} (number 1 of 1)")
        assert plane.api("DELETE", f"/api/v1/nodes/{three}")[0] == 200
        words = "0/2 queues have a place for it: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable"
        eventually(lambda: words in told(plane, "w")[1], 10, "one is gone")
        edited(cluster, two, taints=[])
        eventually(
            lambda: f"it stands at {two} (number 1 of 1)" in told(plane, "w")[1], 10, "it comes to one that takes it again"
        )
        edited(cluster, one, unschedulable=False)
        eventually(lambda: f"{one} (number 1 of 1)" in told(plane, "w")[1], 10, "and to the other as well")


def test_with_the_next_leader_those_that_waited_stand_anew_and_none_waits_for_ever(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "64Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"))
    assert plane.api("POST", SCHEDULERS, settings(nodesPerPod=1, deviations=0, minimum=2, maximum=6))[0] == 201
    arguments = ("--leader-elect", "--namespace", "default")
    replicas = [Treadle(plane.scheduler_kubeconfig(), tmp_path, *arguments).start() for _ in range(2)]
    queued, waits = 'treadle_opportunistic_pods{state="queued"}', 'treadle_opportunistic_pods{state="waiting"}'
    try:
        leader = eventually(lambda: next((one for one in replicas if one.metric("treadle_leader") == 1), None), 60, "a leader")
        heir = next(one for one in replicas if one is not leader)
        eventually(heir.ready, 60, "the other one is ready")
        cluster.pods([idle(f"f{at}") for at in range(4)])
        eventually(lambda: len(on_nodes(cluster)) == 4, 30, "the nodes are full")
        cluster.pods([idle(f"w{at}") for at in range(10)])
        eventually(lambda: leader.metric(queued) >= 4, 30, "they stand at nodes")
        tainted, _ = names(cluster)
        edited(cluster, tainted, taints=[{"key": "gpu", "effect": "NoSchedule"}])
        leader.kill()
        cluster.pods([idle("late")])
        assert plane.api("DELETE", f"{PODS}/f0?gracePeriodSeconds=0")[0] == 200
        eventually(lambda: heir.metric("treadle_leader") == 1, 60, "the other one leads")
        eventually(lambda: heir.metric(waits) >= 10, 30, "it knows who waits")
        eventually(lambda: heir.metric(queued) >= 2, 30, "who waited stands anew")
        edited(cluster, tainted, taints=[])
        seen: dict[str, str] = {}
        for _ in range(60):
            there = eventually(cluster.bound, 60, "some run")
            for one in there:
                name, node = one["metadata"]["name"], one["spec"]["nodeName"]
                assert seen.setdefault(one["metadata"]["uid"], node) == node, "a pod is bound once"
                assert plane.api("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")[0] in {200, 404}
            assert max(given(cluster).values(), default=0) <= 2, "no node is given more than it has"
            if heir.metric(waits) == 0 and not cluster.bound():
                break
        assert len(seen) == 14, "none waits for ever, and the one that was deleted before is not counted"
        eventually(lambda: heir.metric(waits) == heir.metric(queued) == 0, 30, "nobody waits or stands any more")
        eventually(lambda: heir.metric('treadle_opportunistic_pods{state="running"}') == 0, 30, "nor runs")
        assert heir.metric('treadle_opportunistic_room{resource="cpu"}') == 0
    finally:
        for one in replicas:
            one.__exit__()
