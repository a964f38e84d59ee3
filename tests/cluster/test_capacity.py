"""The capacity discipline on a real API server: elasticity and its return, partitions of nodes, users of one queue, queues that drain."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.control_plane import REPOSITORY, ControlPlane
from cluster.treadle_process import Cluster, Treadle, capacity_queue, eventually, overfull_nodes, pod, queue

CORES = 4
LABEL = "treadle.dev/partition"
SCHEDULERS = "/apis/treadle.dev/v1alpha1/schedulers"
QUEUES = "/apis/treadle.dev/v1alpha1/queues"
QUICK = {
    "enabled": True,
    "monitoringInterval": "1s",
    "maxWaitBeforeKill": "2s",
    "totalPreemptionPerRound": "1",
    "naturalTerminationFactor": "1",
}


def scheduler(discipline: str = "Capacity", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"discipline": discipline, **spec},
    }


def prepared(plane: ControlPlane, nodes: int, *objects: dict[str, Any]) -> Cluster:
    plane.apply_crds()
    plane.create_nodes(nodes, str(CORES), "64Gi")
    plane.start_controller_manager()
    plane.start_kwok()
    for one in objects:
        status, answer = plane.api("POST", SCHEDULERS if one["kind"] == "Scheduler" else QUEUES, one)
        assert status == 201, answer
    return Cluster(plane)


def classic() -> list[dict[str, Any]]:
    """The objects of the example, with preemption that need not be waited for."""
    objects = list(yaml.safe_load_all((REPOSITORY / "examples" / "capacity.yaml").read_text()))
    objects[0]["spec"]["capacity"]["preemption"] = QUICK
    return objects


def held(cluster: Cluster, label: str = "treadle.dev/queue") -> Counter[str]:
    """Bound pods that are not on their way out, by a label."""
    pods = [one for one in cluster.bound() if not one["metadata"].get("deletionTimestamp")]
    return Counter(one["metadata"]["labels"].get(label, "") for one in pods)


def ask(cluster: Cluster, leaf: str, count: int, name: str = "", **metadata: Any) -> None:
    name = name or leaf.rpartition(".")[2]
    pods = [pod(f"{name}-{number}", leaf, name, cpu="1") for number in range(count)]
    for one in pods:
        one["metadata"]["labels"] |= metadata.get("labels", {})
        one["metadata"]["annotations"] = metadata.get("annotations", {})
    cluster.pods(pods)


def test_the_classic_organisation_borrows_up_to_its_maximum_and_gives_back_what_is_owed(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepared(plane, 5, *classic())
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: cluster.get("schedulers", "treadle").get("status", {}).get("discipline") == "Capacity", 30, "in force")
        ask(cluster, "root.dev.eng", 30)
        eventually(lambda: held(cluster) == {"root.dev.eng": 15}, 60, "three quarters of the cluster for dev")
        waiting = eventually(
            lambda: [
                condition
                for one in cluster.all_pods()
                for condition in one.get("status", {}).get("conditions", [])
                if condition["type"] == "PodScheduled" and condition["status"] == "False"
            ],
            30,
            "the reason of those that wait",
        )
        assert {one["reason"] for one in waiting} == {"QueueMaximum"}
        ask(cluster, "root.prod", 20)
        ask(cluster, "root.dev.science", 20)
        owed = {"root.prod": 8, "root.dev.eng": 6, "root.dev.science": 6}
        eventually(lambda: held(cluster) == owed, 120, f"what each is guaranteed; it is {held(cluster)}")
        assert overfull_nodes(cluster.all_pods(), plane.api("GET", "/api/v1/nodes")[1]["items"]) == []
        status = eventually(
            lambda: (found := cluster.get("queues", "root.dev.eng")["status"]).get("used", {}).get("cpu") == "6" and found,
            30,
            "the status of eng",
        )
        assert (status["guaranteed"]["cpu"], status["maximum"]["cpu"]) == ("6", "15")
        assert treadle.metric('treadle_queue_preempted_pods_total{queue="root.dev.eng"}') == 9


def gpu_queue(name: str, default: str, gpu: str) -> dict[str, Any]:
    return capacity_queue(name, default, partitions={"gpu": {"guaranteed": gpu}})


def test_a_gpu_partition_is_kept_for_who_asks_for_it_and_lent_when_it_may_be(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    nodes = {"partitions": [{"name": "gpu", "exclusive": True}]}
    cluster = prepared(
        plane,
        2,
        scheduler(capacity={"preemption": QUICK}, nodes=nodes),
        gpu_queue("root.ml", "50%", "100%"),
        gpu_queue("root.web", "50%", "0%"),
    )
    names = [one["metadata"]["name"] for one in plane.api("GET", "/api/v1/nodes")[1]["items"]]
    plain, gpu = names
    patch = {"metadata": {"labels": {LABEL: "gpu"}}}
    assert plane.api("PATCH", f"/api/v1/nodes/{gpu}", patch, content_type="application/merge-patch+json")[0] == 200

    def on_nodes() -> Counter[str]:
        pods = [one for one in cluster.bound() if not one["metadata"].get("deletionTimestamp")]
        return Counter(f"{one['metadata']['labels']['treadle.dev/queue']} {one['spec']['nodeName']}" for one in pods)

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: cluster.get("schedulers", "treadle").get("status", {}).get("discipline") == "Capacity", 30, "in force")
        ask(cluster, "root.web", 10)
        eventually(lambda: on_nodes() == {f"root.web {plain}": CORES}, 60, "the default partition alone serves web")
        shared = scheduler(capacity={"preemption": QUICK}, nodes={"partitions": [{"name": "gpu", "exclusive": False}]})["spec"]
        status, answer = plane.api(
            "PATCH", f"{SCHEDULERS}/treadle", {"spec": shared}, content_type="application/merge-patch+json"
        )
        assert status == 200, answer
        both = {f"root.web {plain}": CORES, f"root.web {gpu}": CORES}
        eventually(lambda: on_nodes() == both, 60, "the idle gpu nodes are lent")
        ask(cluster, "root.ml", 3, labels={LABEL: "gpu"})
        back = {f"root.web {plain}": CORES, f"root.web {gpu}": CORES - 3, f"root.ml {gpu}": 3}
        eventually(lambda: on_nodes() == back, 90, f"what was lent comes back; it is {on_nodes()}")
        parts = eventually(
            lambda: (found := cluster.get("queues", "root.ml")["status"].get("partitions")) and found,
            30,
            "the partition's numbers",
        )
        assert parts["gpu"]["guaranteed"]["cpu"] == str(CORES)


def test_two_users_of_a_queue_share_it(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane()
    half = capacity_queue("root.team", "100%", minimumUserLimitPercent=50)
    cluster = prepared(plane, 3, scheduler(), half)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        eventually(lambda: cluster.get("schedulers", "treadle").get("status", {}).get("discipline") == "Capacity", 30, "in force")
        for user in ("ann", "bob"):
            pods = [pod(f"{user}-{number}", "root.team", user, cpu="1") for number in range(12)]
            for one in pods:
                one["metadata"]["annotations"] = {"treadle.dev/user": user}
            if user == "ann":
                first = pods
            else:
                pods = [one for pair in zip(first, pods, strict=True) for one in pair]
        cluster.pods(pods)
        cluster.wait_bound(12)
        shares = held(cluster, "treadle.dev/application")
        assert sorted(shares.values()) in ([5, 7], [6, 6]), shares
        waiting = eventually(
            lambda: {
                condition["reason"]
                for one in cluster.all_pods()
                for condition in one.get("status", {}).get("conditions", [])
                if condition["type"] == "PodScheduled" and condition["status"] == "False"
            },
            30,
            "why the others wait",
        )
        assert waiting <= {"UserLimit", "Unschedulable", "WaitingForTurn"}


def test_a_stopped_queue_drains_and_the_discipline_is_refused_without_capacities(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepared(plane, 2, scheduler(), capacity_queue("root.a", "50%"), queue("root.b"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        refused = eventually(
            lambda: (found := cluster.condition("schedulers", "treadle", "Ready")).get("reason") == "DisciplineRefused" and found,
            30,
            "the refusal",
        )
        assert "root.b: spec.capacity is missing" in refused["message"]
        block = {"spec": {"capacity": {"guaranteed": "50%", "userLimitFactor": "-1"}}}
        merge = "application/merge-patch+json"
        assert plane.api("PATCH", f"{QUEUES}/root.b", block, content_type=merge)[0] == 200
        eventually(lambda: cluster.get("schedulers", "treadle").get("status", {}).get("discipline") == "Capacity", 30, "in force")
        ask(cluster, "root.a", 2, "old")
        cluster.wait_bound(2)
        assert plane.api("PATCH", f"{QUEUES}/root.a", {"spec": {"state": "Stopped"}}, content_type=merge)[0] == 200
        eventually(lambda: cluster.get("queues", "root.a")["status"]["state"] == "Draining", 30, "draining")
        ask(cluster, "root.a", 1, "new")
        reason = eventually(
            lambda: next(
                (
                    condition["reason"]
                    for one in cluster.all_pods()
                    if one["metadata"]["name"] == "new-0"
                    for condition in one.get("status", {}).get("conditions", [])
                    if condition["type"] == "PodScheduled"
                ),
                None,
            ),
            30,
            "why the newcomer waits",
        )
        assert reason == "QueueStopped"
        for name in ("old-0", "old-1", "new-0"):
            plane.api("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
        eventually(lambda: cluster.get("queues", "root.a")["status"]["state"] == "Stopped", 60, "stopped")
