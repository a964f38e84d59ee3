"""PodGroups of Kubernetes, Volcano and the scheduler-plugins on a real API server: found when their kinds come, acted on, and no more when they go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.client import fake_node
from cluster.control_plane import ControlPlane
from cluster.pod_group_kinds import CRDS, PLUGINS, VOLCANO, definition
from cluster.treadle_process import Cluster, Treadle, eventually, pod
from treadle.kube import pod_groups

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
GROUP = "/apis/treadle.dev/v1alpha1"
MERGE = "application/merge-patch+json"
SCHEDULER = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
KUBERNETES = "scheduling.k8s.io/v1alpha2"
ARGUMENTS = ("--feature-gates=GenericWorkload=true", f"--runtime-config={KUBERNETES}=true")


def group(version: str, name: str, spec: Json) -> Json:
    return {"apiVersion": version, "kind": "PodGroup", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def member(name: str, version: str, of: str) -> Json:
    found = pod(name, cpu="1", memory="64Mi")
    meta = found["metadata"]
    meta.setdefault("labels", {}).pop("treadle.dev/application", None)
    if version == KUBERNETES:
        found["spec"]["schedulingGroup"] = {"podGroupName": of}
    elif version == VOLCANO:
        meta["annotations"] = {"scheduling.k8s.io/group-name": of}
    else:
        meta["labels"]["scheduling.x-k8s.io/pod-group"] = of
    return found


def minimum(version: str, count: int) -> Json:
    return {"schedulingPolicy": {"gang": {"minCount": count}}} if version == KUBERNETES else {"minMember": count}


def create(plane: ControlPlane, path: str, body: Json) -> None:
    status, answer = plane.api("POST", path, body)
    assert status == 201, answer


def reason(plane: ControlPlane, name: str) -> tuple[str, str]:
    conditions = plane.api("GET", f"{PODS}/{name}")[1]["status"].get("conditions", [])
    return next(((one["reason"], one["message"]) for one in conditions if one["type"] == "PodScheduled"), ("", ""))


def of(cluster: Cluster, prefix: str) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.bound() if one["metadata"]["name"].startswith(prefix)}


@pytest.mark.parametrize("version", [KUBERNETES, VOLCANO, PLUGINS])
def test_pods_start_with_the_minimum_of_their_group(
    version: str, fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane(arguments=ARGUMENTS)
    plane.apply_crds()
    if version != KUBERNETES:
        create(plane, CRDS, definition(version))
    plane.create_nodes(1, "4", "16Gi")
    cluster, path = Cluster(plane), f"/apis/{version}/namespaces/default/podgroups"
    eventually(lambda: plane.api("GET", path)[0] == 200, 30, "the kind is served")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for number in range(3):
            create(plane, PODS, member(f"early-{number}", version, "early"))
        eventually(lambda: "is not there" in reason(plane, "early-0")[1], 60, "the pods wait for their group")
        create(plane, path, group(version, "early", minimum(version, 3)))
        eventually(lambda: len(of(cluster, "early")) == 3, 30, "the gang starts when its group has come")

        create(plane, path, group(version, "late", minimum(version, 2)))
        for number in range(2):
            create(plane, PODS, member(f"late-{number}", version, "late"))
        eventually(lambda: reason(plane, "late-0")[0] == "Unschedulable", 60, "one core is left, so neither starts")
        assert of(cluster, "late") == set()
        assert plane.api("POST", "/api/v1/nodes", fake_node("more", "1", "16Gi"))[0] == 201
        eventually(lambda: len(of(cluster, "late")) == 2, 30, "both start when both have room")


def status_of(plane: ControlPlane, path: str, name: str) -> Json:
    return plane.api("GET", f"{path}/{name}")[1].get("status") or {}


def conditions_of(plane: ControlPlane, path: str, name: str) -> dict[str, tuple[str, str]]:
    found = status_of(plane, path, name).get("conditions") or []
    return {one["type"]: (one["status"], one["reason"]) for one in found}


@pytest.mark.parametrize("version", [KUBERNETES, VOLCANO, PLUGINS])
def test_the_status_of_a_group_says_what_its_own_scheduler_would(
    version: str, fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane(arguments=ARGUMENTS)
    plane.apply_crds()
    if version != KUBERNETES:
        create(plane, CRDS, definition(version))
    plane.create_nodes(1, "2", "16Gi")
    path = f"/apis/{version}/namespaces/default/podgroups"
    eventually(lambda: plane.api("GET", path)[0] == 200, 30, "the kind is served")
    create(plane, f"{GROUP}/schedulers", {**SCHEDULER, "spec": {"aliases": ["volcano"]}})
    create(plane, path, group(version, "g", minimum(version, 3)))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        if version == VOLCANO:
            eventually(lambda: status_of(plane, path, "g").get("phase") == "Inqueue", 30, "operators may make its pods")
        for number in range(3):
            create(plane, PODS, member(f"g-{number}", version, "g"))
        if version == KUBERNETES:
            waits = ("False", "Unschedulable")
            eventually(lambda: conditions_of(plane, path, "g").get("PodGroupScheduled") == waits, 60, "it waits")
        elif version == VOLCANO:
            waits = ("True", "NotEnoughResources")
            eventually(lambda: conditions_of(plane, path, "g").get("Unschedulable") == waits, 60, "it waits")
        else:
            eventually(lambda: status_of(plane, path, "g").get("phase") == "Pending", 60, "it waits")
        create(plane, "/api/v1/nodes", fake_node("more", "2", "16Gi"))
        if version == KUBERNETES:
            placed = ("True", "Scheduled")
            eventually(lambda: conditions_of(plane, path, "g").get("PodGroupScheduled") == placed, 60, "it is placed")
            return
        placed_phase = "Running" if version == VOLCANO else "Scheduling"
        eventually(lambda: status_of(plane, path, "g").get("phase") == placed_phase, 60, "it is placed")
        for number in range(3):
            answer = plane.api("PATCH", f"{PODS}/g-{number}/status", {"status": {"phase": "Running"}}, content_type=MERGE)
            assert answer[0] == 200, answer
        eventually(lambda: status_of(plane, path, "g").get("running") == 3, 60, "it runs")
        assert status_of(plane, path, "g")["phase"] == "Running"
        if version == VOLCANO:
            assert conditions_of(plane, path, "g")["Scheduled"][0] == "True"
            assert conditions_of(plane, path, "g")["Unschedulable"][0] == "False"
        for number in range(3):
            answer = plane.api("PATCH", f"{PODS}/g-{number}/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
            assert answer[0] == 200, answer
        end = ("Completed" if version == VOLCANO else "Finished", 3)
        eventually(
            lambda: tuple(status_of(plane, path, "g").get(name) for name in ("phase", "succeeded")) == end, 60, "it has ended"
        )


def test_kinds_that_come_later_are_found_and_those_that_go_leave_pods_alone(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(1, "2", "16Gi")
    cluster, path = Cluster(plane), f"/apis/{VOLCANO}/namespaces/default/podgroups"
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        for number in range(3):
            create(plane, PODS, member(f"a-{number}", VOLCANO, "a"))
        eventually(lambda: len(of(cluster, "a")) == 2, 30, "without the kind each pod is placed by itself")
        events = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
        assert any(one["reason"] == "GangIgnored" and "has no such kind" in one["note"] for one in events)
        create(plane, CRDS, definition(VOLCANO))
        eventually(lambda: plane.api("GET", path)[0] == 200, 30, "the kind is served")
        eventually(lambda: reason(plane, "a-2")[0] == "GangIncomplete", 60, "the pod that waits is one of a gang by now")
        create(plane, path, group(VOLCANO, "a", minimum(VOLCANO, 3)))
        eventually(lambda: reason(plane, "a-2")[0] == "Unschedulable", 60, "its group says how many start together")
        assert plane.api("DELETE", f"{CRDS}/podgroups.{pod_groups.VERSIONS['Volcano'][0].partition('/')[0]}")[0] == 200
        assert plane.api("POST", "/api/v1/nodes", fake_node("more", "1", "16Gi"))[0] == 201
        eventually(lambda: len(of(cluster, "a")) == 3, 60, "it is placed by itself again")
