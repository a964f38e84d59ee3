"""Who submitted what, on a real API server with what the chart has for it and real tokens: stamped by whoever made it, forged by nobody, and kept through controllers.

Every test runs against both forms: policies of the API server, and Treadle's webhook on a server that has no such policies.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from admission.opportunistic_pods import patched
from admission.stamps import at
from cluster.client import eventually
from cluster.control_plane import DEFAULT_CONTROLLERS, ControlPlane
from cluster.stamping import FORGED, FORMS, as_user, install, server_for, wait_in_force
from cluster.treadle_process import Cluster, Treadle, pod
from treadle.admission.stamping import PATHS, stamp
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

SPACE = "team"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
CRONJOBS = f"/apis/batch/v1/namespaces/{SPACE}/cronjobs"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
OURS = f"/apis/treadle.dev/v1alpha1/namespaces/{SPACE}"
MERGE = "application/merge-patch+json"


def who(name: str) -> str:
    return f"system:serviceaccount:{SPACE}:{name}"


def prepared(plane: ControlPlane) -> dict[str, str]:
    """Make two accounts that may do anything in their namespace, and return their tokens."""
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


def reservation(name: str) -> dict[str, Any]:
    request = {"demand": {"cpu": "1"}, "count": 1, "duration": "1h"}
    spec = {
        "queue": "root.a",
        "arrival": "2030-01-01T00:00:00Z",
        "deadline": "2030-01-01T04:00:00Z",
        "expression": {"requests": [request]},
    }
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}


def notes_of(one: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = one.get("metadata", {}).get("annotations") or {}
    return found


@pytest.fixture(scope="module", params=FORMS)
def world(
    request: pytest.FixtureRequest,
    control_plane_binaries: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ControlPlane, dict[str, str]]]:
    with ControlPlane(arguments=server_for(request.param)) as plane, ExitStack() as stack:
        plane.apply_crds()
        arguments = install(plane, request.param)
        tokens = prepared(plane)
        if arguments:
            folder = tmp_path_factory.mktemp("treadle")
            stack.enter_context(Treadle(plane.scheduler_kubeconfig(), folder, "--user-source=stamps", *arguments)).wait_ready()
        wait_in_force(plane, SPACE)
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
    status, answer = plane.api("POST", f"{OURS}/reservations", made(reservation("r"), FORGED), token=tokens["ann"])
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


SOMEBODY = ("kim", ["dev", "system:masters", "a,b", "system:authenticated", "ops"])
"""A user and groups, of which one is that of administrators, so that nothing is refused for a right."""


def workload(kind: str, notes: dict[str, str] | None = None) -> dict[str, Any]:
    """A workload of any of the kinds that have a template, by the name of its resource."""
    one = job("w", notes) if kind in ("jobs", "cronjobs") else deployment("w", notes)
    made_of = one["spec"]["template"]
    if kind == "cronjobs":
        one["spec"] = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": made_of}}}
    elif kind == "replicationcontrollers":
        one["spec"] = {"selector": {"app": "t"}, "template": made_of}
    elif kind != "jobs":
        one["spec"] = {"selector": {"matchLabels": {"app": "t"}}, "template": made_of}
    if kind == "statefulsets":
        one["spec"]["serviceName"] = "s"
    return {"metadata": {"name": f"w-{kind}"}, "spec": one["spec"]}


def tried(
    plane: ControlPlane, group: str, kind: str, body: dict[str, Any], who: tuple[str, list[str]] = SOMEBODY
) -> dict[str, Any]:
    """What would become of an object that somebody makes."""
    base = "/api/v1" if group == "" else "/apis/treadle.dev/v1alpha1" if group == "treadle.dev" else f"/apis/{group}/v1"
    status, answer = as_user(plane, *who, "POST", f"{base}/namespaces/{SPACE}/{kind}?dryRun=All", copy.deepcopy(body))
    assert status == 201, answer
    return answer


WORKLOADS = sorted(key for key, path in PATHS.items() if path)


@pytest.mark.parametrize(("group", "kind"), WORKLOADS, ids=[kind for _, kind in WORKLOADS])
def test_each_kind_of_workload_is_stamped_with_its_makers_groups_but_those_of_the_system_and_with_commas(
    world: World, group: str, kind: str
) -> None:
    for notes in (None, FORGED, {"other": "stays"}):
        found = at(tried(world[0], group, kind, workload(kind, notes)), PATHS[group, kind])["metadata"]["annotations"]
        assert found == {**(notes or {}), STAMPED_USER: "kim", STAMPED_GROUPS: "dev,ops"}


def test_whoever_makes_pods_for_others_is_let_through_with_the_stamp_that_is_there_and_nobody_else_is(world: World) -> None:
    for name in (
        "system:kube-controller-manager",
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:treadle-system:treadle",
    ):
        answer = tried(world[0], "", "pods", made(pod("p"), FORGED), (name, ["system:masters"]))
        assert notes_of(answer) == FORGED, name
    for name in (
        "system:kube-controller-manager-2",
        "system:serviceaccount:kube-systems:x",
        "system:serviceaccount:team:treadle",
    ):
        answer = tried(world[0], "", "pods", made(pod("p"), FORGED), (name, ["system:masters"]))
        assert notes_of(answer)[STAMPED_USER] == name


def test_pods_and_workloads_of_other_schedulers_are_left_alone(world: World) -> None:
    answer = tried(world[0], "", "pods", made(pod("p", schedulerName="default-scheduler"), FORGED))
    assert notes_of(answer) == FORGED, "nobody reads it"
    plain = made(deployment("d", scheduler="default-scheduler"))
    assert "annotations" not in tried(world[0], "apps", "deployments", plain)["spec"]["template"]["metadata"]


def test_what_the_server_makes_of_any_object_is_what_the_function_makes_of_it(world: World) -> None:
    plane, _ = world
    dice = random.Random(20261128)
    texts = ["", "kim", "boss", "dev,ops", "x"]
    for number in range(60):
        group, kind = dice.choice(sorted(PATHS))
        keys = [key for key in (STAMPED_USER, STAMPED_GROUPS, "a.b/c_d", "note") if dice.random() < 0.4]
        notes = {key: dice.choice(texts) for key in keys}
        if kind == "pods":
            body = made(pod(f"p-{number}"), notes)
        elif kind == "applications":
            body = made(
                {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "tried"}, "spec": {}}, notes
            )
        elif kind == "reservations":
            body = made(reservation("tried"), notes)
        else:
            body = workload(kind, notes or dice.choice([None, {}]))
        groups = dice.sample(["dev", "ops", "a,b", "system:nodes", "systems", "é"], dice.randrange(5))
        user = dice.choice(["kim", "system:serviceaccount:a:b", 'o\'neil "q"', "oidc:x@y"])
        seen = ["system:masters", *groups, "system:authenticated"]
        asked = {
            "operation": "CREATE",
            "resource": {"group": group, "resource": kind},
            "userInfo": {"username": user, "groups": seen},
            "object": body,
        }
        expected = at(patched(body, stamp(asked)), PATHS[group, kind])["metadata"]["annotations"]
        answer = tried(plane, group, kind, body, (user, ["system:masters", *groups]))
        assert at(answer, PATHS[group, kind])["metadata"]["annotations"] == expected, (kind, user, groups, notes)


def test_any_edit_of_a_workload_leaves_its_template_as_the_function_has_it(world: World) -> None:
    plane, _ = world
    dice = random.Random(7)
    choices = [None, {}, {STAMPED_USER: "ann"}, {STAMPED_USER: "ann", STAMPED_GROUPS: "g"}, {STAMPED_GROUPS: "g"}, FORGED]
    for number in range(12):
        name = f"edited-{number}"
        scheduler = dice.choice(["treadle", "default-scheduler"])
        status, was = as_user(plane, *SOMEBODY, "POST", DEPLOYMENTS, made(deployment(name, scheduler=scheduler)))
        assert status == 201, was
        for _ in range(3):
            body = copy.deepcopy(was)
            notes = dice.choice(choices)
            body["spec"]["template"]["metadata"]["annotations"] = notes
            body["spec"]["template"]["spec"]["schedulerName"] = dice.choice(["treadle", "default-scheduler"])
            ours = body["spec"]["template"]["spec"]["schedulerName"] == "treadle" or STAMPED_USER in (notes or {})
            asked = {
                "operation": "UPDATE",
                "resource": {"group": "apps", "resource": "deployments"},
                "userInfo": {"username": "lee", "groups": ["system:masters"]},
                "object": body,
                "oldObject": was,
            }
            expected = patched(body, stamp(asked) if ours else [])["spec"]["template"]["metadata"].get("annotations") or {}
            where = f"{DEPLOYMENTS}/{name}?dryRun=All"
            del body["metadata"]["resourceVersion"]
            status, answer = as_user(plane, "lee", ["system:masters"], "PUT", where, body)
            assert status == 200, answer
            assert (answer["spec"]["template"]["metadata"].get("annotations") or {}) == expected, (was, notes)
            was = answer
            status, was = as_user(plane, "lee", ["system:masters"], "PUT", f"{DEPLOYMENTS}/{name}", body)
            assert status == 200, was


@pytest.mark.parametrize("form", FORMS)
def test_access_lists_hold_off_whoever_claims_to_be_somebody_else(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path, form: str
) -> None:
    plane = fresh_control_plane(arguments=server_for(form))
    plane.apply_crds()
    plane.create_nodes(1, "8", "64Gi")
    arguments = install(plane, form)
    tokens = prepared(plane)
    cluster = Cluster(plane)
    root = {"submitAcl": {}, "administerAcl": {"users": ["admin"]}}
    for name, spec in (("root", root), ("root.a", {"submitAcl": {"users": [who("ann")]}})):
        queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", queue)[0] == 201
    claim = {"treadle.dev/user": who("ann"), STAMPED_USER: who("ann")}
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=stamps", *arguments) as treadle:
        treadle.wait_ready()
        wait_in_force(plane, SPACE)
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
