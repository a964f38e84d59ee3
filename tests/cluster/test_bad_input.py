"""Objects that nobody should write: each is refused by the API server or answered in a condition, and the others are served as ever."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod, queue

STRICT = {"fieldValidation": "Strict"}


def spec(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": fields}


def application(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": fields,
    }


REFUSED_QUEUES: list[tuple[dict[str, Any], str]] = [
    (queue("prod"), "a queue is named by its path"),
    (queue("prod.root"), "a queue is named by its path"),
    (queue("rootless"), "a queue is named by its path"),
    (queue("root." + ".".join("abcdefghijklmnopqrstuvwxyzabc")), "levels"),
    (queue("root." + "x" * 60), "63"),
    (queue("root..x"), "metadata.name"),
    (queue("root.Dev"), "metadata.name"),
    (queue("root.a", weight="-1"), "weight"),
    (queue("root.a", weight="heavy"), "weight"),
    (queue("root.a", weight="1e9"), "weight"),
    (queue("root.a", maxResources={"cpu": "101%"}), "100"),
    (queue("root.a", maxResources={"cpu": "-5"}), "negative"),
    (queue("root.a", maxResources={"memory": "lots"}), "maxResources"),
    (queue("root.a", maxResources={"memory": "1" * 40}), "maxResources"),
    (queue("root.a", maxResources={f"r{number}": "1" for number in range(40)}), "maxResources"),
    (queue("root.a", schedulingPolicy="the lottery"), "schedulingPolicy"),
    (queue("root.a", heft="2"), "heft"),
    (spec("root", state="Stopped"), "root"),
    (spec("root.a", state="Paused"), "state"),
    (spec("root.a", maxRunningApplications=-1), "maxRunningApplications"),
    (spec("root.a", fair=[]), "fair"),
]
REFUSED_APPLICATIONS: list[tuple[dict[str, Any], str]] = [
    (application("a", queue="prod"), "queue"),
    (application("a", queue="root." + "x" * 80), "queue"),
    (application("a", priority="high"), "priority"),
    (application("a", gangs=[{"name": "w", "minMember": 0}]), "minMember"),
    (application("a", gangs=[{"name": "w", "minMember": 1, "demand": {"cpu": "much"}}]), "demand"),
    (application("a", placementConstraints=["x" * 5000]), "placementConstraints"),
    (application("a", placementConstraints=["notin,node,x"] * 100), "placementConstraints"),
    (application("a", deadline=[]), "deadline"),
    (application("a", deadline="soon"), "deadline"),
    (application("a", colour="blue"), "colour"),
    (application("Not_A_Name"), "metadata.name"),
]
ANTI_AFFINITY = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}
WAITING_PODS: list[tuple[dict[str, Any], str, str]] = [
    (pod("no-such-queue", "root.nowhere"), "QueueNotFound", "root.nowhere"),
    (pod("a-parent", "root"), "QueueIsParent", "root"),
    (pod("another-parent", "root.dev"), "QueueIsParent", "root.dev"),
    (pod("odd-queue", "x...y"), "QueueNotFound", "x...y"),
    (pod("thirty-levels", "root." + ".".join("abcdefghijklmnopqrstuvwxyzabc")), "QueueNotFound", "root.a.b.c"),
    (pod("stopped", "root.stopped"), "QueueStopped", "root.stopped"),
    (pod("huge-cpu", "root.dev.eng", cpu="1000000"), "Unschedulable", "Insufficient cpu"),
    (pod("huge-memory", "root.dev.eng", memory="8Ei"), "InvalidPod", "memory"),
    (pod("huge-exponent", "root.dev.eng", memory="7e18"), "InvalidPod", "memory"),
    *((pod(f"huge-sum-{number}", "root.dev.eng", memory="3Ei"), "Unschedulable", "Insufficient memory") for number in range(4)),
    (pod("no-such-label", "root.dev.eng", nodeSelector={"disk": "holographic"}), "Unschedulable", "node affinity/selector"),
    (pod("spread", "root.dev.eng", topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]), "Unschedulable", "topology spread constraints (missing required label)"),
    (pod("together", "root.dev.eng", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ANTI_AFFINITY]}}), "Unschedulable", "didn't match pod affinity rules"),
    (pod("claim", "root.dev.eng", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]), "VolumesNotReady", 'persistentvolumeclaim "c" not found'),
]  # fmt: skip
ODD_BUT_FINE: list[dict[str, Any]] = [
    pod("unknown-labels", "root.dev.eng"),
    pod("ten-thousand-labels", "root.dev.eng"),
    pod(
        "apart", "root.dev.eng", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [ANTI_AFFINITY]}}
    ),
    pod("long-values", "root.dev.eng"),
    pod("requests-nothing", "root.dev.eng", cpu="0", memory="0"),
    pod("tiny", "root.dev.eng", cpu="1m", memory="1"),
    *(pod(f"of-somebody-{number}", memory="3Ei", schedulerName="nobody", nodeName="node-00000") for number in range(4)),
    *(pod(f"on-no-node-{number}", "root.dev.eng", memory="3Ei", nodeName="no-such-node") for number in range(4)),
]


def test_bad_objects_get_clear_answers_and_the_scheduler_keeps_its_pace(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(30, "32", "128Gi")
    plane = cluster.plane
    cluster.queues(queue("root.dev"), queue("root.dev.eng"), spec("root.stopped", state="Stopped"))
    assert len(REFUSED_QUEUES) + len(REFUSED_APPLICATIONS) + len(WAITING_PODS) + len(ODD_BUT_FINE) >= 50
    odd = {one["metadata"]["name"]: one for one in ODD_BUT_FINE}
    odd["unknown-labels"]["metadata"]["labels"] |= {"treadle.dev/colour": "blue", "treadle.dev/weight": "NaN"}
    odd["ten-thousand-labels"]["metadata"]["labels"] |= {f"example.com/label-{number}": str(number) for number in range(10_000)}
    odd["long-values"]["metadata"]["annotations"] = {
        "treadle.dev/user": "u" * 100_000,
        "yunikorn.apache.org/user.info": "{" * 100_000,
    }

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=claims") as treadle:
        treadle.wait_ready()
        for wanted, words in REFUSED_QUEUES:
            status, answer = plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", wanted, STRICT)
            assert 400 <= status < 500, (wanted["metadata"]["name"], answer)
            assert words in answer["message"], answer["message"]
        for wanted, words in REFUSED_APPLICATIONS:
            status, answer = plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", wanted, STRICT)
            assert 400 <= status < 500, (wanted["spec"], answer)
            assert words in answer["message"], answer["message"]
        cluster.pods([one for one, _, _ in WAITING_PODS] + ODD_BUT_FINE)
        cluster.pods([pod(f"good-{number}", "root.dev.eng", "good", cpu="100m") for number in range(500)])

        names = {one["metadata"]["name"] for one in cluster.wait_bound(500 + len(ODD_BUT_FINE))}
        assert names == {f"good-{number}" for number in range(500)} | set(odd)
        for one, reason, words in WAITING_PODS:
            name = one["metadata"]["name"]

            def told(name: str = name) -> dict[str, Any] | None:
                conditions = plane.api("GET", f"/api/v1/namespaces/default/pods/{name}")[1]["status"].get("conditions", [])
                return next((c for c in conditions if c["type"] == "PodScheduled"), None)

            condition = eventually(told, 30, f"a reason for {name}")
            assert (condition["status"], condition["reason"]) == ("False", reason), (name, condition)
            assert words in condition["message"], condition
        assert treadle.get("/healthz")[0] == 200
        assert "Traceback" not in treadle.log.read_text()


def test_queues_that_contradict_one_another_are_answered_in_conditions(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(5)
    plane = cluster.plane

    def reason(name: str, kind: str = "queues") -> tuple[str, str]:
        ready = cluster.condition(kind, name, "Ready")
        return ready.get("status", ""), ready.get("reason", "")

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.queues(
            queue("root.orphan.child"),
            queue("root.a", weight="2"),
            queue("root.b", schedulingPolicy="fair"),
            queue("root.b.c", schedulingPolicy="drf"),
        )
        eventually(lambda: reason("root.orphan.child") == ("False", "NoParent"), 30)
        eventually(lambda: reason("root.b.c") == ("False", "ParentPolicy"), 30)
        eventually(lambda: reason("root.a") == ("True", "InForce"), 30)

        # The missing parent comes.
        cluster.queues(queue("root.orphan"))
        eventually(lambda: reason("root.orphan.child") == ("True", "InForce"), 30)

        # A leaf in use cannot become a parent until its applications have left.
        cluster.pods([pod("first", "root.a", "app-a")])
        cluster.wait_bound(1)
        cluster.queues(queue("root.a.below"))
        eventually(lambda: reason("root.a.below") == ("False", "ParentHasPods"), 30)
        plane.api("DELETE", "/api/v1/namespaces/default/pods/first", {"gracePeriodSeconds": 0})
        eventually(lambda: reason("root.a.below") == ("True", "InForce"), 30)

        # A queue that is deleted while in use drains: what runs goes on, what is new has to go elsewhere.
        cluster.pods([pod("second", "root.a.below", "app-b")])
        cluster.wait_bound(1)
        plane.api("DELETE", "/apis/treadle.dev/v1alpha1/queues/root.a.below")
        eventually(
            lambda: (
                "root.a.below was deleted while it has 1 application"
                in cluster.condition("queues", "root.a", "Ready").get("message", "")
            ),
            60,
        )
        cluster.pods([pod("third", "root.a.below", "app-c")])
        third = eventually(lambda: plane.api("GET", "/api/v1/namespaces/default/pods/third")[1]["status"].get("conditions"), 30)
        assert third[0]["reason"] == "QueueNotFound"

        # An edit that the tree cannot take leaves the last good version in force.
        status, answer = plane.api(
            "PATCH",
            "/apis/treadle.dev/v1alpha1/queues/root.orphan",
            {"spec": {"fair": {"schedulingPolicy": "fifo"}}},
            content_type="application/merge-patch+json",
        )
        assert status == 200, answer
        eventually(lambda: reason("root.orphan") == ("False", "LastGoodInForce"), 30)
        assert "for leaf queues" in cluster.condition("queues", "root.orphan", "Ready")["message"]

        # The same alias twice: the older Scheduler keeps it.
        for name, aliases in (("treadle", ["yunikorn"]), ("other", ["yunikorn", "volcano"])):
            body = {
                "apiVersion": "treadle.dev/v1alpha1",
                "kind": "Scheduler",
                "metadata": {"name": name},
                "spec": {"aliases": aliases},
            }
            assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", body)[0] == 201
            eventually(lambda name=name: reason(name, "schedulers")[0], 30)
        eventually(lambda: reason("other", "schedulers") == ("False", "NameTaken"), 30)
        assert reason("treadle", "schedulers") == ("True", "InForce")
        cluster.pods([pod("by-alias", "root.b", "app-d", schedulerName="yunikorn")])
        eventually(lambda: plane.api("GET", "/api/v1/namespaces/default/pods/by-alias")[1]["spec"].get("nodeName"), 30)
        assert "Traceback" not in treadle.log.read_text()


def test_what_is_accepted_but_not_acted_on_yet_is_named_in_a_condition(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    cluster = Cluster(plane)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.queues(spec("root.limited"))
        settings = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Scheduler",
            "metadata": {"name": "treadle"},
            "spec": {"fair": {"localityThresholdNode": "0.5"}},
        }
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", settings)[0] == 201
        gang = {"name": "workers", "minMember": 2, "demand": {"cpu": "4"}}
        asking = application("gang", queue="root.limited", gangs=[gang])
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", asking)[0] == 201

        eventually(lambda: cluster.condition("schedulers", "treadle", "NotActedOn").get("status") == "True", 30)
        assert "spec.fair.localityThresholdNode" in cluster.condition("schedulers", "treadle", "NotActedOn")["message"]
        eventually(lambda: cluster.condition("applications", "gang", "NotActedOn", "default").get("status") == "True", 30)
        assert "spec.gangs.demand" in cluster.condition("applications", "gang", "NotActedOn", "default")["message"]
