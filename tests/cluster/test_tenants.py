"""What a tenant who may only make pods in one namespace gets out of a cluster with the chart's policies: what is its own, and a reason for everything else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.policies import account, install
from cluster.stamping import install as install_stamps
from cluster.stamping import server_for, wait_in_force
from cluster.treadle_process import Treadle, pod
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

GROUP = "/apis/treadle.dev/v1alpha1"
MAKES_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}
ACCOUNTS = (("team", "ann"), ("team", "bob"), ("prod", "robot"), ("prod", "intern"), ("web", "dev"))
QUEUES: dict[str, dict[str, Any]] = {
    "root": {},
    "root.default": {},
    "root.team": {},
    "root.team.etl": {},
    "root.team.lab": {"submitAcl": {"serviceAccounts": ["web/dev"]}},
    "root.prod": {"submitAcl": {"serviceAccounts": ["prod/robot"], "namespaces": ["web"]}},
    "root.web-batch": {"holdsQueues": False},
    "root.ops": {"administerAcl": {"users": ["system:serviceaccount:team:bob"]}, "holdsQueues": True},
    "root.ops.jobs": {},
}
LEAVES = [path for path in QUEUES if not any(other.startswith(f"{path}.") for other in QUEUES)]
LISTED = {
    "root.team.lab": {"web/dev"},
    "root.prod": {"prod/robot", "web/dev"},
    "root.ops.jobs": {"team/bob"},
}
OWN = {"team": "root.team", "prod": "root.prod", "web": "root.web-batch"}
BOSS = "system:serviceaccount:prod:robot"
FORGED = {STAMPED_USER: BOSS, STAMPED_GROUPS: "system:masters", "treadle.dev/user": BOSS, "treadle.dev/groups": "system:masters"}


def expected(access: str, namespace: str, name: str, queue: str) -> bool:
    """Whether an account may submit to a queue, put down anew."""
    if access == "open" or f"{namespace}/{name}" in LISTED.get(queue, ()):
        return True
    own = OWN[namespace]
    return access == "namespace" and (queue in {own, "root.default"} or queue.startswith(f"{own}."))


def scheduled(plane: ControlPlane, namespace: str, name: str) -> tuple[str, str] | None:
    """The node of a pod, or the reason for which it waits and the words; None while neither is known."""
    found = plane.api("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")[1]
    if found["spec"].get("nodeName"):
        return "", found["spec"]["nodeName"]
    said = next((one for one in found.get("status", {}).get("conditions", []) if one["type"] == "PodScheduled"), None)
    return (said["reason"], said["message"]) if said is not None else None


def small(name: str, namespace: str, queue: str = "", notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    body = pod(name, queue, name, cpu="10m", memory="8Mi", **spec)
    body["metadata"] |= {"namespace": namespace, **({"annotations": notes} if notes else {})}
    return body


def prepared(plane: ControlPlane, form: str = "policies") -> tuple[dict[tuple[str, str], str], tuple[str, ...]]:
    """Return the tokens of the accounts, and the arguments with which Treadle has to run for stamps to be written in a form."""
    plane.apply_crds()
    plane.create_nodes(3, "8", "64Gi")
    plane.create_namespace("treadle-system")
    for name in OWN:
        plane.create_namespace(name)
    web = {"metadata": {"annotations": {"treadle.dev/queue": "root.web-batch"}}}
    assert plane.api("PATCH", "/api/v1/namespaces/web", web, content_type="application/merge-patch+json")[0] == 200
    arguments = install_stamps(plane, form)
    install(plane, "allocations")
    tokens = {(namespace, name): account(plane, namespace, name, MAKES_PODS) for namespace, name in ACCOUNTS}
    return tokens, arguments


@pytest.mark.parametrize(
    ("access", "form"), [("namespace", "policies"), ("namespace", "webhook"), ("closed", "policies"), ("open", "policies")]
)
def test_every_account_gets_into_its_own_queues_and_is_told_why_not_into_others_whatever_it_forges(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path, access: str, form: str
) -> None:
    plane = fresh_control_plane(arguments=server_for(form))
    tokens, arguments = prepared(plane, form)
    for path, spec in QUEUES.items():
        queue = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": path}, "spec": spec}
        assert plane.api("POST", f"{GROUP}/queues", queue)[0] == 201
    cases = {}
    options = ("--user-source=stamps", f"--default-access={access}", *arguments)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, *options) as treadle:
        treadle.wait_ready()
        wait_in_force(plane, "team")
        for number, ((namespace, name), path, forged) in enumerate(itertools.product(ACCOUNTS, LEAVES, (False, True))):
            body = small(f"case-{number}", namespace, path, FORGED if forged else None)
            status, answer = plane.api("POST", f"/api/v1/namespaces/{namespace}/pods", body, token=tokens[namespace, name])
            assert status == 201, answer
            cases[f"case-{number}"] = (namespace, name, path)
        wrong = {}
        for case, (namespace, name, path) in cases.items():
            reason, words = eventually(
                lambda case=case, namespace=namespace: scheduled(plane, namespace, case), 60, f"{case} decided"
            )
            may = expected(access, namespace, name, path)
            told = f"user system:serviceaccount:{namespace}:{name} may not submit to queue {path}: "
            if (reason == "") != may or (not may and not (reason == "AccessDenied" and words.startswith(told))):
                wrong[case] = (namespace, name, path, reason, words)
    assert not wrong
    assert len(cases) == 60


def test_a_tenant_is_one_user_with_few_queues_and_no_priority_whatever_it_makes_up(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    tokens, _ = prepared(plane)
    token = tokens["team", "ann"]
    rules = [{"rule": "specified", "create": True}, {"rule": "user", "create": True}]
    scheduler = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Scheduler",
        "metadata": {"name": "treadle"},
        "spec": {"placementRules": rules, "namespaceLimits": {"queues": 5}},
    }
    assert plane.api("POST", f"{GROUP}/schedulers", scheduler)[0] == 201
    root = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root"}}
    root["spec"] = {"submitAcl": {"users": ["*"]}, "priorityAcl": [{"users": ["*"], "maxPriority": 10}]}
    assert plane.api("POST", f"{GROUP}/queues", root)[0] == 201
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1_000_000_000,
    }
    assert plane.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", urgent)[0] == 201

    def made(body: dict[str, Any]) -> None:
        status, answer = plane.api("POST", "/api/v1/namespaces/team/pods", body, token=token)
        assert status == 201, answer

    def told(name: str) -> tuple[str, str]:
        return eventually(lambda: scheduled(plane, "team", name), 60, f"{name} decided")

    with Treadle(plane.scheduler_kubeconfig(), tmp_path, "--user-source=stamps", "--default-access=namespace") as treadle:
        treadle.wait_ready()
        wait_in_force(plane, "team")
        for number in range(60):
            made(small(f"user-{number}", "team", notes={"treadle.dev/user": f"made-up-{number}"}))
        assert {told(f"user-{number}")[0] for number in range(60)} == {""}
        queues = {
            found["metadata"]["annotations"]["treadle.dev/allocated-queue"]
            for found in plane.api("GET", "/api/v1/namespaces/team/pods")[1]["items"]
            if "treadle.dev/allocated-queue" in found["metadata"].get("annotations", {})
        }
        assert len(queues) == 1, "sixty made-up users are one"

        for number in range(8):
            made(small(f"queue-{number}", "team", f"root.mine-{number}"))
        reasons = [told(f"queue-{number}")[0] for number in range(8)]
        assert (reasons.count(""), reasons.count("TooManyQueues")) == (4, 4), "with that of the user five were made"

        forged = small("forged", "team", notes={"treadle.dev/allocated-queue": "root.prod"}, nodeName="kwok-node-0")
        status, answer = plane.api("POST", "/api/v1/namespaces/team/pods", forged, token=token)
        assert (status, "they are written with its bind" in answer["message"]) == (403, True), answer

        made(small("urgent", "team", priorityClassName="urgent"))
        reason, words = told("urgent")
        assert (reason, "may ask for priority 10 at most" in words) == ("PriorityDenied", True), words
