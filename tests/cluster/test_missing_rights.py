"""A right that is missing is told where people look, harms nothing else, and is made good when it is given back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RULES = [
    (["", "apps"], ["pods", "nodes", "namespaces", "configmaps"], ["get", "list", "watch", "patch", "delete"]),
    ([""], ["pods/status"], ["patch"]),
    ([""], ["pods/eviction"], ["create"]),
    (["treadle.dev"], ["*"], ["*"]),
    (["events.k8s.io", "", "coordination.k8s.io"], ["events", "leases"], ["*"]),
    (["apiextensions.k8s.io"], ["customresourcedefinitions"], ["get", "list", "watch"]),
]
BINDS = ([""], ["pods/binding"], ["create"])
SEES_CLAIMS = ([""], ["persistentvolumeclaims", "persistentvolumes"], ["list", "watch"])
SEES_STORAGE = (["storage.k8s.io"], ["*"], ["list", "watch"])
ROLE = f"{RBAC}/clusterroles/limited"


def role(*rules: Any) -> dict[str, Any]:
    written = [{"apiGroups": groups, "resources": resources, "verbs": verbs} for groups, resources, verbs in rules]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "limited"},
        "rules": written,
    }


@pytest.fixture
def cluster(fresh_control_plane: Callable[..., ControlPlane]) -> Cluster:
    plane = fresh_control_plane(users={"limited": []})
    plane.apply_crds()
    plane.create_nodes(2, "4", "16Gi")
    assert plane.api("POST", f"{RBAC}/clusterroles", role(*RULES))[0] == 201
    binding = {
        "metadata": {"name": "limited"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "limited"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited"}],
    }
    assert plane.api("POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201
    return Cluster(plane)


def scheduled(cluster: Cluster, name: str) -> dict[str, Any]:
    conditions = cluster.plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1].get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def test_pods_that_may_not_be_bound_are_told_so_and_are_bound_when_the_right_is_given(cluster: Cluster, tmp_path: Path) -> None:
    cluster.queues(queue("root.etl"))
    with Treadle(cluster.plane.kubeconfig_for("limited"), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod(f"p-{number}", "root.etl", "job", cpu="1", memory="64Mi") for number in range(3)])
        told = eventually(lambda: (found := scheduled(cluster, "p-0")).get("reason") == "BindFailed" and found)
        events = eventually(
            lambda: [
                one
                for one in cluster.plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
                if one["reason"] == "FailedScheduling"
            ]
        )
        assert told["status"] == "False"
        assert 'cannot create resource "pods/binding"' in told["message"]
        assert [one["message"].startswith("BindFailed: binding the pod to a node failed") for one in events] == [True]
        assert cluster.plane.api("PUT", ROLE, role(*RULES, BINDS))[0] == 200
        cluster.wait_bound(3)


def test_an_instance_that_may_not_have_the_lease_is_not_ready_and_says_why(cluster: Cluster, tmp_path: Path) -> None:
    rules = [rule for rule in RULES if "leases" not in rule[1]]
    assert cluster.plane.api("PUT", ROLE, role(*rules, BINDS))[0] == 200
    with Treadle(cluster.plane.kubeconfig_for("limited"), tmp_path, "--leader-elect", "--namespace", "default") as treadle:
        status, body = eventually(lambda: (found := treadle.get("/readyz"))[1].count('"lease"') and found)
        assert (status, 'cannot get resource \\"leases\\"' in body) == (503, True)
        assert cluster.plane.api("PUT", ROLE, role(*RULES, BINDS))[0] == 200
        treadle.wait_ready()


def test_without_the_right_to_see_storage_only_pods_with_claims_wait_and_say_why(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    assert plane.api("PUT", ROLE, role(*RULES, BINDS))[0] == 200
    cluster.queues(queue("root.etl"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    with Treadle(plane.kubeconfig_for("limited"), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("plain", "root.etl", "job"), pod("stateful", "root.etl", "job", volumes=volumes)])
        cluster.wait_bound(1)
        told = eventually(lambda: (found := scheduled(cluster, "stateful")).get("reason") == "VolumesNotReady" and found)
        assert told["message"].startswith("claims and volumes have not been listed yet: ")
        assert "403" in told["message"]
        assert plane.api("PUT", ROLE, role(*RULES, BINDS, SEES_STORAGE, SEES_CLAIMS))[0] == 200
        missing = 'persistentvolumeclaim "data" not found'
        eventually(lambda: scheduled(cluster, "stateful").get("message") == missing, 60, "storage is known")


def test_a_scheduler_that_may_not_delete_pods_says_so_while_lifetimes_are_over(cluster: Cluster, tmp_path: Path) -> None:
    plane = cluster.plane
    without = [(groups, kinds, [verb for verb in verbs if verb != "delete"]) for groups, kinds, verbs in RULES]
    assert plane.api("PUT", ROLE, role(*without, BINDS))[0] == 200
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)[0] == 201
    short = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "short"},
        "spec": {"lifetime": "12s"},
    }
    with Treadle(plane.kubeconfig_for("limited"), tmp_path) as treadle:
        treadle.wait_ready()
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", short)[0] == 201
        cluster.pods([pod("p", application="short")])
        cluster.wait_bound(1)

        def ready() -> dict[str, Any]:
            return cluster.condition("schedulers", "treadle", "Ready")

        told = eventually(lambda: "pods may not be deleted" in (found := ready()).get("message", "") and found, 60, "it is told")
        assert (told["status"], 'cannot delete resource "pods"' in told["message"]) == ("True", True)
        assert cluster.bound(), "the pod goes on"
        assert plane.api("PUT", ROLE, role(*RULES, BINDS))[0] == 200
        eventually(lambda: "deletionTimestamp" in cluster.all_pods()[0]["metadata"], 120, "it is deleted")
        eventually(lambda: "deleted" not in ready()["message"], 60, "and nothing is missing any more")
