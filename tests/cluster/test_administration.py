"""Who may write which Queue, on a real API server with the chart's policy, real tokens and the lists that a running scheduler publishes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.policies import RBAC, install, withdraw
from cluster.treadle_process import Treadle

QUEUES = "/apis/treadle.dev/v1alpha1/queues"
LISTS = "/apis/treadle.dev/v1alpha1/namespaces/treadle-system/administratorlists/treadle-administrators"
MERGE = "application/merge-patch+json"
TREE = ("root", "root.prod", "root.team", "root.team.etl", "root.team.etl.nightly", "root.teams")
NEW = ("root.new", "root.team.new", "root.team.etl.new", "root.prod.new", "root.teams.new")
WRITERS = {"lead": "root.team", "member": "root.team", "etl": "root.team.etl", "own": "root.prod", "boss": "root", "robot": ""}
"""The queue of whose list, or by whose verb, each of them administers; whoever has none may do nothing."""


def queue(path: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": spec}


def account(name: str) -> str:
    return f"system:serviceaccount:team:{name}"


def bind(plane: ControlPlane, name: str, role: str) -> None:
    body = {
        "metadata": {"name": f"{name}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "team"}],
    }
    assert plane.api("POST", f"{RBAC}/clusterrolebindings", body)[0] == 201


@pytest.fixture(scope="module")
def world(
    control_plane_binaries: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ControlPlane, dict[str, str]]]:
    with ControlPlane() as plane:
        plane.apply_crds()
        plane.create_nodes(1, "8", "64Gi")
        for name in ("treadle-system", "team"):
            plane.create_namespace(name)
        tokens = {}
        for name in WRITERS:
            accounts = "/api/v1/namespaces/team/serviceaccounts"
            assert plane.api("POST", accounts, {"metadata": {"name": name}})[0] == 201
            tokens[name] = plane.api("POST", f"{accounts}/{name}/token", {"spec": {}})[1]["status"]["token"]
        install(plane, "administration", "rbac-users")
        verb = {
            "apiGroups": ["treadle.dev"],
            "resources": ["queues"],
            "resourceNames": ["root.team.etl"],
            "verbs": ["administer"],
        }
        assert plane.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "etl"}, "rules": [verb]})[0] == 201
        for name in WRITERS:
            bind(plane, name, "treadle-queue-admin" if name == "boss" else "treadle-team-admin")
        bind(plane, "etl", "etl")
        eventually(lambda: written(plane, "POST", queue("root.probe"), tokens["robot"])[0] == 403, 60, "the policy in force")
        team = {"serviceAccounts": ["team/lead"], "groups": ["system:serviceaccounts:team:nobody"], "users": [account("member")]}
        lists = {"root": {}, "root.team": team, "root.prod": {"users": [account("own")]}}
        for path in TREE:
            more = {"administerAcl": lists[path]} if path in lists else {}
            assert plane.api("POST", QUEUES, queue(path, **more))[0] == 201, path
        folder = tmp_path_factory.mktemp("treadle")
        arguments = ("--namespace=treadle-system", "--publish-administrators=treadle-administrators", "--default-access=closed")
        with Treadle(plane.scheduler_kubeconfig("treadle-system"), folder, *arguments) as treadle:
            treadle.wait_ready()
            eventually(lambda: "root.prod" in (plane.api("GET", LISTS)[1].get("data") or {}), 20, "the lists published")
            yield plane, tokens


World = tuple[ControlPlane, dict[str, str]]


def written(plane: ControlPlane, method: str, body: dict[str, Any], token: str, **changes: Any) -> tuple[int, Any]:
    """Try a write that is not carried out."""
    path = body["metadata"]["name"]
    where = QUEUES if method == "POST" else f"{QUEUES}/{path}"
    if method == "PATCH":
        return plane.api("PATCH", where, {"spec": changes}, {"dryRun": "All"}, content_type=MERGE, token=token)
    return plane.api(method, where, body if method == "POST" else None, {"dryRun": "All"}, token=token)


def may(name: str, path: str) -> bool:
    """Whether the owner of a list, or of a verb, is above a queue."""
    of = WRITERS[name]
    if name == "etl":  # the verb on a queue is for the queue's children as well, and not for the queue
        return path.startswith("root.team.etl.")
    return of == "root" or (of != "" and path.startswith(f"{of}."))


@pytest.mark.parametrize("name", WRITERS)
def test_whoever_administers_a_queue_writes_those_below_it_and_no_others(world: World, name: str) -> None:
    plane, tokens = world
    found, expected = {}, {}
    for method, path in [*itertools.product(("PATCH", "DELETE"), TREE), *itertools.product(("POST",), NEW)]:
        if (method, path) == ("DELETE", "root"):
            continue
        status, answer = written(plane, method, queue(path), tokens[name], fair={"weight": "100"})
        found[method, path] = status in {200, 201}
        expected[method, path] = may(name, path)
        if not found[method, path]:
            assert status == 403, answer
            words = f"user {account(name)} may not write queue {path}: whoever does needs a place in administerAcl of"
            assert words in answer["message"], answer["message"]
    assert found == expected


def test_an_administrator_of_the_cluster_is_held_off_by_no_list(world: World) -> None:
    plane, _ = world
    for path in TREE:
        assert (
            plane.api("PATCH", f"{QUEUES}/{path}", {"spec": {"fair": {"weight": "2"}}}, {"dryRun": "All"}, content_type=MERGE)[0]
            == 200
        )


def test_a_list_that_is_edited_counts_within_seconds(world: World) -> None:
    plane, tokens = world
    body = queue("root.team.robots")
    assert written(plane, "POST", body, tokens["robot"])[0] == 403
    lead = {"spec": {"administerAcl": {"users": [account("robot")]}}}
    assert plane.api("PATCH", f"{QUEUES}/root.teams", lead, content_type=MERGE, token=tokens["lead"])[0] == 403, "not the lead's"
    status, answer = plane.api(
        "POST", QUEUES, queue("root.team.robot", administerAcl=lead["spec"]["administerAcl"]), token=tokens["lead"]
    )
    assert status == 201, answer
    below = queue("root.team.robot.x")
    eventually(lambda: written(plane, "POST", below, tokens["robot"])[0] == 201, 20, "its list counts")
    assert written(plane, "PATCH", queue("root.team.robot"), tokens["robot"], fair={"weight": "9"})[0] == 403, "not for itself"
    assert plane.api("DELETE", f"{QUEUES}/root.team.robot", token=tokens["lead"])[0] == 200
    eventually(lambda: written(plane, "POST", below, tokens["robot"])[0] == 403, 20, "and is gone with the queue")


def test_what_is_published_is_mended_and_without_it_nobody_writes_a_queue(world: World) -> None:
    plane, tokens = world
    body = queue("root.team.one")
    assert written(plane, "POST", body, tokens["lead"])[0] == 201
    assert plane.api("PATCH", LISTS, {"data": {"root": "user:*"}}, content_type=MERGE)[0] == 200
    eventually(lambda: plane.api("GET", LISTS)[1]["data"]["root"] == "", 30, "what somebody else wrote is gone")
    assert plane.api("DELETE", LISTS)[0] == 200
    status, answer = eventually(
        lambda: (found := written(plane, "POST", body, tokens["boss"]))[0] >= 400 and found, 10, "it fails closed"
    )
    assert "no params found" in answer["message"], (status, answer)
    eventually(lambda: written(plane, "POST", body, tokens["lead"])[0] == 201, 30, "published again")


def test_without_lists_of_the_root_an_open_cluster_leaves_it_to_the_rights_of_the_api_server(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    for name in ("treadle-system", "team"):
        plane.create_namespace(name)
    assert plane.api("POST", "/api/v1/namespaces/team/serviceaccounts", {"metadata": {"name": "any"}})[0] == 201
    token = plane.api("POST", "/api/v1/namespaces/team/serviceaccounts/any/token", {"spec": {}})[1]["status"]["token"]
    install(plane, "administration", "rbac-users")
    bind(plane, "any", "treadle-team-admin")
    eventually(lambda: written(plane, "POST", queue("root.a"), token)[0] == 403, 60, "the policy in force")
    arguments = ("--namespace=treadle-system", "--publish-administrators=treadle-administrators")
    with Treadle(plane.scheduler_kubeconfig("treadle-system"), tmp_path, *arguments) as treadle:
        treadle.wait_ready()
        eventually(lambda: written(plane, "POST", queue("root.a"), token)[0] == 201, 20, "the root is everybody's")


def test_the_lists_count_again_when_the_policy_was_deleted_and_installed_again(
    world: tuple[ControlPlane, dict[str, str]],
) -> None:
    plane, tokens = world
    withdraw(plane, "administration")
    eventually(lambda: written(plane, "POST", queue("root.new"), tokens["robot"])[0] == 201, 30, "no policy any more")
    install(plane, "administration")
    eventually(lambda: written(plane, "POST", queue("root.new"), tokens["robot"])[0] in {403, 422}, 30, "the policy is in force")
    eventually(lambda: written(plane, "POST", queue("root.team.new"), tokens["member"])[0] == 201, 60, "lists count again")
    status, said = written(plane, "POST", queue("root.new"), tokens["member"])
    assert (status, "may not write queue root.new" in said["message"]) == (403, True)
