"""Opportunistic pods on a real API server: the chart's policy, and our webhook, make of every pod what the function makes of it."""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from admission.opportunistic_pods import CASES, SENT, Case, Json, container, demand_of, patched, pod, resources_of
from chart.binaries import program
from cluster.client import eventually
from cluster.control_plane import ControlPlane
from treadle.admission.rewriting import patch

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
NAMES = frozenset({"treadle"})
LIMITS = {"type": "Container", "default": {"cpu": "1", "memory": "256Mi"}, "defaultRequest": {"cpu": "250m", "memory": "128Mi"}}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PLURALS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
}


def rendered(*arguments: str) -> list[Json]:
    served = f"--api-versions={ADMISSION.removeprefix('/apis/')}/MutatingAdmissionPolicy"
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace=treadle-system", served, *arguments]
    return [one for one in yaml.safe_load_all(subprocess.run(command, capture_output=True, check=True).stdout) if one]


def space(plane: ControlPlane, name: str, limits: Json | None = None) -> str:
    plane.create_namespace(name)
    if limits is not None:
        body = {"metadata": {"name": "limits"}, "spec": {"limits": [limits]}}
        assert plane.api("POST", f"/api/v1/namespaces/{name}/limitranges", body)[0] == 201
    return f"/api/v1/namespaces/{name}/pods"


def apply(plane: ControlPlane, one: Json) -> None:
    status, answer = plane.api("POST", f"{ADMISSION}/{PLURALS[one['kind']]}", one)
    assert status == 201, answer


def made(plane: ControlPlane, path: str, body: Json, **params: str) -> Json:
    status, answer = plane.api("POST", path, body, params=params or None)
    assert status == 201, (status, answer.get("message"), body)
    return answer


def rewrites(plane: ControlPlane, path: str) -> bool:
    """Whether a pod would be rewritten now: a new policy takes a moment."""
    return demand_of(made(plane, path, pod("probe", CASES[0].spec), dryRun="All")) is not None


@pytest.fixture(scope="module")
def policy(control_plane_binaries: None) -> Iterator[ControlPlane]:  # noqa: ARG001
    with ControlPlane() as plane:
        for one in rendered():
            if one["kind"].startswith("MutatingAdmissionPolicy"):
                apply(plane, one)
        path = space(plane, "plain")
        space(plane, "limited", LIMITS)
        eventually(lambda: rewrites(plane, path), what="the policy in force")
        yield plane


def path_of(case: Case) -> str:
    return f"/api/v1/namespaces/{'limited' if case.needs else 'plain'}/pods"


def check_the_same(plane: ControlPlane, path: str, body: Json) -> Json:
    """Make a pod, which has to be what the function makes of what the server has at admission: it shows that of a pod that is not ours."""
    ours = body["spec"]["schedulerName"]
    foreign = copy.deepcopy(body)
    foreign["spec"]["schedulerName"] = "nobody"
    before = made(plane, path, foreign, dryRun="All")
    before["spec"]["schedulerName"] = ours
    expected = patched(before, patch(before, NAMES))
    after = made(plane, path, body)
    for which in ("containers", "initContainers"):
        assert resources_of(after, which) == resources_of(expected, which)
        stripped = [[{**one, "resources": {}} for one in pod["spec"].get(which) or ()] for pod in (after, before)]
        assert [strip_mounts(one) for one in stripped[0]] == [strip_mounts(one) for one in stripped[1]]
    assert demand_of(after) == demand_of(expected)
    return after


def strip_mounts(container: Json) -> Json:
    return {key: value for key, value in container.items() if key != "volumeMounts"}


def check_case(plane: ControlPlane, number: int, case: Case) -> None:
    body = pod(f"case-{number}", SENT.get(case.sentence, case.spec), case.metadata)
    after = check_the_same(plane, path_of(case), body)
    assert resources_of(after) == case.containers
    assert resources_of(after, "initContainers") == list(case.inits)
    assert demand_of(after) == (case.demand if case.demand is not None else demand_of(body))


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=[case.sentence for case in CASES])
def test_the_policy_makes_of_a_pod_what_the_table_says(policy: ControlPlane, number: int, case: Case) -> None:
    check_case(policy, number, case)


def random_pod(dice: random.Random, name: str) -> Json:
    """A pod that the server takes as it is: limits are not below requests."""

    def resources() -> tuple[Json, Json]:
        requests, limits = {}, {}
        for kind, amounts in (
            ("cpu", ["0", "100m", "0.5", "1"]),
            ("memory", ["0", "64Mi", "0.125Gi", "256Mi"]),
            ("ephemeral-storage", ["1Gi", "2Gi"]),
        ):
            low, high = sorted((dice.randrange(len(amounts)), dice.randrange(len(amounts))))
            if dice.random() < 0.6:
                requests[kind] = amounts[low]
            if dice.random() < 0.5:
                limits[kind] = amounts[high]
        if dice.random() < 0.2:
            requests["example.com/thing"] = limits["example.com/thing"] = "3"
        return requests, limits

    containers = [container(f"c{number}", *resources()) for number in range(dice.randrange(1, 4))]
    inits = [
        container(f"i{number}", *resources(), **({"restartPolicy": "Always"} if dice.random() < 0.5 else {}))
        for number in range(dice.randrange(3))
    ]
    annotations = dice.choice(
        [None, {}, {"a/b": "c"}, {"treadle.dev/demand": dice.choice(["c0 cpu=3", "i0 cpu=1;c1 memory=1Gi", "nonsense"])}]
    )
    return pod(
        name, {"containers": containers, "initContainers": inits}, {"annotations": annotations} if annotations is not None else {}
    )


def test_the_policy_and_the_function_agree_on_any_pod(policy: ControlPlane) -> None:
    dice = random.Random(20261125)
    for number in range(100):
        path = f"/api/v1/namespaces/{dice.choice(['plain', 'limited'])}/pods"
        body = random_pod(dice, f"any-{number}")
        check_the_same(policy, path, body)


def test_a_rewritten_pod_is_burstable_so_that_it_can_be_promoted_and_is(policy: ControlPlane) -> None:
    path = space(policy, "promoted")
    assert made(policy, path, pod("a", CASES[0].spec))["status"]["qosClass"] == "Burstable"
    body = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1999m", "memory": "1Gi"}}}]}}
    status, answer = policy.api("PATCH", f"{path}/a/resize", body, content_type="application/strategic-merge-patch+json")
    assert status == 200, answer
    assert made(policy, path, pod("b", CASES[4].spec))["status"]["qosClass"] == "BestEffort"


def test_a_pod_of_a_hundred_containers_is_within_the_budget_of_the_policy(policy: ControlPlane) -> None:
    spec = {
        "containers": [
            container(f"container-with-a-long-name-{number:030}", {"cpu": "1", "memory": "1Gi"}) for number in range(100)
        ]
    }
    after = made(policy, space(policy, "many"), pod("many", spec))
    assert (demand_of(after) or "").count("cpu=1 memory=1Gi") == 100
    assert all(one["requests"] == {"cpu": "0", "memory": "0"} for one in resources_of(after))


def test_pods_of_a_controller_are_rewritten_by_the_label_of_their_template(policy: ControlPlane) -> None:
    path = space(policy, "jobs")
    template = pod("x", CASES[0].spec)
    template["spec"]["restartPolicy"] = "Never"
    body = {
        "metadata": {"name": "batch"},
        "spec": {"template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]}},
    }
    policy.start_controller_manager()
    try:
        assert policy.api("POST", "/apis/batch/v1/namespaces/jobs/jobs", body)[0] == 201
        (found,) = eventually(lambda: policy.api("GET", path)[1]["items"], 60, "the Job's pod")
        assert demand_of(found) == "c cpu=2 memory=1Gi"
    finally:
        policy.processes.pop("kube-controller-manager").stop()


def test_a_quota_counts_no_requests_and_all_limits(policy: ControlPlane) -> None:
    path = space(policy, "quota")
    hard = {"requests.cpu": "1", "requests.memory": "1Gi", "limits.cpu": "5"}
    body = {"metadata": {"name": "quota"}, "spec": {"hard": hard}}
    assert policy.api("POST", "/api/v1/namespaces/quota/resourcequotas", body)[0] == 201
    quota = "/api/v1/namespaces/quota/resourcequotas/quota"
    policy.api(
        "PATCH",
        f"{quota}/status",
        {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}},
        content_type="application/merge-patch+json",
    )
    for number in range(2):
        eventually(
            lambda number=number: policy.api("POST", path, pod(f"p{number}", CASES[0].spec))[0] == 201,
            what="a pod within the quota",
        )
    status, answer = policy.api("POST", path, pod("p2", CASES[0].spec))
    assert status == 403
    assert "exceeded quota: quota, requested: limits.cpu=2, used: limits.cpu=4, limited: limits.cpu=5" in answer["message"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"type": "Container", "min": {"cpu": "100m"}}, "minimum cpu usage per Container is 100m, but request is 0"),
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}, "cpu max limit to request ratio per Container is 2"),
    ],
    ids=["min", "ratio"],
)
def test_a_limit_range_that_forbids_requests_of_nothing_refuses_the_pod_in_its_own_words(
    policy: ControlPlane, limits: Json, words: str
) -> None:
    path = space(policy, f"refused-{'min' if 'min' in limits else 'ratio'}", limits)
    status, answer = policy.api("POST", path, pod("a", one_of("requests below limits leave the limits")))
    assert status == 403
    assert words in answer["message"]


def one_of(sentence: str) -> Json:
    return next(case.spec for case in CASES if case.sentence == sentence)


def test_nothing_else_of_the_cluster_meets_the_policy(policy: ControlPlane) -> None:
    found: Any = next(one for one in rendered() if one["kind"] == "MutatingAdmissionPolicy")["spec"]
    assert found["failurePolicy"] == "Ignore"
    assert found["matchConstraints"]["objectSelector"] == {"matchLabels": {"treadle.dev/execution-type": "opportunistic"}}
    assert [rule["resources"] for rule in found["matchConstraints"]["resourceRules"]] == [["pods"]]
    stored = policy.api("GET", f"{ADMISSION}/mutatingadmissionpolicies/treadle-opportunistic")[1]["spec"]
    assert json.dumps(stored["matchConditions"]) == json.dumps(found["matchConditions"])
