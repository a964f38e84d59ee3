"""Opportunistic pods on a real API server: they run beside guaranteed pods, and go when those want their room or use too much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.idle_pods import PODS, events, idle, on_nodes, told
from cluster.node_metrics import NodeMetrics
from cluster.treadle_process import Cluster, Treadle, pod, queue

ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/treadle.dev/v1alpha1"
PATHS = {"Scheduler": f"{GROUP}/schedulers", "Queue": f"{GROUP}/queues", "Pod": PODS}


def test_an_opportunistic_pod_runs_beside_guaranteed_ones_and_goes_when_they_want_its_room(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(1, "4", "16Gi")
    plane.start_controller_manager()
    plane.start_kwok()
    cluster = Cluster(plane)
    for one in yaml.safe_load_all((ROOT / "examples" / "opportunistic.yaml").read_text()):
        one["metadata"].pop("namespace", None)
        assert plane.api("POST", PATHS[one["kind"]], one)[0] == 201
    cluster.queues(queue("root.prod", maxResources={"cpu": "4", "memory": "16Gi"}))
    cluster.pods([pod("first", "root.prod", "prod", cpu="2")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: on_nodes(cluster) == {"scan", "first"}, 60, "both run")
        used = {"cpu": "2", "memory": "256Mi", "pods": "1"}
        eventually(
            lambda: cluster.get("queues", "root.prod").get("status", {}).get("used") == used, 30, "the other counts in its queue"
        )
        batch = eventually(lambda: cluster.get("queues", "root.batch").get("status"), 30, "the status of the other queue")
        assert not batch.get("used"), "it counts in none"
        assert treadle.metric('treadle_opportunistic_pods{state="running"}') == 1
        assert treadle.metric('treadle_opportunistic_room{resource="cpu"}') == 2

        cluster.pods([idle("more")])
        eventually(lambda: told(plane, "more")[0] == "NoIdleRoom", 60, "the other is told that nothing is idle")
        assert "the most that one of them has idle is" in told(plane, "more")[1]

        cluster.pods([pod("second", "root.prod", "prod", cpu="2")])
        eventually(lambda: on_nodes(cluster) == {"first", "second"}, 60, "the room is given back")
        (event,) = eventually(lambda: events(plane, "Preempted"), 30, "the event")
        assert event["regarding"]["name"] == "scan"
        assert "opportunistic: guaranteed pods request what it was given on node" in event["note"]
        assert treadle.metric('treadle_opportunistic_pods_removed_total{reason="Requests"}') == 1
        eventually(lambda: treadle.metric('treadle_opportunistic_pods{state="running"}') == 0, 30, "it is not counted any more")

        assert plane.api("DELETE", f"{PODS}/second")[0] == 200
        eventually(lambda: on_nodes(cluster) == {"first", "more"}, 60, "the next one gets what is idle again")

        treadle.kill()
        with Treadle(plane.scheduler_kubeconfig(), tmp_path) as successor:
            successor.wait_ready()
            eventually(lambda: successor.metric('treadle_opportunistic_room{resource="cpu"}') == 2, 30, "a new one knows of it")
            cluster.pods([idle("third")])
            eventually(lambda: told(plane, "third")[0] == "NoIdleRoom", 60, "and gives nothing twice")


def test_words_that_make_no_sense_are_told_with_what_is_allowed(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "8", "64Gi")
    cluster.queues(queue("root.batch"))
    unclear = idle("unclear")
    unclear["metadata"]["annotations"]["treadle.dev/demand"] = "other cpu=1"
    neither = idle("neither")
    neither["metadata"]["labels"]["treadle.dev/execution-type"] = "lazy"
    asks = idle("asks")
    asks["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
    cluster.pods([unclear, neither, asks])
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.wait_bound(1)
        eventually(lambda: told(cluster.plane, "unclear")[0] == "InvalidPod", 60, "the demand is refused")
        assert told(cluster.plane, "unclear")[1].endswith("'other' is no container of the pod; allowed are main")
        eventually(lambda: told(cluster.plane, "neither")[0] == "InvalidPod", 60, "the type is refused")
        assert told(cluster.plane, "neither")[1].endswith("'lazy' is no execution type; allowed are guaranteed and opportunistic")
        (event,) = eventually(lambda: events(cluster.plane, "ExecutionTypeIgnored"), 30, "the event")
        assert event["regarding"]["name"] == "asks"
        assert "what they request: cpu=1, memory=1Gi" in event["note"]
        eventually(
            lambda: cluster.get("queues", "root.batch").get("status", {}).get("used", {}).get("cpu") == "1",
            30,
            "it counts as guaranteed",
        )


def test_an_application_that_is_opportunistic_makes_its_pods_so_while_it_says_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "4", "64Gi")
    cluster.queues(queue("root.batch", maxResources={"cpu": "2", "memory": "16Gi"}))
    spec = {"queue": "root.batch", "executionType": "Opportunistic"}
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "nightly"}, "spec": spec}
    applications = f"{GROUP}/namespaces/default/applications"
    assert cluster.plane.api("POST", applications, body)[0] == 201
    silent, asks = idle("silent", cpu="2"), idle("asks")
    for one in (silent, asks):
        del one["metadata"]["labels"]["treadle.dev/execution-type"]
        one["metadata"]["labels"]["treadle.dev/application"] = "nightly"
    asks["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1", "memory": "1Gi"}
    cluster.pods([silent])
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.wait_bound(1)
        eventually(lambda: treadle.metric('treadle_opportunistic_pods{state="running"}') == 1, 30, "it is opportunistic")
        cluster.pods([asks])
        (event,) = eventually(lambda: events(cluster.plane, "ExecutionTypeIgnored"), 60, "one that requests something is told")
        assert event["regarding"]["name"] == "asks"
        eventually(lambda: on_nodes(cluster) == {"silent", "asks"}, 30, "the other is placed")
        merge = "application/merge-patch+json"
        says = {"treadle.dev/bound-as": "opportunistic"}
        assert says.items() <= cluster.plane.api("GET", f"{PODS}/silent")[1]["metadata"]["annotations"].items()
        change = {"spec": {"executionType": "Guaranteed"}}
        assert cluster.plane.api("PATCH", f"{applications}/nightly", change, content_type=merge)[0] == 200
        (waits,) = eventually(lambda: events(cluster.plane, "PromotionWaits"), 60, "it waits for the room")
        assert waits["note"] == "It stays opportunistic for now: queue root.batch is at its maximum of cpu"
        assert treadle.metric('treadle_opportunistic_pods{state="running"}') == 1, "it is opportunistic until then"
        treadle.kill()
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as successor:
        successor.wait_ready()
        eventually(lambda: successor.metric('treadle_opportunistic_pods{state="running"}') == 1, 30, "a new one knows it as well")
        assert cluster.plane.api("DELETE", f"{PODS}/asks?gracePeriodSeconds=0")[0] == 200
        eventually(lambda: events(cluster.plane, "Promoted"), 60, "it is promoted in place")
        eventually(lambda: successor.metric('treadle_opportunistic_pods{state="running"}') == 0, 30, "it is so no longer")
        found = cluster.plane.api("GET", f"{PODS}/silent")[1]
        assert found["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1999m"
        assert "treadle.dev/execution-type" not in found["metadata"]["labels"]


def test_a_gang_of_opportunistic_pods_starts_when_there_is_idle_room_for_all_of_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "4", "64Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"))
    gang = {"treadle.dev/gang": "g", "treadle.dev/application": "team"}
    members = [idle(f"m{number}", cpu="2", **gang) for number in range(3)]
    for one in members:
        one["metadata"]["annotations"]["treadle.dev/gang-min-member"] = "3"
    cluster.pods(members)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: told(plane, "m0")[0] == "NoIdleRoom", 60, "there is room for two of three")
        assert told(plane, "m0")[1].startswith('gang "g" needs room for 3 pods at once, and at most 2 fit now; ')
        assert on_nodes(cluster) == set()
        plane.create_nodes(1, "2", "64Gi", prefix="more")
        eventually(lambda: on_nodes(cluster) == {"m0", "m1", "m2"}, 60, "all start")


def metrics_settings(**more: Any) -> dict[str, Any]:
    """A node may be used by half; at 80% its opportunistic pods have to go."""
    limits = {"allocationPercent": 50, "preemptionPercent": 80}
    return {
        "usage": {"source": "Metrics", "maxAge": "8s"},
        "thresholds": {"cpu": {**limits, "borneSamples": 1}, "memory": limits},
        **more,
    }


def test_where_room_goes_by_usage_a_node_that_is_requested_whole_takes_pods_until_it_is_used_too_much(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "8", "32Gi")
    plane = cluster.plane
    cluster.queues(queue("root.batch"), queue("root.prod"))
    node = plane.api("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert plane.api("POST", PATHS["Scheduler"], {**body, "spec": {"opportunistic": metrics_settings()}})[0] == 201
    cluster.pods([pod("whole", "root.prod", "prod", cpu="8", memory="32Gi"), idle("scan")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()

        def ready() -> tuple[str, str]:
            found = cluster.condition("schedulers", "treadle", "Ready")
            return found.get("reason", ""), found.get("message", "")

        eventually(lambda: ready()[0] == "UsageUnknown", 60, "the Scheduler says that nobody serves metrics")
        assert "the API server does not serve metrics.k8s.io/v1beta1" in ready()[1]
        eventually(lambda: told(plane, "scan")[0] == "UsageUnknown", 60, "and so does the pod")
        assert on_nodes(cluster) == {"whole"}

        with NodeMetrics(plane) as metrics:
            metrics.uses(node, cpu=1.0, memory=1 << 30)
            eventually(lambda: on_nodes(cluster) == {"whole", "scan"}, 90, "it runs beside the other")
            eventually(lambda: ready() == ("InForce", ""), 60, "all is well")

            metrics.uses(node, cpu=3.0, memory=1 << 30)
            cluster.pods([idle("more", cpu="3")])
            eventually(lambda: told(plane, "more")[0] == "NoIdleRoom", 60, "half of the node is all that may be used")

            metrics.uses(node, cpu=7.5, memory=1 << 30)
            eventually(lambda: on_nodes(cluster) == {"whole"}, 60, "it has to go")
            (event,) = eventually(lambda: events(plane, "Preempted"), 30, "the event")
            assert event["regarding"]["name"] == "scan"
            assert f"opportunistic: node {node} uses 7500m of its 8 cpu, more than 80%" in event["note"]
            assert treadle.metric('treadle_opportunistic_pods_removed_total{reason="Usage"}') == 1

            metrics.uses(node, cpu=0.5, memory=1 << 30)
            eventually(lambda: on_nodes(cluster) == {"whole", "more"}, 60, "there is room again")

            metrics.stands_still()
            cluster.pods([idle("late", cpu="100m", memory="0")])
            eventually(lambda: "of 1 nodes it is not known what they use" in ready()[1], 60, "old samples are worth nothing")
        eventually(lambda: ready()[0] == "UsageUnknown", 60, "nobody answers any more")
        assert on_nodes(cluster) >= {"whole", "more"}, "nobody goes for a guess"
