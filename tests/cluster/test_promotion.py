"""Execution types change in place on a real API server: its validation, its quota and its versions are what is met."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.idle_pods import PODS, events, idle, on_nodes, told
from cluster.treadle_process import Cluster, Treadle, pod, queue

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
TYPE = "treadle.dev/execution-type"


def prepared(
    fresh_control_plane: Callable[..., ControlPlane], cpu: str = "4", memory: str = "16Gi"
) -> tuple[ControlPlane, Cluster]:
    """A control plane with our kinds, one node and the controllers that count quotas and delete what is evicted."""
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(1, cpu, memory)
    plane.start_controller_manager()
    return plane, Cluster(plane)


def relabel(plane: ControlPlane, name: str, kind: str) -> None:
    status, answer = plane.api("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {TYPE: kind}}}, content_type=MERGE)
    assert status == 200, answer


def requests(plane: ControlPlane, name: str) -> dict[str, str]:
    found: dict[str, str] = plane.api("GET", f"{PODS}/{name}")[1]["spec"]["containers"][0]["resources"]["requests"]
    return found


def used(cluster: Cluster, path: str) -> str:
    found: str = cluster.get("queues", path).get("status", {}).get("used", {}).get("cpu", "0")
    return found


def test_a_pod_is_promoted_when_there_is_room_and_demoted_again_without_a_restart(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane)
    plane.start_kwok()
    cluster.queues(queue("root.batch", maxResources={"cpu": "3", "memory": "16Gi"}), queue("root.prod"))
    cluster.pods([idle("scan"), pod("first", "root.batch", "first", cpu="2")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: on_nodes(cluster) == {"scan", "first"}, 60, "both run")
        uid = plane.api("GET", f"{PODS}/scan")[1]["metadata"]["uid"]

        relabel(plane, "scan", "guaranteed")
        (waits,) = eventually(lambda: events(plane, "PromotionWaits"), 60, "its owner is told that it waits")
        assert waits["note"] == "It stays opportunistic for now: queue root.batch is at its maximum of cpu"
        assert requests(plane, "scan") == {"cpu": "0", "memory": "0"}

        assert plane.api("DELETE", f"{PODS}/first")[0] == 200
        eventually(lambda: requests(plane, "scan")["cpu"] == "1999m", 60, "it requests what it uses, one thousandth less")
        assert requests(plane, "scan")["memory"] == "1Gi"
        eventually(lambda: events(plane, "Promoted"), 60, "its owner is told")
        eventually(lambda: used(cluster, "root.batch") == "1999m", 30, "it counts in its queue")
        eventually(
            lambda: treadle.metric('treadle_opportunistic_pods{state="running"}') == 0, 30, "it is opportunistic no longer"
        )

        cluster.pods([pod("greedy", "root.prod", "greedy", cpu="4")])
        eventually(lambda: told(plane, "greedy")[0] == "Unschedulable", 60, "its room is its own")
        assert on_nodes(cluster) == {"scan"}

        assert plane.api("DELETE", f"{PODS}/greedy")[0] == 200
        relabel(plane, "scan", "opportunistic")
        eventually(lambda: requests(plane, "scan") == {"cpu": "0", "memory": "1Ki"}, 60, "it requests next to nothing")
        eventually(lambda: events(plane, "Demoted"), 60, "its owner is told")
        assert plane.api("GET", f"{PODS}/scan")[1]["metadata"]["uid"] == uid, "it is the same pod"
        eventually(lambda: used(cluster, "root.batch") == "0", 30, "it counts in no queue")

        cluster.pods([pod("eager", "root.prod", "eager", cpu="4")])
        eventually(lambda: "eager" in on_nodes(cluster), 60, "another takes the room")
        eventually(lambda: on_nodes(cluster) == {"eager"}, 60, "and it gives way")


def test_a_pod_that_wishes_it_becomes_guaranteed_by_itself_when_there_is_room(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane)
    plane.start_kwok()
    cluster.queues(queue("root.batch", maxResources={"cpu": "3", "memory": "16Gi"}))
    scan = idle("scan")
    scan["metadata"]["annotations"]["treadle.dev/promotion"] = "automatic"
    cluster.pods([pod("first", "root.batch", "first", cpu="2")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: on_nodes(cluster) == {"first"}, 60, "the guaranteed one runs")
        cluster.pods([scan])
        eventually(lambda: on_nodes(cluster) == {"scan", "first"}, 60, "both run")
        uid = plane.api("GET", f"{PODS}/scan")[1]["metadata"]["uid"]
        assert plane.api("DELETE", f"{PODS}/first")[0] == 200
        eventually(lambda: requests(plane, "scan")["cpu"] == "1999m", 60, "it requests what it uses")
        found = plane.api("GET", f"{PODS}/scan")[1]["metadata"]
        assert (found["uid"], found["labels"][TYPE]) == (uid, "guaranteed")
        eventually(lambda: events(plane, "Promoted"), 60, "its owner is told")
        assert events(plane, "PromotionWaits") == []
        eventually(lambda: used(cluster, "root.batch") == "1999m", 30, "it counts in its queue")


def test_a_pod_whose_requests_cannot_be_changed_stays_what_it_is_and_says_why(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane, cpu="8", memory="64Gi")
    cluster.queues(queue("root.batch"))
    equal = pod("equal", "root.batch", "equal", cpu="1", memory="1Gi")
    equal["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1", "memory": "1Gi"}
    equal["metadata"]["annotations"] = {"treadle.dev/demand": "main cpu=1 memory=1Gi"}
    quota: dict[str, Any] = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "2"}}}
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([equal, idle("scan", cpu="4")])
        cluster.wait_bound(2)
        relabel(plane, "equal", "opportunistic")
        (refused,) = eventually(lambda: events(plane, "ResizeRefused"), 60, "its class cannot change")
        assert refused["note"].startswith("It stays guaranteed: its requests cannot be changed: 422 ")
        assert "QOS Class" in refused["note"] or "QoS" in refused["note"]

        assert plane.api("POST", QUOTAS, quota)[0] == 201
        eventually(lambda: plane.api("GET", f"{QUOTAS}/q")[1].get("status", {}).get("used"), 60, "the quota is counted")
        relabel(plane, "scan", "guaranteed")
        eventually(lambda: len(events(plane, "ResizeRefused")) == 2, 60, "its quota is too small")
        note = next(one["note"] for one in events(plane, "ResizeRefused") if one["regarding"]["name"] == "scan")
        assert note.startswith("It stays opportunistic: its requests cannot be changed: 403 ")
        assert "exceeded quota" in note
        eventually(lambda: used(cluster, "root.batch") == "1", 30, "it counts in no queue")


def test_a_promotion_by_itself_that_a_quota_refuses_leaves_the_label_as_it_was(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane, cpu="8", memory="64Gi")
    cluster.queues(queue("root.batch"))
    quota: dict[str, Any] = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1"}}}
    assert plane.api("POST", QUOTAS, quota)[0] == 201
    eventually(lambda: plane.api("GET", f"{QUOTAS}/q")[1].get("status", {}).get("used"), 60, "the quota is counted")
    scan = idle("scan", cpu="4")
    scan["metadata"]["annotations"]["treadle.dev/promotion"] = "automatic"
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([scan])
        (refused,) = eventually(lambda: events(plane, "ResizeRefused"), 60, "its quota is too small")
        assert refused["note"].startswith("It stays opportunistic: its requests cannot be changed: 403 ")
        found = plane.api("GET", f"{PODS}/scan")[1]
        assert found["metadata"]["labels"][TYPE] == "opportunistic"
        assert found["metadata"]["annotations"]["treadle.dev/bound-as"] == "opportunistic"
        eventually(lambda: used(cluster, "root.batch") == "0", 30, "it counts in no queue")


def test_what_a_pod_on_a_node_asks_for_in_words_that_make_no_sense_is_told_to_its_owner(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane, cpu="8", memory="64Gi")
    cluster.queues(queue("root.batch"))
    cluster.pods([idle("unsaid", cpu="1"), idle("nonsense", cpu="1"), idle("wish", cpu="1")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.wait_bound(3)
        changes: dict[str, dict[str, Any]] = {
            "unsaid": {"labels": {TYPE: "guaranteed"}, "annotations": {"treadle.dev/demand": None}},
            "nonsense": {"labels": {TYPE: "guaranteed"}, "annotations": {"treadle.dev/demand": "main cpu=two"}},
            "wish": {"annotations": {"treadle.dev/promotion": "at-once"}},
        }
        for name, metadata in changes.items():
            assert plane.api("PATCH", f"{PODS}/{name}", {"metadata": metadata}, content_type=MERGE)[0] == 200

        def silent() -> set[str]:
            found = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
            heard = {one["regarding"].get("name") for one in found if one["reason"] != "Scheduled"}
            return set(changes) - heard

        eventually(lambda: not silent(), 20, "each is told what of its words is not acted on")


def test_a_pod_of_an_opportunistic_application_that_says_nothing_of_what_it_uses_has_to_say_more(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane, cluster = prepared(fresh_control_plane)
    cluster.queues(queue("root.batch"))
    path = "/apis/treadle.dev/v1alpha1/namespaces/default/applications"
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "scan"}}
    assert plane.api("POST", path, {**body, "spec": {"executionType": "Opportunistic"}})[0] == 201
    nothing = pod("nothing", "root.batch", "scan")
    nothing["spec"]["containers"][0]["resources"] = {}
    cluster.pods([nothing])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: told(plane, "nothing")[0] == "InvalidPod", 20, "it waits and is told what to say")
