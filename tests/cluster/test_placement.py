"""Placement rules, access lists and refused settings on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import eventually
from cluster.control_plane import REPOSITORY, ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

GROUP = "/apis/treadle.dev/v1alpha1"
NESTED = {"rule": "nestedUserQueue", "parent": {"rule": "default", "create": False, "queue": "root.users"}}
RULES = [{"rule": "specified", "create": False}, NESTED, {"rule": "reject"}]


def scheduler(rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"placementRules": rules},
    }


def of_user(user: str, made: dict[str, Any]) -> dict[str, Any]:
    made["metadata"]["annotations"] = {"treadle.dev/user": user}
    return made


def told(plane: ControlPlane, name: str) -> tuple[str, str] | None:
    """The reason and the message of a pod's PodScheduled condition, None while it is told nothing."""
    conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
    return next((((one.get("reason", ""), one.get("message", ""))) for one in conditions if one["type"] == "PodScheduled"), None)


def refusal(cluster: Cluster, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
    """The condition Ready of an object once it is False."""
    found = cluster.condition(kind, name, "Ready", namespace)
    return found if found.get("status") == "False" else None


def patch(plane: ControlPlane, path: str, spec: dict[str, Any]) -> None:
    status, answer = plane.api("PATCH", path, {"spec": spec}, content_type="application/merge-patch+json")
    assert status == 200, answer


def post(plane: ControlPlane, path: str, body: dict[str, Any]) -> None:
    status, answer = plane.api("POST", path, body)
    assert status == 201, answer


def test_rules_make_a_users_queue_survive_a_crash_reject_with_their_name_and_are_refused_whole_when_they_cannot_be(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    plane = cluster.plane
    post(plane, f"{GROUP}/schedulers", scheduler(RULES))
    users = queue("root.users", maxChildResources={"cpu": "50%"})
    users["spec"]["holdsQueues"] = True
    cluster.queues(users, queue("root.open"))

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        cluster.pods([of_user("Ann.Smith", pod("own", application="etl")), pod("said", "root.open"), pod("lost", "root.nowhere")])
        bound = {one["metadata"]["name"]: one for one in cluster.wait_bound(3)}
        assert bound["own"]["metadata"]["annotations"]["treadle.dev/allocated-queue"] == "root.users.ann-dot-smith"
        assert bound["lost"]["metadata"]["annotations"]["treadle.dev/allocated-queue"] == "root.users.default"
        eventually(
            lambda: (
                cluster.get("queues", "root.users").get("status", {}).get("dynamicQueues")
                == ["root.users.ann-dot-smith", "root.users.default"]
            ),
            30,
            "the queues that the rules made are listed",
        )
        assert "root.users.ann-dot-smith" in treadle.get("/metrics")[1]
        treadle.kill()

    # what runs is put back into its queue, although the rules have changed meanwhile
    patch(plane, f"{GROUP}/schedulers/treadle", {"placementRules": [RULES[0], {"rule": "reject"}]})
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        series = 'treadle_queue_resource{kind="used",queue="root.users.ann-dot-smith",resource="cpu"}'
        eventually(lambda: treadle.metric(series) == 0.5, 30, "the queue is there again, with what runs in it")

        post(plane, f"{GROUP}/namespaces/default/applications", _application("rejected", "root.nowhere"))
        cluster.pods([pod("late", application="rejected")])
        reason, message = eventually(lambda: told(plane, "late"), 30, "the pod is told why")
        assert reason == "PlacementRejected"
        assert message.startswith("placement rule 2 (reject) rejected it")
        found = eventually(lambda: refusal(cluster, "applications", "rejected", "default"), 30, "the application says so too")
        assert found["reason"] == "PlacementRejected"
        assert cluster.get("applications", "rejected", "default")["status"]["phase"] == "Submitted"

        bad = {"placementRules": [{"rule": "user"}, {"rule": "namespace"}], "nodes": {"scoring": "Spread"}}
        patch(plane, f"{GROUP}/schedulers/treadle", bad)
        refused = eventually(
            lambda: refusal(cluster, "schedulers", "treadle"), 30, "the Scheduler says that its rules are refused"
        )
        assert refused["reason"] in {"LastGoodInForce", "Invalid"}
        assert "spec.placementRules[0]: the rule 'user' takes every application" in refused["message"]
        assert (told(plane, "late") or ("",))[0] == "PlacementRejected"

        plane.api("DELETE", "/api/v1/namespaces/default/pods/own", {"gracePeriodSeconds": 0})
        eventually(
            lambda: "root.users.ann-dot-smith" not in treadle.get("/metrics")[1],
            40,
            "the idle queue is removed after ten seconds",
        )
        eventually(
            lambda: cluster.get("queues", "root.users")["status"].get("dynamicQueues") == ["root.users.default"],
            30,
            "and is no longer listed",
        )


def test_who_may_not_submit_waits_and_a_bad_edit_of_a_queue_leaves_the_last_good_version(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(2)
    plane = cluster.plane
    root = queue("root")
    root["spec"] |= {"submitAcl": {}, "administerAcl": {"users": ["admin"]}}
    prod = queue("root.prod")
    prod["spec"]["submitAcl"] = {"users": ["ann"], "groups": ["ops"]}
    cluster.queues(root, prod)

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        cluster.pods([of_user("ann", pod("hers", "root.prod")), of_user("bob", pod("his", "root.prod"))])
        cluster.wait_bound(1)
        reason, message = eventually(lambda: told(plane, "his"), 30, "the pod is told why")
        assert (reason, message.partition(":")[0]) == ("AccessDenied", "user bob may not submit to queue root.prod")

        patch(plane, f"{GROUP}/queues/root", {"fair": {"schedulingPolicy": "fifo"}, "submitAcl": {"users": ["*"]}})
        refused = eventually(lambda: refusal(cluster, "queues", "root"), 30, "the edit is refused")
        assert refused["reason"] == "LastGoodInForce"
        assert "'fifo' is for leaf queues" in refused["message"]
        assert (told(plane, "his") or ("",))[0] == "AccessDenied", "nothing of the refused edit is in force"

        patch(plane, f"{GROUP}/queues/root", {"fair": {"schedulingPolicy": "drf"}})
        cluster.wait_bound(2)


def _application(name: str, queue_: str) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"queue": queue_},
    }


def test_the_classic_example_is_in_force_as_it_is_written(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2)
    plane = cluster.plane
    documents = list(yaml.safe_load_all((REPOSITORY / "examples" / "classic.yaml").read_text()))
    for one in documents:
        post(plane, f"{GROUP}/{one['kind'].lower()}s", one)

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        member = of_user("ann", pod("hers"))
        member["metadata"]["annotations"]["treadle.dev/groups"] = "dev,ops"
        cluster.pods([member, pod("plain")])
        held = {
            one["metadata"]["name"]: one["metadata"]["annotations"]["treadle.dev/allocated-queue"]
            for one in cluster.wait_bound(2)
        }
        assert held == {"hers": "root.dev.ann", "plain": "root.default"}
        for one in documents:
            ready = eventually(
                lambda one=one: cluster.condition(f"{one['kind'].lower()}s", one["metadata"]["name"], "Ready"), 30, "a condition"
            )
            assert ready["status"] == "True", ready
