"""Opportunistic pods on a real API server: the chart's policy, and our webhook, make of every pod what the function makes of it."""

from __future__ import annotations

import base64
import copy
import datetime as dt
import json
import random
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from admission.opportunistic_pods import CASES, LABELS, SENT, Case, Json, container, demand_of, patched, pod, resources_of
from chart.binaries import program
from cluster.client import eventually
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, free_port, queue
from cluster.treadle_process import pod as guaranteed
from treadle.admission.certificates import load, make
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


def rendered(*arguments: str, version: str = "v1") -> list[Json]:
    served = f"--api-versions=admissionregistration.k8s.io/{version}/MutatingAdmissionPolicy"
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace=treadle-system", served, *arguments]
    found = (one for one in yaml.safe_load_all(subprocess.run(command, capture_output=True, check=True).stdout) if one)
    return [one for one in found if "identity" not in one["metadata"]["name"]]


def space(plane: ControlPlane, name: str, limits: Json | None = None) -> str:
    plane.create_namespace(name)
    if limits is not None:
        body = {"metadata": {"name": "limits"}, "spec": {"limits": [limits]}}
        assert plane.api("POST", f"/api/v1/namespaces/{name}/limitranges", body)[0] == 201
    return f"/api/v1/namespaces/{name}/pods"


def apply(plane: ControlPlane, one: Json) -> None:
    status, answer = plane.api("POST", f"/apis/{one['apiVersion']}/{PLURALS[one['kind']]}", one)
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


def test_the_policy_of_v1beta1_does_the_same_where_an_api_server_serves_it(control_plane_binaries: None) -> None:  # noqa: ARG001
    with ControlPlane(arguments=["--runtime-config=admissionregistration.k8s.io/v1beta1=true"]) as plane:
        policies = [one for one in rendered(version="v1beta1") if one["kind"].startswith("MutatingAdmissionPolicy")]
        assert {one["apiVersion"] for one in policies} == {"admissionregistration.k8s.io/v1beta1"}
        for one in policies:
            apply(plane, one)
        path = space(plane, "plain")
        space(plane, "limited", LIMITS)
        eventually(lambda: rewrites(plane, path), what="the policy in force")
        for number, case in enumerate(CASES):
            check_case(plane, number, case)


def random_pod(dice: random.Random, name: str) -> Json:
    """A pod that the server takes as it is: limits are not below requests."""

    def resources() -> tuple[Json, Json]:
        requests, limits = {}, {}
        for kind, amounts in (
            ("cpu", ["0", "100m", "0.5", "1"]),
            ("memory", ["0", "64Mi", "0.125Gi", "256Mi"]),
            ("ephemeral-storage", ["1Gi", "2Gi"]),
        ):
            often = 0.1 if kind == "ephemeral-storage" else 1.0  # such a pod is left as it is
            low, high = sorted((dice.randrange(len(amounts)), dice.randrange(len(amounts))))
            if dice.random() < 0.6 * often:
                requests[kind] = amounts[low]
            if dice.random() < 0.5 * often:
                limits[kind] = amounts[high]
        if dice.random() < 0.05:
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


def test_a_pod_with_ordinary_requests_and_the_label_is_placed_as_an_opportunistic_one(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    """From what a person writes to a node: the policy rewrites it, the scheduler reads what the policy wrote."""
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(1, "4", "16Gi")
    for one in rendered():
        if one["kind"].startswith("MutatingAdmissionPolicy"):
            apply(plane, one)
    path = space(plane, "written")
    eventually(lambda: rewrites(plane, path), what="the policy in force")
    cluster = Cluster(plane)
    cluster.queues(queue("root.prod"))
    cluster.pods([guaranteed("first", "root.prod", "prod", cpu="3")])
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.wait_bound(1)
        spec = {"containers": [container("c", {"cpu": "1", "memory": "1Gi"}), container("side", {"cpu": "2"})]}
        labelled = {"labels": {**LABELS, "treadle.dev/queue": "root.prod"}}
        made(plane, path, pod("large", spec, labelled))
        made(plane, path, pod("scan", {"containers": [container("c", {"cpu": "1", "memory": "1Gi"})]}, labelled))
        eventually(lambda: plane.api("GET", f"{path}/scan")[1]["spec"].get("nodeName"), 60, f"it runs; {treadle.log}")
        reasons = lambda: [one["reason"] for one in plane.api("GET", f"{path}/large")[1]["status"].get("conditions", ())]  # noqa: E731
        eventually(lambda: reasons() == ["NoIdleRoom"], 60, f"3 cores are not idle; {treadle.log}")
        assert treadle.metric('treadle_opportunistic_pods{state="running"}') == 1
        noted = plane.api("GET", "/apis/events.k8s.io/v1/namespaces/written/events")[1]["items"]
        assert "ExecutionTypeIgnored" not in {one["reason"] for one in noted}


INJECTED = {"name": "mesh", "image": "none", "resources": {"requests": {"cpu": "100m"}}}


class _Injector(BaseHTTPRequestHandler):
    """Somebody else's webhook, which adds a container to pods."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        there = any(one["name"] == "mesh" for one in request["object"]["spec"]["containers"])
        operations = [] if there else [{"op": "add", "path": "/spec/containers/-", "value": INJECTED}]
        response = {
            "uid": request["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
        }
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def injector() -> Iterator[Json]:
    """Serve it, and yield how the API server is told of it."""
    certificate = make(("127.0.0.1",), dt.datetime.now(dt.UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load(tls, certificate)
    with HTTPServer(("127.0.0.1", 0), _Injector) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"url": f"https://127.0.0.1:{server.server_address[1]}/", "caBundle": base64.b64encode(certificate.pem).decode()}
        server.shutdown()


def test_a_container_that_a_webhook_adds_after_the_policy_is_rewritten_and_its_wish_added(policy: ControlPlane) -> None:
    path = space(policy, "injected")
    with injector() as client:
        hook = {
            "name": "inject.example.com",
            "clientConfig": client,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "injected"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
        apply(policy, {**kind, "metadata": {"name": "inject"}, "webhooks": [hook]})
        containers = lambda: made(policy, path, pod("probe", CASES[0].spec), dryRun="All")["spec"]["containers"]  # noqa: E731
        eventually(lambda: len(containers()) == 2, what="the other webhook in force")
        after = made(policy, path, pod("a", CASES[0].spec))
        policy.api("DELETE", f"{ADMISSION}/mutatingwebhookconfigurations/inject")
    assert demand_of(after) == "c cpu=2 memory=1Gi;mesh cpu=100m memory=0"
    assert resources_of(after) == [*CASES[0].containers, {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "100m"}}]


# -- the webhook, for servers without the policy


class Hooked:
    """A control plane with the chart's webhook and its rights, and copies of Treadle that serve it as a user with no other rights."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.port, self.folder = plane, free_port(), folder
        objects = rendered("--set=opportunistic.webhook.enabled=true")
        for one in objects:
            if one["kind"] == "ClusterRole":
                self.grant(one)
        (self.configuration,) = [one for one in objects if one["kind"] == "MutatingWebhookConfiguration"]
        self.configuration["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{self.port}/opportunistic"}
        self.policies = [one for one in objects if one["kind"].startswith("MutatingAdmissionPolicy")]
        apply(plane, self.configuration)
        self.path = space(plane, "plain")

    def grant(self, role: Json) -> None:
        name = role["metadata"]["name"]
        if name not in {f"treadle-{part}" for part in ("scheduler", "controllers", "webhook")}:
            return
        group = "rbac.authorization.k8s.io"
        assert self.plane.api("POST", f"/apis/{group}/v1/clusterroles", role)[0] == 201
        subject = {"kind": "User", "name": "treadle", "apiGroup": group}
        body = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        }
        assert self.plane.api("POST", f"/apis/{group}/v1/clusterrolebindings", body)[0] == 201

    def copy_of_treadle(self, port: int = 0) -> Treadle:
        where = f"--webhook-listen=127.0.0.1:{port or self.port}"
        named = f"--webhook-name={self.configuration['metadata']['name']}"
        return Treadle(self.plane.kubeconfig_for("treadle"), self.folder, where, named, "--webhook-host=127.0.0.1")

    def certificates(self) -> int:
        stored = self.plane.api("GET", f"{ADMISSION}/mutatingwebhookconfigurations/{self.configuration['metadata']['name']}")[1]
        bundle = stored["webhooks"][0]["clientConfig"].get("caBundle", "")
        return base64.b64decode(bundle).count(b"BEGIN CERTIFICATE")


def test_the_webhook_makes_of_a_pod_what_the_table_says_and_lets_all_through_where_it_is_down(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane(users={"treadle": []})
    plane.apply_crds()
    hooked = Hooked(plane, tmp_path)
    space(plane, "limited", LIMITS)
    assert not rewrites(plane, hooked.path), "nobody serves it yet, and the pod is made as it is"
    with hooked.copy_of_treadle() as treadle:
        eventually(lambda: rewrites(plane, hooked.path), 60, f"the webhook in force; {treadle.log}")
        for number, case in enumerate(CASES):
            check_case(plane, number, case)
        dice = random.Random(7)
        for number in range(40):
            check_the_same(
                plane, f"/api/v1/namespaces/{dice.choice(['plain', 'limited'])}/pods", random_pod(dice, f"any-{number}")
            )

        with hooked.copy_of_treadle(free_port()) as other:
            eventually(lambda: hooked.certificates() == 2, 60, f"the certificate of a second copy; {other.log}")
            assert rewrites(plane, hooked.path), "the first one's is still trusted"

        for one in hooked.policies:
            apply(plane, one)
        stopped_by_policy = pod("policy", CASES[0].spec)
        ready = treadle.wait_ready().ready()
        assert ready is not None
        assert "webhook" not in ready
        assert demand_of(made(plane, hooked.path, stopped_by_policy)) == CASES[0].demand, "with both it is the same"
        for one in hooked.policies:
            plane.api("DELETE", f"{ADMISSION}/{PLURALS[one['kind']]}/{one['metadata']['name']}")
        assert "forbidden" not in treadle.log.read_text().lower()
    # The API server may apply a policy once more that a request before did not meet any more.
    eventually(lambda: not any(rewrites(plane, hooked.path) for _ in range(10)), what="the policy gone and the webhook down")
    assert demand_of(made(plane, hooked.path, pod("as-it-is", CASES[0].spec))) is None
