"""Resource profiles on a real API server: what the example says holds, follows edits, and is refused where it makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from cluster.client import eventually, fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

ROOT = Path(__file__).resolve().parents[2]
GROUP = "/apis/treadle.dev/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"
PATHS = {"Scheduler": f"{GROUP}/schedulers", "Queue": f"{GROUP}/queues", "Pod": PODS}
GPU = {"nvidia.com/gpu": "8", "hugepages-2Mi": "1Gi"}


def told(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return next(
        ((one.get("reason", ""), one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), ("", "")
    )


def edit(plane: ControlPlane, path: str, spec: dict[str, Any]) -> None:
    status, answer = plane.api("PATCH", f"{GROUP}/{path}", {"spec": spec}, content_type="application/merge-patch+json")
    assert status == 200, answer


def create(cluster: Cluster, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return cluster.plane.api("POST", PATHS[body["kind"]], body)


def trainer(name: str, gpus: int = 1, profile: str = "gpu") -> dict[str, Any]:
    found = pod(name, "root.train", "train", cpu="8", memory="64Gi")
    found["metadata"]["annotations"] = {"treadle.dev/resource-profile": profile}
    resources = found["spec"]["containers"][0]["resources"]
    resources["requests"]["nvidia.com/gpu"] = str(gpus)
    resources["limits"] = {"nvidia.com/gpu": str(gpus)}
    return found


def events(cluster: Cluster, reason: str) -> list[str]:
    found = cluster.plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
    return [one["note"] for one in found if one["reason"] == reason]


def test_the_example_holds_and_an_edited_profile_is_followed(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(0)
    for number in range(2):
        body = fake_node(f"gpu-{number}", "64", "512Gi", resources=GPU)
        assert cluster.plane.api("POST", "/api/v1/nodes", body)[0] == 201
    for one in yaml.safe_load_all((ROOT / "examples" / "resource-profiles.yaml").read_text()):
        status, answer = create(cluster, one)
        assert status == 201, answer
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        assert len(cluster.wait_bound(1)) == 1, "the pod of the example"
        for number in range(5):
            assert create(cluster, trainer(f"t-{number}"))[0] == 201
        cluster.wait_bound(4)
        waits = eventually(
            lambda: next((f"t-{n}" for n in range(5) if told(cluster.plane, f"t-{n}")[0] == "QueueMaximum"), ""), 30, "one waits"
        )
        assert "memory 256Gi used of 256Gi" in told(cluster.plane, waits)[1]
        status = cluster.get("queues", "root.train")["status"]
        assert (status["maximum"]["nvidia.com/gpu"], status["used"]["nvidia.com/gpu"]) == ("4", "4")

        used = 'treadle_queue_resource{kind="used",queue="root.train",resource="nvidia.com/gpu"}'
        assert treadle.metric(used) == 4

        edit(
            cluster.plane,
            "schedulers/treadle",
            {"resourceProfiles": {"gpu": {"cpu": "12", "memory": "96Gi", "nvidia.com/gpu": "2"}}},
        )
        cluster.wait_bound(6)
        assert cluster.condition("queues", "root.train", "Ready")["status"] == "True"

        edit(cluster.plane, "schedulers/treadle", {"resourceProfiles": {"gpu": None}})
        ready = eventually(
            lambda: (c := cluster.condition("queues", "root.train", "Ready"))["status"] == "False" and c, 30, "said"
        )
        assert ready["reason"] == "LastGoodInForce"
        assert (
            "spec.fair.maxResources: 'gpu' is not in spec.resourceProfiles of the Scheduler: allowed are small"
            in ready["message"]
        )


def test_pods_are_told_where_they_are_not_what_their_profile_is(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "64", "512Gi")
    profiles = {"gpu": {"cpu": "8", "memory": "64Gi"}}
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert create(cluster, {**body, "spec": {"resourceProfiles": profiles}})[0] == 201
    cluster.queues(queue("root.train"))
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        like = pod("like", "root.train", "like", cpu="8", memory="64Gi")
        like["metadata"]["annotations"] = {"treadle.dev/resource-profile": "gpu"}
        unlike = pod("unlike", "root.train", "unlike", cpu="2", memory="64Gi")
        unlike["metadata"]["labels"]["treadle.dev/resource-profile"] = "gpu"
        unknown = pod("unknown", "root.train", "unknown")
        unknown["metadata"]["annotations"] = {"treadle.dev/resource-profile": "huge"}
        cluster.pods([like, unlike, unknown])
        cluster.wait_bound(3)
        (note,) = eventually(lambda: events(cluster, "ProfileDiffers"), 30, "the event")
        assert "cpu 2 instead of 8" in note
        (note,) = eventually(lambda: events(cluster, "ProfileUnknown"), 30, "the event")
        assert "Resource profile huge" in note
        assert "which has gpu" in note


def test_the_server_refuses_what_makes_no_sense(fresh_cluster: Callable[..., Cluster]) -> None:
    cluster = fresh_cluster(0)
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    for profiles, words in (
        ({"large": {"cpu": 1, "profile.treadle.dev/small": 2}}, "a profile must not name profiles"),
        ({"maximum": {"cpu": 1}}, "minimum and maximum are no profiles"),
        ({"Large": {"cpu": 1}}, "profiles must have lower-case names"),
        ({"large": {"cpu": "-1"}}, "must not be negative"),
    ):
        status, answer = create(cluster, {**scheduler, "spec": {"resourceProfiles": profiles}})
        assert status == 422, profiles
        assert words in answer["message"]
    for spec in (
        {"fair": {"maxResources": {"profile.treadle.dev/large": "1.5"}}},
        {"capacity": {"guaranteed": "[memory=1Gi,profile.treadle.dev/large=50%]"}},
    ):
        status, answer = create(
            cluster, {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.a"}, "spec": spec}
        )
        assert status == 422, spec
        assert "must have a whole number up to 999999999" in answer["message"]


def test_the_policy_of_the_example_gives_pods_what_their_profile_has(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(0)
    plane = cluster.plane
    assert plane.api("POST", "/api/v1/nodes", fake_node("gpu", "64", "512Gi", resources=GPU))[0] == 201
    profiles = {"gpu": {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": "1"}, "small": {"cpu": "500m"}}
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    assert create(cluster, {**scheduler, "spec": {"resourceProfiles": profiles}})[0] == 201
    admission = "/apis/admissionregistration.k8s.io/v1"
    paths = {
        "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
        "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    }
    for one in yaml.safe_load_all((ROOT / "examples" / "resource-profiles-policy.yaml").read_text()):
        status, answer = plane.api("POST", f"{admission}/{paths[one['kind']]}", one)
        assert status == 201, answer

    def made(name: str, profile: str, **resources: Any) -> dict[str, Any]:
        body = pod(name, "root.train", name)
        body["metadata"]["annotations"] = {"treadle.dev/resource-profile": profile}
        body["spec"]["containers"][0]["resources"] = resources
        status, answer = plane.api("POST", PODS, body)
        assert status == 201, answer
        return answer["spec"]["containers"][0].get("resources", {})

    numbers = iter(range(1000))

    def filled() -> bool:
        return made(f"probe-{next(numbers)}", "small") == {"requests": {"cpu": "500m"}}

    eventually(filled, 30, "the policy is in force")
    assert made("trainer", "gpu") == {
        "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }
    assert made("unknown", "huge") == {}
    assert made("own", "gpu", requests={"cpu": "1"}) == {"requests": {"cpu": "1"}}
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: plane.api("GET", f"{PODS}/trainer")[1]["spec"].get("nodeName"), 30, "it is placed")
        eventually(
            lambda: any("default/own" in note and "cpu 1 instead of 8" in note for note in events(cluster, "ProfileDiffers")),
            30,
            "the one that asks for something else is told",
        )
        assert not any("default/trainer" in note for note in events(cluster, "ProfileDiffers"))
