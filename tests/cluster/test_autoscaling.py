"""What autoscalers act on, on a real API server: ``Unschedulable`` for real shortage alone, and ProvisioningRequests for gangs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cluster.client import eventually, fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
CRD = Path(__file__).parent / "crds" / "provisioningrequests.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
PODS = "/api/v1/namespaces/default/pods"
GROUP = "/apis/treadle.dev/v1alpha1"
CHECK = "check-capacity.autoscaling.x-k8s.io"


def create(plane: ControlPlane, path: str, body: Json) -> Json:
    status, answer = plane.api("POST", path, body)
    assert status == 201, answer
    return answer


def install(plane: ControlPlane) -> None:
    create(plane, CRDS, yaml.safe_load(CRD.read_text()))
    eventually(lambda: plane.api("GET", REQUESTS)[0] == 200, 30, "the kind is served")


def scheduler(plane: ControlPlane, **gangs: Any) -> None:
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"gangs": gangs}}
    create(plane, f"{GROUP}/schedulers", body)


def member(name: str, of: str, least: int, cpu: str = "1", leaf: str = "") -> Json:
    found = pod(name, leaf, of, cpu=cpu, memory="64Mi")
    found["metadata"]["labels"] |= {"treadle.dev/gang": "g", "treadle.dev/gang-min-member": str(least)}
    return found


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one.get("reason", ""), one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), ("", "")
    )


def requests(plane: ControlPlane) -> list[Json]:
    return plane.api("GET", REQUESTS)[1]["items"]


def the_request(plane: ControlPlane, attempt: int = 1) -> Json:
    def found() -> Json | None:
        there = [one for one in requests(plane) if one["metadata"]["annotations"]["treadle.dev/attempt"] == str(attempt)]
        return there[0] if len(requests(plane)) == 1 and there else None

    return eventually(found, 30, f"the request of attempt {attempt}")


def say(plane: ControlPlane, request: Json, kind: str, ago: float = 0.0, reason: str = "Reason", message: str = "words") -> None:
    """What an autoscaler writes: a condition that is True, since so many seconds."""
    when = (datetime.now(UTC) - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": when}
    path = f"{REQUESTS}/{request['metadata']['name']}/status"
    status, answer = plane.api(
        "PATCH", path, {"status": {"conditions": [condition]}}, content_type="application/merge-patch+json"
    )
    assert status == 200, answer


@contextmanager
def waiting_gang(fresh_cluster: Callable[..., Cluster], folder: Path) -> Iterator[Cluster]:
    """A gang of three whose node has room for two of them, and nodes are asked for."""
    cluster = fresh_cluster(1, "2", "8Gi")
    install(cluster.plane)
    scheduler(cluster.plane, provisioning={"className": CHECK, "parameters": {"noRetry": "true"}})
    with Treadle(cluster.plane.scheduler_kubeconfig(), folder) as treadle:
        treadle.wait_ready()
        cluster.pods([member(f"w-{number}", "train", 3) for number in range(3)])
        yield cluster


def test_only_what_lacks_nodes_is_unschedulable(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "4", "16Gi")
    cluster.queues(
        queue("root.small", maxResources={"cpu": "1"}), queue("root.large"), queue("root.none", maxResources={"cpu": "0"})
    )
    waiting = {
        "at-maximum": ("root.small", "1", "QueueMaximum"),
        "never": ("root.none", "1", "ZeroMaximum"),
        "no-node": ("root.large", "8", "Unschedulable"),
    }
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("first", "root.small", "first", cpu="1")])
        cluster.wait_bound(1)
        cluster.pods([pod(name, leaf, name, cpu=cpu) for name, (leaf, cpu, _) in waiting.items()])
        cluster.pods([member("alone", "gang", 2, leaf="root.large")])
        for name, (_, _, reason) in waiting.items():
            eventually(lambda name=name, reason=reason: told(cluster.plane, name)[0] == reason, 30, f"{name} is told {reason}")
        eventually(lambda: told(cluster.plane, "alone")[0] == "GangIncomplete", 30, "the others of its gang are not there")


def test_nodes_are_asked_for_and_the_gang_starts_when_they_have_come(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    with waiting_gang(fresh_cluster, tmp_path) as cluster:
        plane = cluster.plane
        request = the_request(plane)
        assert request["spec"]["provisioningClassName"] == CHECK
        assert request["spec"]["parameters"] == {"noRetry": "true"}
        (podset,) = request["spec"]["podSets"]
        assert podset["count"] == 3
        where = f"{TEMPLATES}/{podset['podTemplateRef']['name']}"
        template = eventually(lambda: (found := plane.api("GET", where))[0] == 200 and found[1], 30, "the template")
        assert template["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "64Mi"}
        assert template["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"]
        assert request["metadata"]["ownerReferences"][0]["kind"] == "Pod"
        reasons = eventually(
            lambda: (found := {told(plane, f"w-{number}")[0] for number in range(3)}) == {"NodesRequested"} and found, 30, "told"
        )
        assert reasons == {"NodesRequested"}

        say(plane, request, "Accepted")
        say(plane, request, "Provisioned", reason="CapacityIsFound")
        create(plane, "/api/v1/nodes", fake_node("more", "2", "8Gi"))
        bound = cluster.wait_bound(3)
        assert {one["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"] for one in bound} == {
            request["metadata"]["name"]
        }
        assert {one["metadata"]["annotations"]["autoscaling.x-k8s.io/provisioning-class-name"] for one in bound} == {CHECK}
        eventually(lambda: requests(plane) == [], 30, "the request is deleted")


def test_what_was_in_vain_is_told_and_asked_for_again(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    with waiting_gang(fresh_cluster, tmp_path) as cluster:
        plane = cluster.plane
        first = the_request(plane)
        say(plane, first, "Failed", reason="CapacityIsNotFound", message="no node group has room")
        reason, message = eventually(
            lambda: (found := told(plane, "w-0"))[0] == "ProvisioningFailed" and found, 60, "the pods are told"
        )
        assert reason == "ProvisioningFailed"
        assert "CapacityIsNotFound: no node group has room" in message
        say(plane, first, "Failed", ago=61)
        second = the_request(plane, 2)
        assert second["metadata"]["name"] != first["metadata"]["name"]
        say(plane, second, "BookingExpired", ago=121)
        the_request(plane, 3)


def test_another_instance_goes_on_with_the_request_and_it_goes_with_the_gang(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    with waiting_gang(fresh_cluster, tmp_path) as cluster:
        first = the_request(cluster.plane)
        eventually(lambda: told(cluster.plane, "w-0")[0] == "NodesRequested", 30, "told")
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: first["metadata"]["name"] in told(cluster.plane, "w-0")[1], 60, "told again")
        assert [one["metadata"]["uid"] for one in requests(cluster.plane)] == [first["metadata"]["uid"]]
        for number in range(3):
            cluster.plane.api("DELETE", f"{PODS}/w-{number}", {"gracePeriodSeconds": 0})
        eventually(lambda: requests(cluster.plane) == [], 30, "it is deleted")


def test_a_gang_that_its_queue_holds_back_asks_for_nothing(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "8", "8Gi")
    install(cluster.plane)
    scheduler(cluster.plane, provisioning={"className": CHECK})
    cluster.queues(queue("root.small", maxResources={"cpu": "2"}), queue("root.large"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([member(f"a-{number}", "a", 2, leaf="root.small") for number in range(2)])
        cluster.wait_bound(2)
        cluster.pods([member(f"b-{number}", "b", 2, leaf="root.small") for number in range(2)])
        cluster.pods([member(f"c-{number}", "c", 9, leaf="root.large") for number in range(9)])
        request = the_request(cluster.plane)
        assert request["metadata"]["annotations"]["treadle.dev/application"] == "default/c"
        eventually(lambda: told(cluster.plane, "b-0")[0] == "QueueMaximum", 30, "it waits for its queue")


def test_without_the_kind_pods_are_unschedulable_and_the_scheduler_says_why(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "2", "8Gi")
    scheduler(cluster.plane, provisioning={"className": CHECK})
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([member(f"w-{number}", "train", 3) for number in range(3)])
        eventually(lambda: told(cluster.plane, "w-0")[0] == "Unschedulable", 60, "it lacks nodes")
        assert "No nodes are asked for: the API server has no ProvisioningRequests" in told(cluster.plane, "w-0")[1]
        said = eventually(lambda: cluster.condition("schedulers", "treadle", "Ready").get("message"), 30, "the Scheduler says it")
        assert said.startswith("spec.gangs.provisioning: no nodes are asked for: the API server has no ProvisioningRequests")
        install(cluster.plane)
        the_request(cluster.plane)


def test_the_example_asks_as_its_application_says(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "2", "8Gi")
    cluster.plane.start_controller_manager()
    install(cluster.plane)
    paths = {
        "Scheduler": f"{GROUP}/schedulers",
        "Application": f"{GROUP}/namespaces/default/applications",
        "Job": "/apis/batch/v1/namespaces/default/jobs",
    }
    made = {
        one["kind"]: create(cluster.plane, paths[one["kind"]], one)
        for one in yaml.safe_load_all((ROOT / "examples" / "provisioning.yaml").read_text())
    }
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path):
        request = the_request(cluster.plane)
        assert request["spec"]["provisioningClassName"] == "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
        assert request["spec"]["parameters"] == {"ValidUntilSeconds": "1800"}
        assert [one["count"] for one in request["spec"]["podSets"]] == [4]
        (owner,) = request["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Application", made["Application"]["metadata"]["uid"])
        for number in range(3):
            create(cluster.plane, "/api/v1/nodes", fake_node(f"more-{number}", "2", "8Gi"))
        cluster.wait_bound(4)
        eventually(lambda: requests(cluster.plane) == [], 30, "the request is deleted")
        eventually(lambda: cluster.plane.api("GET", TEMPLATES)[1]["items"] == [], 60, "its templates go with it")
