"""Who submitted what, on a real API server with the chart's policies and real tokens: stamped by whoever made it, forged by nobody, and kept through controllers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart.binaries import program
from cluster.client import eventually
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
SPACE = "team"
PATHS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
FORGED = {STAMPED_USER: "boss", STAMPED_GROUPS: "system:masters", "treadle.dev/user": "boss"}
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
CRONJOBS = f"/apis/batch/v1/namespaces/{SPACE}/cronjobs"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
OURS = f"/apis/treadle.dev/v1alpha1/namespaces/{SPACE}"
MERGE = "application/merge-patch+json"


def who(name: str) -> str:
    return f"system:serviceaccount:{SPACE}:{name}"


def prepared(plane: ControlPlane) -> dict[str, str]:
    """Install what the chart has for identities, make two accounts that may do anything in their namespace, and return their tokens."""
    served = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace=treadle-system", served]
    command.append("--show-only=templates/identity.yaml")
    for one in yaml.safe_load_all(subprocess.run(command, capture_output=True, check=True).stdout):
        if one:
            status, answer = plane.api("POST", f"/apis/{one['apiVersion']}/{PATHS[one['kind']]}", one)
            assert status == 201, answer
    plane.create_namespace(SPACE)
    tokens = {}
    for name in ("ann", "bob"):
        accounts = f"/api/v1/namespaces/{SPACE}/serviceaccounts"
        assert plane.api("POST", accounts, {"metadata": {"name": name}})[0] == 201
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        binding = {
            "metadata": {"name": name},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SPACE}],
        }
        assert plane.api("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}/rolebindings", binding)[0] == 201
        status, answer = plane.api("POST", f"{accounts}/{name}/token", {"spec": {}})
        assert status == 201, answer
        tokens[name] = answer["status"]["token"]
    probe = made(pod("probe"), FORGED)
    eventually(
        lambda: all(notes_of(plane.api("POST", PODS, probe, {"dryRun": "All"})[1]).get(STAMPED_USER) != "boss" for _ in range(5)),
        what="the policies in force",
    )
    return tokens


def made(body: dict[str, Any], notes: dict[str, str] | None = None) -> dict[str, Any]:
    body["metadata"] = {**body["metadata"], "namespace": SPACE, **({"annotations": notes} if notes else {})}
    return body


def template(notes: dict[str, str] | None = None, scheduler: str = "treadle") -> dict[str, Any]:
    spec = {**pod("t")["spec"], "schedulerName": scheduler, "restartPolicy": "Never"}
    return {"metadata": {"labels": {"app": "t"}, **({"annotations": notes} if notes else {})}, "spec": spec}


def job(name: str, notes: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template(notes, **fields)}}


def deployment(name: str, notes: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    made_of = template(notes, **fields)
    made_of["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "t"}}, "template": made_of}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def notes_of(one: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = one.get("metadata", {}).get("annotations") or {}
    return found


@pytest.fixture(scope="module")
def world(control_plane_binaries: None) -> Iterator[tuple[ControlPlane, dict[str, str]]]:  # noqa: ARG001
    with ControlPlane() as plane:
        plane.apply_crds()
        tokens = prepared(plane)
        plane.start_controller_manager(
            f"{DEFAULT_CONTROLLERS},job,cronjob,deployment,replicaset", "--use-service-account-credentials=true"
        )
        yield plane, tokens


World = tuple[ControlPlane, dict[str, str]]


def test_whoever_makes_a_pod_is_stamped_on_it_whatever_it_says(world: World) -> None:
    plane, tokens = world
    for name, notes in (("plain", None), ("forged", FORGED)):
        status, answer = plane.api("POST", PODS, made(pod(name), notes), token=tokens["bob"])
        assert status == 201, answer
        assert (notes_of(answer)[STAMPED_USER], notes_of(answer)[STAMPED_GROUPS]) == (who("bob"), "")
    assert notes_of(plane.api("GET", f"{PODS}/forged")[1])["treadle.dev/user"] == "boss", "a claim stays, and nobody believes it"


def test_applications_and_reservations_are_stamped_as_well(world: World) -> None:
    plane, tokens = world
    application = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "app"}, "spec": {}}
    status, answer = plane.api("POST", f"{OURS}/applications", made(application, FORGED), token=tokens["ann"])
    assert (status, notes_of(answer).get(STAMPED_USER)) == (201, who("ann")), answer
    request = {"demand": {"cpu": "1"}, "count": 1, "duration": "1h"}
    spec = {
        "queue": "root.a",
        "arrival": "2030-01-01T00:00:00Z",
        "deadline": "2030-01-01T04:00:00Z",
        "expression": {"requests": [request]},
    }
    reservation = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": "r"}, "spec": spec}
    status, answer = plane.api("POST", f"{OURS}/reservations", made(reservation, FORGED), token=tokens["ann"])
    assert (status, notes_of(answer).get(STAMPED_USER)) == (201, who("ann")), answer


def test_a_stamp_is_changed_by_nobody_by_no_door(world: World) -> None:
    plane, tokens = world
    assert plane.api("POST", PODS, made(pod("mine")), token=tokens["bob"])[0] == 201
    application = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "mine"}, "spec": {}}
    assert plane.api("POST", f"{OURS}/applications", made(application), token=tokens["bob"])[0] == 201
    refused = []
    for where in (f"{PODS}/mine", f"{PODS}/mine/status", f"{OURS}/applications/mine"):
        for notes in (FORGED, {STAMPED_USER: None}, {STAMPED_GROUPS: "admins"}):
            for name in ("bob", "ann"):
                patch = {"metadata": {"annotations": notes}}
                refused.append(plane.api("PATCH", where, patch, content_type=MERGE, token=tokens[name])[0])
        refused.append(plane.api("PATCH", where, {"metadata": {"annotations": FORGED}}, content_type=MERGE)[0])
    target = {"apiVersion": "v1", "kind": "Binding", "target": {"apiVersion": "v1", "kind": "Node", "name": "n"}}
    bind = {**target, "metadata": {"name": "mine", "annotations": {STAMPED_USER: "boss"}}}
    refused.append(plane.api("POST", f"{PODS}/mine/binding", bind, token=tokens["bob"])[0])
    assert refused == [403] * len(refused), refused
    assert len(refused) == 22
    assert notes_of(plane.api("GET", f"{PODS}/mine")[1])[STAMPED_USER] == who("bob")
    other = {"metadata": {"annotations": {"note": "x"}, "labels": {"a": "b"}}}
    assert plane.api("PATCH", f"{PODS}/mine", other, content_type=MERGE, token=tokens["bob"])[0] == 200


def of_owner(plane: ControlPlane, prefix: str) -> str:
    """Whom the pod of a workload is stamped with, once there is one."""

    def found() -> str:
        pods = plane.api("GET", PODS)[1]["items"]
        return next((notes_of(one).get(STAMPED_USER, "nobody") for one in pods if one["metadata"]["name"].startswith(prefix)), "")

    return eventually(found, 60, f"a pod of {prefix}")


def test_pods_that_controllers_make_are_of_whoever_made_the_workload(world: World) -> None:
    plane, tokens = world
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "cron"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template(FORGED)}}},
    }
    for path, body in ((JOBS, job("job", FORGED)), (DEPLOYMENTS, deployment("deploy", FORGED)), (CRONJOBS, cron)):
        status, answer = plane.api("POST", path, made(body), token=tokens["ann"])
        assert status == 201, answer
    assert of_owner(plane, "job-") == who("ann")
    assert of_owner(plane, "deploy-") == who("ann")
    kept = plane.api("GET", f"{CRONJOBS}/cron")[1]["spec"]["jobTemplate"]["spec"]["template"]
    assert kept["metadata"]["annotations"][STAMPED_USER] == who("ann")
    patch = {"spec": {"template": {"metadata": {"annotations": FORGED}}}}
    status, answer = plane.api("PATCH", f"{DEPLOYMENTS}/deploy", patch, content_type=MERGE, token=tokens["bob"])
    assert (status, answer["spec"]["template"]["metadata"]["annotations"][STAMPED_USER]) == (200, who("ann")), answer
    patch = {
        "spec": {"suspend": True, "jobTemplate": {"spec": {"template": {"metadata": {"annotations": {STAMPED_USER: None}}}}}}
    }
    status, answer = plane.api("PATCH", f"{CRONJOBS}/cron", patch, content_type=MERGE, token=tokens["bob"])
    stamped = answer["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["annotations"][STAMPED_USER]
    assert (status, stamped) == (200, who("ann"))


def test_a_template_that_becomes_ours_later_is_of_whoever_made_it_ours_and_brings_no_stamp_along(world: World) -> None:
    plane, tokens = world
    other = made(deployment("later", FORGED, scheduler="default-scheduler"))
    status, answer = plane.api("POST", DEPLOYMENTS, other, token=tokens["ann"])
    assert (status, answer["spec"]["template"]["metadata"]["annotations"][STAMPED_USER]) == (201, who("ann")), answer
    plain = made(deployment("plain", scheduler="default-scheduler"))
    assert plane.api("POST", DEPLOYMENTS, plain, token=tokens["ann"])[0] == 201
    patch = {"spec": {"template": {"spec": {"schedulerName": "treadle"}}}}
    status, answer = plane.api("PATCH", f"{DEPLOYMENTS}/plain", patch, content_type=MERGE, token=tokens["bob"])
    assert (status, answer["spec"]["template"]["metadata"]["annotations"][STAMPED_USER]) == (200, who("bob")), answer


def test_access_lists_hold_off_whoever_claims_to_be_somebody_else(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(1, "8", "64Gi")
    tokens = prepared(plane)
    cluster = Cluster(plane)
    root = {"submitAcl": {}, "administerAcl": {"users": ["admin"]}}
    for name, spec in (("root", root), ("root.a", {"submitAcl": {"users": [who("ann")]}})):
        queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", queue)[0] == 201
    claim = {"treadle.dev/user": who("ann"), STAMPED_USER: who("ann")}
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=stamps") as treadle:
        treadle.wait_ready()
        for name in ("bob", "ann"):
            body = made(pod(f"of-{name}", "root.a", f"app-{name}"), claim)
            assert plane.api("POST", PODS, body, token=tokens[name])[0] == 201
        eventually(lambda: {one["metadata"]["name"] for one in cluster.bound()} == {"of-ann"}, 20, "ann's pod bound")

        def reasons() -> dict[str, str]:
            events = plane.api("GET", f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events")[1]["items"]
            return {one["reason"]: one["note"] for one in events if one["regarding"]["name"] == "of-bob"}

        said = eventually(lambda: (found := reasons()).get("UserIgnored") and "FailedScheduling" in found and found, 20, "why")
        assert f"claim the user {who('ann')!r}" in said["UserIgnored"]
        assert f"user {who('bob')} may not submit to queue root.a" in said["FailedScheduling"]
