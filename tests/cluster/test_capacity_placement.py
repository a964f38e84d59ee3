"""Mapping rules, queues made by templates, their removal, and lifetimes, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, capacity_queue, pod

GROUP = "/apis/treadle.dev/v1alpha1"
RULES = [
    {"type": "user", "matches": "eve", "policy": "reject"},
    {"type": "user", "matches": "*", "policy": "user", "parentQueue": "root.users"},
]


def scheduler(rules: list[dict[str, Any]], **capacity: Any) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"discipline": "Capacity", "capacity": {"mappingRules": rules, **capacity}},
    }


def of_user(user: str, made: dict[str, Any]) -> dict[str, Any]:
    made["metadata"]["annotations"] = {"treadle.dev/user": user}
    return made


def told(plane: ControlPlane, name: str) -> tuple[str, str] | None:
    """The reason and the message of a pod's PodScheduled condition, None while it is told nothing."""
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
    return next(((one.get("reason", ""), one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), None)


def patch(plane: ControlPlane, path: str, spec: dict[str, Any]) -> None:
    status, answer = plane.api("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")
    assert status == 200, answer


def post(plane: ControlPlane, path: str, body: dict[str, Any]) -> None:
    status, answer = plane.api("POST", path, body)
    assert status == 201, answer


def exists(plane: ControlPlane, name: str) -> bool:
    """Whether a pod is there and not on its way out."""
    status, answer = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")
    return status == 200 and not answer["metadata"].get("deletionTimestamp")


def allocated(pods: list[dict[str, Any]]) -> dict[str, str]:
    return {one["metadata"]["name"]: one["metadata"]["annotations"]["treadle.dev/allocated-queue"] for one in pods}


def test_a_rule_makes_a_users_queue_by_its_template_rejects_survives_a_crash_and_the_queue_goes_when_nobody_uses_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2, "4", "64Gi")
    plane = cluster.plane
    post(plane, f"{GROUP}/schedulers", scheduler(RULES, autoCreation={"expirationTime": "2s"}))
    template = {"enabled": True, "leafTemplate": {"guaranteed": "3w", "maximumApplications": 1}}
    cluster.queues(capacity_queue("root.users", "1w", autoCreation=template), capacity_queue("root.rest", "1w"))

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        cluster.pods([of_user("Ann.Smith", pod("own")), of_user("bob", pod("his")), of_user("eve", pod("hers"))])
        held = allocated(cluster.wait_bound(2))
        assert held == {"own": "root.users.ann-dot-smith", "his": "root.users.bob"}
        assert eventually(lambda: told(plane, "hers"), 30, "the pod is told why") == (
            "PlacementRejected",
            "mapping rule 1 rejects the application (user eve)",
        )
        eventually(
            lambda: cluster.get("queues", "root.users")["status"].get("dynamicQueues") == sorted(held.values()),
            30,
            "both are listed",
        )
        cluster.pods([of_user("bob", pod("second"))])
        reason, message = eventually(lambda: told(plane, "second"), 30, "the pod is told why")
        assert reason == "TooManyApplications"
        assert "queue root.users.bob has 1 running applications; its limit is 1 (capacity.maximumApplications)" in message
        treadle.kill()

    # what runs is put back where it was, although the rules are others by now; who was rejected is placed by them
    patch(
        plane,
        f"{GROUP}/schedulers/treadle",
        {"capacity": {"mappingRules": [{**RULES[1], "policy": "custom", "customPlacement": "root.rest"}]}},
    )
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        used = 'treadle_queue_resource{{kind="used",queue="{}",resource="cpu"}}'
        eventually(lambda: treadle.metric(used.format("root.users.bob")) == 0.5, 30, "what runs is in its queue")
        assert allocated(cluster.wait_bound(4))["hers"] == "root.rest"
        for name in ("own", "his"):
            plane.api("DELETE", f"/api/v1/namespaces/default/pods/{name}", {"gracePeriodSeconds": 0})
        eventually(
            lambda: not cluster.get("queues", "root.users")["status"].get("dynamicQueues"), 60, "queues that nobody uses are gone"
        )
        bad = {
            "capacity": {"mappingRules": [{"type": "user", "matches": "*", "policy": "custom", "customPlacement": "root.lost"}]}
        }
        patch(plane, f"{GROUP}/schedulers/treadle", bad)
        found = eventually(
            lambda: _refused(cluster, "schedulers", "treadle"), 30, "the Scheduler says that the rule can place nobody"
        )
        assert found["reason"] == "RulePlacesNobody"
        assert "mapping rule 1: queue root.lost does not exist, and none may be made there" in found["message"]


def test_managed_leaves_have_their_capacity_and_lifetimes_end(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "4", "64Gi")
    plane = cluster.plane
    post(plane, f"{GROUP}/schedulers", scheduler([], autoCreation={"managementInterval": "1s"}))
    leaf = {"guaranteed": "50%", "maximum": "100%", "userLimitFactor": "-1", "maximumApplicationLifetime": "1h"}
    managed = {"enabled": True, "leafTemplate": leaf}
    cluster.queues(
        capacity_queue("root.managed", "50%", managedChildren=managed),
        capacity_queue("root.short", "50%", maximumApplicationLifetime="15s"),
    )
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        cluster.pods(
            [pod("a", "root.managed.a"), pod("brief", "root.short", "brief"), pod("huge", "root.short", "brief", cpu="64")]
        )
        assert allocated(cluster.wait_bound(2)) == {"a": "root.managed.a", "brief": "root.short"}
        own = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "own", "namespace": "default"}}
        post(plane, f"{GROUP}/namespaces/default/applications", {**own, "spec": {"queue": "root.managed.own", "lifetime": "10s"}})
        cluster.pods([pod("mine", application="own")])
        cluster.wait_bound(3)
        eventually(lambda: not exists(plane, "brief"), 60, "the queue's maximum is over")
        eventually(lambda: not exists(plane, "mine"), 60, "its own lifetime is over")
        assert exists(plane, "a")
        assert exists(plane, "huge"), "what waits is not deleted"
        eventually(lambda: (told(plane, "huge") or ("",))[0] == "LifetimeOver", 60, "and is told why it will not start")


def _refused(cluster: Cluster, kind: str, name: str) -> dict[str, Any] | None:
    found = cluster.condition(kind, name, "Ready")
    return found if found.get("status") == "False" else None
