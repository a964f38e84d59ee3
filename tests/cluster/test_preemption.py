"""Preemption between queues on a real API server: a hog, a starved queue and a disruption budget that a real controller keeps."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, overfull_nodes, pod, queue

NODES, CORES = 4, 4
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def scheduler(**fair: Any) -> dict[str, Any]:
    settings = {
        "preemption": True,
        "defaultFairSharePreemptionTimeout": "1s",
        "defaultFairSharePreemptionThreshold": "1",
        "waitTimeBeforeKill": "2s",
        **fair,
    }
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"fair": settings},
    }


def prepared(plane: ControlPlane, **fair: Any) -> Cluster:
    """A cluster that is full of the pods of one queue; half of them are precious, which a budget says that lets none of them go."""
    plane.apply_crds()
    plane.create_nodes(NODES, str(CORES), "64Gi")
    plane.start_controller_manager()
    plane.start_kwok()
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler(**fair))[0] == 201
    cluster = Cluster(plane)
    cluster.queues(queue("root.hog"), queue("root.starved"))
    budget = {
        "metadata": {"name": "precious"},
        "spec": {"minAvailable": NODES * CORES // 2, "selector": {"matchLabels": {"precious": "yes"}}},
    }
    assert plane.api("POST", BUDGETS, budget)[0] == 201
    hogs = [pod(f"hog-{number}", "root.hog", "hog", cpu="1") for number in range(NODES * CORES)]
    for one in hogs[::2]:
        one["metadata"]["labels"]["precious"] = "yes"
    cluster.pods(hogs)
    return cluster


def healthy(cluster: Cluster) -> bool:
    status = cluster.plane.api("GET", f"{BUDGETS}/precious")[1].get("status", {})
    return status.get("currentHealthy") == NODES * CORES // 2 and status.get("disruptionsAllowed") == 0


def held(cluster: Cluster) -> Counter[str]:
    """Bound pods that are not on their way out, by queue."""
    return Counter(
        one["metadata"]["labels"]["treadle.dev/queue"] for one in cluster.bound() if not one["metadata"].get("deletionTimestamp")
    )


def test_a_starved_queue_gets_its_share_back_and_a_disruption_budget_is_respected(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepared(plane)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        cluster.wait_bound(NODES * CORES)
        eventually(lambda: healthy(cluster), 60, "a budget that allows no disruption")
        cluster.pods([pod(f"starved-{number}", "root.starved", "starved", cpu="1") for number in range(NODES * CORES)])
        half = {"root.hog": NODES * CORES // 2, "root.starved": NODES * CORES // 2}
        eventually(lambda: held(cluster) == half, 120, "half of the cluster for each queue")

        pods = cluster.all_pods()
        precious = [one for one in pods if one["metadata"]["labels"].get("precious")]
        assert len(precious) == NODES * CORES // 2, "none of what the budget protects has gone"
        assert not any(one["metadata"].get("deletionTimestamp") for one in precious)
        assert overfull_nodes(pods, plane.api("GET", "/api/v1/nodes")[1]["items"]) == []
        eventually(lambda: treadle.metric("treadle_holds") == 0, 30, "no hold left over")
        evicted = treadle.metric('treadle_evictions_total{result="evicted"}')
        assert evicted == NODES * CORES // 2, "no more than were owed"
        assert treadle.metric('treadle_queue_preempted_pods_total{queue="root.hog"}') == evicted

        events = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
        said = [event["note"] for event in events if event["reason"] == "Preempted"]
        assert len(said) == evicted
        assert set(said) == {"Preempted: queue root.starved is owed what queue root.hog holds beyond its fair share"}


def test_a_victim_that_its_budget_does_not_let_go_is_deleted_only_where_the_policy_says_so(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepared(plane, deleteBlockedVictims=True)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        cluster.wait_bound(NODES * CORES)
        eventually(lambda: healthy(cluster), 60, "a budget that allows no disruption")
        cluster.pods([pod(f"starved-{number}", "root.starved", "starved", cpu="1") for number in range(NODES * CORES)])
        half = {"root.hog": NODES * CORES // 2, "root.starved": NODES * CORES // 2}
        eventually(lambda: held(cluster) == half, 120, "half of the cluster for each queue")
        gone = treadle.metric('treadle_evictions_total{result="evicted"}') + treadle.metric(
            'treadle_evictions_total{result="deleted"}'
        )
        assert gone == NODES * CORES // 2
        assert treadle.metric('treadle_evictions_total{result="deleted"}') > 0
