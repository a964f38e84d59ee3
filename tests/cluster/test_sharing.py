"""Queues share a saturated cluster as their weights and policies say, on a real API server."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

NODES = 20


def why(plane: ControlPlane, pod: str) -> str:
    """What the pod is told about why it waits, empty while it is told nothing."""
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{pod}")[1]["status"].get("conditions", [])
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled" and "message" in one), "")


def test_three_queues_with_weights_1_2_3_hold_their_fair_shares_to_within_one_pod(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(NODES, "4", "16Gi")
    cluster.queues(*(queue(f"root.w{weight}", weight=str(weight)) for weight in (1, 2, 3)))
    cluster.pods(
        [
            pod(f"w{weight}-{number}", f"root.w{weight}", f"app-{weight}-{number % 3}")
            for number in range(150)
            for weight in (1, 2, 3)
        ]
    )
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path):
        capacity = NODES * 4 * 2
        bound = cluster.wait_bound(capacity)

    assert len(bound) == capacity
    held = Counter(one["metadata"]["labels"]["treadle.dev/queue"] for one in bound)
    for weight in (1, 2, 3):
        assert abs(held[f"root.w{weight}"] - capacity * weight / 6) <= 1, held


def test_drf_gives_two_queues_of_unlike_demands_equal_dominant_shares_to_within_one_pod(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(NODES, "9", "18Gi")
    plane = cluster.plane
    cluster.queues(queue("root.cpu", schedulingPolicy="drf"), queue("root.memory", schedulingPolicy="drf"))
    cluster.pods([pod(f"cpu-{number}", "root.cpu", "crunch", cpu="3", memory="1Gi") for number in range(100)])
    cluster.pods([pod(f"memory-{number}", "root.memory", "cache", cpu="1", memory="4Gi") for number in range(100)])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(
            lambda: all("Insufficient" in why(plane, f"{name}-99") for name in ("cpu", "memory")),
            60,
            "both queues waiting for room",
        )
        bound = cluster.bound()

    held = Counter(one["metadata"]["labels"]["treadle.dev/queue"] for one in bound)
    cpu_share = held["root.cpu"] * 3 / (NODES * 9)
    memory_share = held["root.memory"] * 4 / (NODES * 18)
    one_pod = max(3 / (NODES * 9), 4 / (NODES * 18))
    assert abs(cpu_share - memory_share) <= one_pod + 1e-9, held


def test_without_any_object_of_ours_a_pod_needs_nothing_but_the_scheduler_name(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("plain")])
        bound = cluster.wait_bound(1)

    assert bound[0]["metadata"]["annotations"]["treadle.dev/allocated-queue"] == "root.default"
    assert bound[0]["metadata"]["annotations"]["treadle.dev/allocated-application"] == "default/pod/plain"


def test_without_the_crds_treadle_says_so_waits_and_goes_on_when_they_come(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.create_nodes(1)
    cluster = Cluster(plane)
    cluster.pods([pod("early")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        eventually(lambda: "CustomResourceDefinitions of treadle.dev/v1alpha1 are not installed" in treadle.get("/readyz")[1], 30)
        assert treadle.get("/readyz")[0] == 503
        assert treadle.get("/healthz")[0] == 200
        assert cluster.bound() == []

        plane.apply_crds()
        cluster.wait_bound(1)
        assert treadle.wait_ready().terminate() == 0
