"""What is different where a webhook of Treadle's stamps who made an object: it can be down, and it can be somebody else who answers. The stamps are in test_identity.py."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.stamping import CONFIGURATION, FORGED, WITHOUT_POLICIES, as_user, install, wait_in_force
from cluster.treadle_process import Treadle, free_port, pod
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

SPACE = "team"
OWN = "treadle-system"
MERGE = "application/merge-patch+json"
KIM = ("kim", ["system:masters"])
CONTROLLER = ("system:kube-controller-manager", ["system:masters"])


@pytest.fixture
def plane(fresh_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    plane = fresh_control_plane(arguments=WITHOUT_POLICIES)
    plane.apply_crds()
    for name in (SPACE, OWN):
        plane.create_namespace(name)
    return plane


def started(plane: ControlPlane, folder: Path, arguments: tuple[str, ...]) -> Treadle:
    return Treadle(plane.scheduler_kubeconfig(), folder, "--user-source=stamps", *arguments)


def make(
    plane: ControlPlane, name: str, namespace: str = SPACE, notes: dict[str, str] | None = None, who: Any = KIM, **spec: Any
) -> tuple[int, dict[str, Any]]:
    body = pod(name, **spec)
    body["metadata"] |= {"namespace": namespace, **({"annotations": notes} if notes else {})}
    return as_user(plane, *who, "POST", f"/api/v1/namespaces/{namespace}/pods", body)


def workload(name: str, scheduler: str = "treadle", notes: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "pause"}]}
    template = {"metadata": {"labels": {"app": name}, **({"annotations": notes} if notes else {})}, "spec": spec}
    return {"metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}}


def deploy(plane: ControlPlane, namespace: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return as_user(plane, *KIM, "POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)


def test_while_no_copy_runs_what_would_be_stamped_is_refused_and_nothing_else_is(plane: ControlPlane, tmp_path: Path) -> None:
    arguments = install(plane, "webhook")
    application = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Application", "metadata": {"name": "app"}, "spec": {}}
    applications = f"/apis/treadle.dev/v1alpha1/namespaces/{SPACE}/applications"
    with started(plane, tmp_path, arguments) as treadle:
        treadle.wait_ready()
        wait_in_force(plane, SPACE)
        assert deploy(plane, SPACE, workload("stamped"))[0] == 201

    for status, answer in (
        make(plane, "ours", notes=FORGED),
        deploy(plane, SPACE, workload("new")),
        as_user(plane, *KIM, "POST", applications, application),
    ):
        assert status == 500, answer
        assert "stamp-identity.treadle.dev" in answer["message"]
        assert "/stamp-identity" in answer["message"]
        assert "connection refused" in answer["message"]

    assert make(plane, "other", schedulerName="default-scheduler")[0] == 201
    assert deploy(plane, SPACE, workload("other", "default-scheduler"))[0] == 201
    status, answer = make(plane, "of-a-controller", notes={STAMPED_USER: "kim"}, who=CONTROLLER)
    assert (status, answer["metadata"]["annotations"]) == (201, {STAMPED_USER: "kim"}), "pods of workloads go on"
    edit = {"spec": {"replicas": 3, "template": {"metadata": {"labels": {"x": "y"}}}}}
    where = f"/apis/apps/v1/namespaces/{SPACE}/deployments/stamped"
    assert plane.api("PATCH", where, edit, content_type=MERGE)[0] == 200, "it has its stamp"
    assert plane.api("PATCH", f"{where}/scale", {"spec": {"replicas": 5}}, content_type=MERGE)[0] == 200
    forged = {"spec": {"template": {"metadata": {"annotations": FORGED}}}}
    assert plane.api("PATCH", where, forged, content_type=MERGE)[0] == 500

    for namespace in (OWN, "kube-system"):
        assert deploy(plane, namespace, workload("treadle", "default-scheduler"))[0] == 201, "or Treadle could not start"
        status, answer = make(plane, "ours", namespace)
        assert (status, "annotations" in answer["metadata"]) == (201, False), "it counts for its namespace"
        for status, answer in (
            make(plane, "forged", namespace, FORGED),
            deploy(plane, namespace, workload("forged", notes=FORGED)),
        ):
            assert (status, "nobody else may be named" in answer["message"]) == (403, True), answer

    with started(plane, tmp_path, arguments) as treadle:
        treadle.wait_ready()
        wait_in_force(plane, SPACE)
        status, answer = make(plane, "ours", notes=FORGED)
        assert (status, answer["metadata"]["annotations"][STAMPED_USER]) == (201, "kim")


def test_a_stamp_that_somebody_else_answers_with_is_refused_by_the_api_server_itself(plane: ControlPlane, tmp_path: Path) -> None:
    arguments = install(plane, "webhook")
    with started(plane, tmp_path, arguments) as treadle:
        treadle.wait_ready()
        wait_in_force(plane, SPACE)
        assert deploy(plane, SPACE, workload("mine"))[0] == 201
        # What answers here says yes to everything and stamps nothing.
        hooks = plane.api("GET", CONFIGURATION)[1]["webhooks"]
        for hook in hooks:
            hook["clientConfig"]["url"] = hook["clientConfig"]["url"].replace("/stamp-identity", "/opportunistic")
        assert plane.api("PATCH", CONFIGURATION, {"webhooks": hooks}, content_type=MERGE)[0] == 200
        eventually(lambda: make(plane, "probe", notes=FORGED)[0] == 403, what="it answers")
        words = "have to name kim, who made it"
        groups = {STAMPED_USER: "kim", STAMPED_GROUPS: "ops"}
        for notes in (None, FORGED, {STAMPED_GROUPS: "ops"}, groups):
            for status, answer in (make(plane, "p", notes=notes), deploy(plane, SPACE, workload("d", notes=notes))):
                assert (status, words in answer["message"]) == (403, True), (notes, answer)
        assert make(plane, "p", notes={STAMPED_USER: "kim", STAMPED_GROUPS: ""})[0] == 201, "it is true"
        where = f"/apis/apps/v1/namespaces/{SPACE}/deployments/mine"
        for notes in (FORGED, {STAMPED_USER: None, STAMPED_GROUPS: None}):
            patch = {"spec": {"template": {"metadata": {"annotations": notes}}}}
            status, answer = plane.api("PATCH", where, patch, content_type=MERGE)
            assert (status, words in answer["message"]) == (403, True), answer


def certificates(plane: ControlPlane) -> list[int]:
    bundles = [hook["clientConfig"].get("caBundle", "") for hook in plane.api("GET", CONFIGURATION)[1]["webhooks"]]
    return [base64.b64decode(bundle).count(b"BEGIN CERTIFICATE") for bundle in bundles]


def test_each_copy_adds_its_certificate_to_those_of_others_with_the_rights_of_the_chart(
    plane: ControlPlane, tmp_path: Path
) -> None:
    arguments = install(plane, "webhook")
    assert certificates(plane) == [0, 0, 0]
    status, answer = make(plane, "early")
    assert (status, "failed calling webhook" in answer["message"]) == (500, True), answer
    with started(plane, tmp_path, arguments) as first:
        first.wait_ready()
        assert certificates(plane) == [1, 1, 1]
        other = tuple(one.replace(one.rpartition(":")[2], str(free_port())) if "-listen" in one else one for one in arguments)
        with started(plane, tmp_path, other) as second:
            second.wait_ready()
            assert certificates(plane) == [2, 2, 2]
            wait_in_force(plane, SPACE)
            ready = first.ready()
            assert ready is not None
            assert "webhook" not in ready, "the rights of the chart are enough"
