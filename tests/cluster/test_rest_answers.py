"""Pods, nodes, why pods wait and what would be if, in our shape and the ResourceManager's, on a real API server: whose tokens see what, and that what is said then happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import RBAC, account, installed, token
from cluster.client import ApiClient
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

WHAT_IF, RM = "/api/v1/whatif", "/ws/v1/cluster"
TREE: dict[str, dict[str, Any]] = {
    "root.etl": {"viewAcl": {"serviceAccounts": ["etl/lead"]}, "submitAcl": {"namespaces": ["etl"]}},
    "root.shop": {"viewAcl": {"namespaces": ["shop"]}, "submitAcl": {"namespaces": ["shop"]}},
}
ACCOUNTS = (("etl", "lead"), ("etl", "maker"), ("shop", "app"), ("ops", "boss"), ("ops", "seer"))
Who = tuple[str, str]


def bound(plane: ControlPlane, who: Who, role: list[dict[str, Any]] | str, namespace: str = "") -> None:
    """Give an account a ClusterRole, one that is there or a new one, in a namespace or everywhere."""
    name = who[1]
    if not isinstance(role, str):
        assert plane.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": role})[0] == 201
    body = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role if isinstance(role, str) else name,
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": who[0]}],
    }
    where = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    assert plane.api("POST", RBAC + where, body)[0] == 201


class World:
    """A scheduler, and the tokens of all accounts."""

    def __init__(self, plane: ControlPlane, client: ApiClient) -> None:
        self.plane, self.client = plane, client
        self.tokens = {who: token(plane, *who) for who in ACCOUNTS}

    def ask(self, who: Who, path: str, body: Any = None) -> tuple[int, Any]:
        return self.client.request("GET" if body is None else "POST", path, body, token=self.tokens[who])

    def told(self, who: Who, path: str, body: Any = None) -> Any:
        code, said = self.ask(who, path, body)
        assert code == 200, said
        return said

    def names(self, who: Who, what: str, query: str = "") -> list[str]:
        return [one["name"] for one in self.told(who, f"/api/v1/{what}{query}")[what]]

    def make(self, namespace: str, body: dict[str, Any]) -> None:
        body["metadata"]["namespace"] = namespace
        code, said = self.plane.api("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        assert code == 201, said

    def bound(self, namespace: str) -> dict[str, str]:
        found = self.plane.api("GET", f"/api/v1/namespaces/{namespace}/pods")[1]["items"]
        return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in found if one["spec"].get("nodeName")}


@pytest.fixture
def world(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[World]:
    cluster = fresh_cluster(2, "2", "16Gi")
    plane = cluster.plane
    for path, spec in TREE.items():
        cluster.queues({"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": spec})
    for namespace in ("treadle-system", "etl", "shop", "ops"):
        plane.create_namespace(namespace)
    for namespace, name in (("treadle-system", "treadle"), *ACCOUNTS):
        account(plane, namespace, name)
    kubeconfig = installed(plane, tmp_path)
    bound(plane, ("ops", "boss"), "treadle-queue-admin")
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "list"]}
    applications = {"apiGroups": ["treadle.dev"], "resources": ["applications"], "verbs": ["list"]}
    bound(plane, ("etl", "maker"), [pods, applications], "etl")
    bound(plane, ("ops", "seer"), [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
    with Treadle(kubeconfig, tmp_path, "--rest", "--default-access=namespace") as treadle:
        client = ApiClient(f"http://127.0.0.1:{treadle.wait_ready().port}")
        one = World(plane, client)
        one.make("etl", pod("first", "root.etl", "nightly", cpu="2", memory="1Gi"))
        eventually(lambda: one.bound("etl"), 30, "the first pod is bound")
        one.make("etl", pod("second", "root.etl", "nightly", cpu="4", memory="1Gi"))
        eventually(lambda: one.told(("ops", "boss"), "/api/v1/pods?state=Waiting")["pods"], 30, "the second pod is known")
        yield one
        client.close()


def test_what_there_is_is_told_to_whoever_may_see_it_in_both_shapes(world: World) -> None:
    lead, maker, shop, boss, seer = ACCOUNTS
    assert world.names(lead, "pods") == ["first", "second"]
    assert world.names(maker, "pods") == world.names(shop, "pods", "?namespace=etl") == []
    assert world.names(maker, "pods", "?namespace=etl") == ["first", "second"], "who may list pods sees all of the namespace"
    nodes = world.names(seer, "nodes")
    assert len(nodes) == 2
    assert world.names(boss, "nodes") == nodes
    code, said = world.ask(lead, "/api/v1/nodes")
    assert (code, said["title"], said["detail"]) == (
        403, "Forbidden", "User system:serviceaccount:etl:lead may neither list nodes nor view all queues",
    )  # fmt: skip
    (held,) = eventually(lambda: world.told(lead, "/api/v1/explain?pod=etl/second")["held"], 20, "it is explained")
    assert (held["reason"], held["nodes"]["known"], "name" in held["nodes"]["closest"]) == ("Unschedulable", 2, False)
    assert held["nodes"]["closest"]["lacks"]["cpu"] == "2"
    assert world.ask(shop, "/api/v1/explain?application=etl/nightly")[0] == 404

    (app,) = world.told(lead, f"{RM}/apps")["apps"]["app"]
    assert (app["name"], app["state"], app["queue"], app["allocatedVCores"]) == ("etl/nightly", "RUNNING", "root.etl", 2)
    assert world.told(maker, f"{RM}/apps/{app['id']}/state") == {"state": "RUNNING"}, "who may list applications there"
    assert world.ask(shop, f"{RM}/apps/{app['id']}")[0] == 404
    assert world.told(shop, f"{RM}/apps") == {"apps": {}}
    assert [one["nodeHostName"] for one in world.told(seer, f"{RM}/nodes")["nodes"]["node"]] == nodes
    assert world.ask(lead, f"{RM}/metrics")[0] == 403
    assert world.told(boss, f"{RM}/metrics")["clusterMetrics"]["totalVirtualCores"] == 4
    root = world.told(lead, f"{RM}/scheduler")["scheduler"]["schedulerInfo"]["rootQueue"]
    assert [one["queueName"] for one in root["childQueues"]["queue"]] == ["root.etl"]
    assert world.told(shop, f"{RM}/info")["clusterInfo"]["haState"] == "ACTIVE"
    assert world.client.request("GET", f"{RM}/info")[0] == 401


def test_what_would_be_is_told_to_whoever_may_do_it_and_then_is(world: World) -> None:
    lead, maker, _, boss, _ = ACCOUNTS
    asked = pod("third", "root.etl", "more", cpu="1", memory="1Gi")
    asked["metadata"]["namespace"] = "etl"
    code, said = world.ask(lead, WHAT_IF, {"pod": asked})
    assert (code, "cannot create resource" in said["detail"]) == (403, True), said
    said = world.told(maker, WHAT_IF, {"pod": asked, "count": 3, "seconds": 0})
    placed = {one["name"]: one["node"] for one in said["placed"]}
    assert (len(placed), [one["reason"] for one in said["waiting"]]) == (2, ["Unschedulable"])
    assert set(world.bound("etl")) == {"first"}, "nothing was made"
    for name in ("third-0", "third-1", "third-2"):
        world.make("etl", pod(name, "root.etl", "more", cpu="1", memory="1Gi"))
    eventually(lambda: len(world.bound("etl")) == 3, 30, "two of three are bound")
    assert {name: node for name, node in world.bound("etl").items() if name != "first"} == placed

    # An edit is judged with the token of whoever asks, and then is what was said.
    edit = {"metadata": {"name": "root.etl"}, "spec": {**TREE["root.etl"], "fair": {"maxResources": {"cpu": "4"}}}}
    code, said = world.ask(maker, WHAT_IF, {"apply": [edit]})
    assert code == 403, said
    small = {**edit, "spec": {**edit["spec"], "maxRunningApplications": -1}}
    code, said = world.ask(boss, WHAT_IF, {"apply": [small]})
    assert (code, "maxRunningApplications" in said["detail"]) == (400, True), said
    said = world.told(boss, WHAT_IF, {"apply": [edit], "seconds": 0})
    assert (said["placed"], said["preempted"], said["notInForce"]) == ([], [], [])
