"""What there is of queues and applications, told by the leader to whoever may see it, on a real API server: its tokens and roles, and the lists of the queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.accounts import RBAC, account, installed, token
from cluster.client import ApiClient
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, pod

QUEUES, APPLICATIONS = "/api/v1/queues", "/api/v1/applications"
OPTIONS = ("--rest", "--leader-elect", "--namespace=treadle-system", "--default-access=namespace", "--eta")
ACCOUNTS = {
    "etl": ("lead", "robot"),
    "shop": ("app",),
    "ops": ("seer", "guest", "boss", "one"),
}
TREE: dict[str, dict[str, Any]] = {
    "root.etl": {"viewAcl": {"serviceAccounts": ["etl/lead"]}},
    "root.etl.nightly": {"submitAcl": {"namespaces": ["etl"]}},
    "root.web": {"viewAcl": {"namespaces": ["shop"]}, "administerAcl": {"groups": ["system:serviceaccounts:ops"]}},
    "root.shop": {},
    "root.secret": {"viewAcl": {}},
}
SEEN = {
    ("etl", "lead"): ["root.etl", "root.etl.nightly"],
    ("etl", "robot"): [],
    ("shop", "app"): ["root.shop", "root.web"],
    ("ops", "guest"): ["root.web"],
    ("ops", "seer"): ["root", "root.etl", "root.etl.nightly", "root.secret", "root.shop", "root.web"],
    ("ops", "boss"): ["root", "root.etl", "root.etl.nightly", "root.secret", "root.shop", "root.web"],
    ("ops", "one"): ["root.web"],
}
"""Without root.default, which is there until the first Queue has been seen, and for a while after, and which each namespace sees since it may submit there."""


def bound(plane: ControlPlane, name: str, role: dict[str, Any] | str) -> None:
    """Give an account of ops a ClusterRole, one of the chart's or a new one."""
    if isinstance(role, dict):
        assert plane.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": [role]})[0] == 201
    body = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name if isinstance(role, dict) else role,
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "ops"}],
    }
    assert plane.api("POST", f"{RBAC}/clusterrolebindings", body)[0] == 201


class World:
    """Two copies, the tokens of all accounts, and clients of the one that leads and of the other."""

    def __init__(self, plane: ControlPlane, leader: ApiClient, other: ApiClient) -> None:
        self.plane, self.leader, self.other = plane, leader, other
        self.tokens = {(space, name): token(plane, space, name) for space, names in ACCOUNTS.items() for name in names}

    def names(self, who: tuple[str, str], path: str) -> list[str]:
        code, said = self.leader.request("GET", path, token=self.tokens[who])
        assert code == 200, said
        return [one["name"] for one in said[path.partition("?")[0].rpartition("/")[2]]]


@pytest.fixture
def world(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[World]:
    cluster = fresh_cluster(1, "2", "16Gi")
    plane = cluster.plane
    for path, spec in TREE.items():
        body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": spec}
        cluster.queues(body)
    for namespace, names in (("treadle-system", ("treadle",)), *ACCOUNTS.items()):
        plane.create_namespace(namespace)
        for name in names:
            account(plane, namespace, name)
    kubeconfig = installed(plane, tmp_path)
    bound(plane, "seer", {"apiGroups": ["treadle.dev"], "resources": ["queues"], "verbs": ["view"]})
    bound(plane, "boss", "treadle-queue-admin")
    bound(plane, "one", {"apiGroups": ["treadle.dev"], "resources": ["queues"], "resourceNames": ["root.etl"], "verbs": ["view"]})
    for name in ("first", "second"):
        body = pod(name, "root.etl.nightly", name, cpu="2", memory="1Gi")
        body["metadata"]["namespace"] = "etl"
        assert plane.api("POST", "/api/v1/namespaces/etl/pods", body)[0] == 201
    with Treadle(kubeconfig, tmp_path, *OPTIONS) as one:
        leader = ApiClient(f"http://127.0.0.1:{one.wait_ready().port}")
        with Treadle(kubeconfig, tmp_path, *OPTIONS) as two:
            other = ApiClient(f"http://127.0.0.1:{two.wait_ready().port}")
            yield World(plane, leader, other)
            other.close()
        leader.close()


def test_queues_and_applications_are_told_to_whoever_may_see_them(world: World) -> None:
    assert {who: [path for path in world.names(who, QUEUES) if path != "root.default"] for who in SEEN} == SEEN
    assert world.names(("ops", "one"), f"{QUEUES}?queue=root.etl") == ["root.etl", "root.etl.nightly"]
    code, said = world.leader.request("GET", f"{QUEUES}?queue=root.secret", token=world.tokens["etl", "lead"])
    assert (code, said["detail"]) == (
        403,
        "User system:serviceaccount:etl:lead may not view queue root.secret: neither it nor a queue above it allows that",
    )
    assert world.leader.request("GET", QUEUES)[0] == 401
    assert world.leader.request("GET", QUEUES, token="not.a.token")[0] == 401

    def one_waits() -> Any:
        code, said = world.leader.request("GET", APPLICATIONS, token=world.tokens["etl", "lead"])
        assert code == 200, said
        found = {one["name"]: one for one in said["applications"]}
        return found if found.get("second", {}).get("waiting") else None

    found = eventually(one_waits, 30, "the second application waits")
    assert (found["first"]["pods"]["running"], found["second"]["queue"]) == (1, "root.etl.nightly")
    assert "cpu" in found["second"]["waiting"]["message"]
    eventually(lambda: "eta" in one_waits()["second"], 30, "it is foreseen when the second starts")
    assert world.names(("shop", "app"), APPLICATIONS) == []

    # An edit of a list counts at once; what a namespace's own role shows needs no list.
    assert world.names(("etl", "robot"), f"{APPLICATIONS}?namespace=etl") == []
    body = {
        "metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "treadle-view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "etl"}],
    }
    assert world.plane.api("POST", f"{RBAC}/namespaces/etl/rolebindings", body)[0] == 201
    eventually(
        lambda: world.names(("etl", "robot"), f"{APPLICATIONS}?namespace=etl") == ["first", "second"], 30, "its right counts"
    )
    assert world.names(("etl", "robot"), APPLICATIONS) == []
    patch = {"spec": {"viewAcl": {"namespaces": ["etl"]}}}
    path = "/apis/treadle.dev/v1alpha1/queues/root.etl"
    assert world.plane.api("PATCH", path, patch, content_type="application/merge-patch+json")[0] == 200
    eventually(lambda: world.names(("etl", "robot"), APPLICATIONS) == ["first", "second"], 20, "its namespace may view")


def test_a_copy_that_stands_by_says_who_leads(world: World) -> None:
    code, said = world.other.request("GET", QUEUES, token=world.tokens["ops", "boss"])
    assert (code, "stands by" in said["detail"]) == (503, True), said
