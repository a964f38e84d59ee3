"""What a real API server says at apply, by the chart's policies, of what is allowed and most likely a mistake."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.client import eventually, ssl_context
from cluster.control_plane import ControlPlane
from cluster.policies import install
from treadle.api.known_labels import KNOWN

TREADLE = "/apis/treadle.dev/v1alpha1"
BATCH = "/apis/batch/v1/namespaces/default"


@pytest.fixture(scope="module")
def plane(control_plane_binaries: None) -> Iterator[ControlPlane]:  # noqa: ARG001
    with ControlPlane() as plane:
        plane.apply_crds()
        install(plane, "warnings")
        yield plane


def warnings(plane: ControlPlane, path: str, body: dict[str, Any]) -> list[str]:
    """Make an object in a dry run and return what the server warns of; it has to accept it."""
    client = plane.client
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {client.token}"}
    asked = urllib.request.Request(f"{client.url}{path}?dryRun=All", json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(asked, context=ssl_context(client.ca), timeout=30) as answer:
        return [text for one in answer.headers.get_all("Warning") or () for text in re.findall(r'299 - "((?:[^"\\]|\\.)*)"', one)]


def said(plane: ControlPlane, path: str, body: dict[str, Any]) -> list[str]:
    """Return the sentences of our policies, without their names."""
    words = [one.replace('\\"', '"') for one in warnings(plane, path, body) if "treadle-warnings-" in one]
    return [re.split(r"with binding '[^']*': ", one, maxsplit=1)[1] for one in words]


def queue(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "root.a"}, "spec": spec}


def pod(scheduler: str = "treadle", labels: dict[str, str] | None = None, notes: dict[str, str] | None = None) -> dict[str, Any]:
    spec = {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [{"name": "main", "image": "pause"}]}
    return {"metadata": {"name": "p", "labels": labels or {}, "annotations": notes or {}}, "spec": spec}


@pytest.fixture(scope="module", autouse=True)
def _in_force(plane: ControlPlane) -> None:
    """Policies are served a moment after they are made."""
    about = [
        (f"{TREADLE}/queues", queue(fair={"weight": "0"})),
        ("/api/v1/namespaces/default/pods", pod("other", {"treadle.dev/queue": "root.a"})),
        (f"{BATCH}/jobs", {"metadata": {"name": "j"}, "spec": {"template": pod("other", {"treadle.dev/queue": "root.a"})}}),
        (f"{BATCH}/cronjobs", cron(pod("other", {"treadle.dev/queue": "root.a"}))),
    ]
    for path, body in about:
        eventually(lambda path=path, body=body: said(plane, path, body), 60, f"warnings at {path}")


TYPES = "Kubernetes has cpu, memory, ephemeral-storage, pods and hugepages-SIZE, and all others have a domain, as nvidia.com/gpu"
UNITS = "amounts of bytes have units such as Mi and Gi, and m is a thousandth"


def cron(template: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"fair": {"maxResources": {"cpu": "1", "vcores": "8"}}},
            "spec.fair.maxResources: nodes have no vcores; " + TYPES,
        ),
        (
            {"fair": {"maxContainerAllocation": {"memory": "10m"}}},
            "spec.fair.maxContainerAllocation: memory 10m is less than 1Mi: " + UNITS,
        ),
        (
            {"fair": {"minResources": {"memory": 64}}},
            "spec.fair.minResources: memory 64 is less than 1Mi: " + UNITS,
        ),
        (
            {"fair": {"minResources": {"cpu": "4"}, "maxResources": {"cpu": "2"}}},
            "spec.fair.minResources.cpu: 4 is over maxResources (2) and counts as the maximum too",
        ),
        ({"fair": {"weight": "0"}}, "spec.fair.weight: 0 leaves the queue its minimum only, and it has no minResources"),
        ({"submitAcl": {"users": ["ann bob"]}}, 'users: "ann bob" is one name; each is an entry of its own'),
        (
            {"priorityAcl": [{"users": ["ann,bob"], "maxPriority": 1}]},
            'users: "ann,bob" is one name; each is an entry of its own',
        ),
    ],
)
def test_a_queue_with_a_slip_is_made_with_a_warning(plane: ControlPlane, spec: dict[str, Any], words: str) -> None:
    assert said(plane, f"{TREADLE}/queues", queue(**spec)) == [words]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"fair": {"weight": "2.5", "minResources": {"cpu": "50%", "memory": "1Gi"}, "maxResources": {"nvidia.com/gpu": 4, "memory": "2Gi"}}},
        {"fair": {"weight": "0", "minResources": {"cpu": 1}, "maxResources": {"cpu": "80%", "hugepages-2Mi": "4Mi", "memory": "0"}}},
        {"submitAcl": {"users": ["CN=ann b,OU=ops", "*"], "groups": ["Domain Users"]}, "capacity": {"guaranteed": "40%"}},
    ],
)  # fmt: skip
def test_of_a_queue_that_may_well_be_meant_nothing_is_said(plane: ControlPlane, spec: dict[str, Any]) -> None:
    assert said(plane, f"{TREADLE}/queues", queue(**spec)) == []


UNKNOWN = "treadle.dev/rol: this means nothing on a pod and is passed over; pods.md in the documentation has those that do"
ELSEWHERE = (
    "treadle.dev/queue: it is asked for, and the pods are left to the scheduler default-scheduler, which has no queues; "
    "spec.schedulerName: treadle is ours"
)
CASE = "treadle.dev/queue: root.PROD can be no queue, as their names are in lower case: root.prod?"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (pod(labels={"treadle.dev/rol": "master"}), [UNKNOWN]),
        (pod(notes={"treadle.dev/rol": "master"}), [UNKNOWN]),
        (pod(labels={"treadle.dev/queue": "root.PROD"}), [CASE]),
        (pod("default-scheduler", {"treadle.dev/queue": "root.prod"}), [ELSEWHERE]),
        (pod(labels=dict.fromkeys(sorted(KNOWN), "a"), notes={"example.com/rol": "a"}), []),
        (pod("default-scheduler", {"treadle.dev/application": "a"}), []),
    ],
)
def test_pods_and_their_templates_are_warned_of(plane: ControlPlane, template: dict[str, Any], words: list[str]) -> None:
    assert said(plane, "/api/v1/namespaces/default/pods", template) == words
    assert said(plane, f"{BATCH}/jobs", {"metadata": {"name": "j"}, "spec": {"template": template}}) == words
    assert said(plane, f"{BATCH}/cronjobs", cron(template)) == words


def test_nothing_is_in_a_policy_that_does_not_compile(plane: ControlPlane) -> None:
    policies = plane.api("GET", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")[1]["items"]
    assert [
        one["metadata"]["name"] for one in policies if one.get("status", {}).get("typeChecking", {}).get("expressionWarnings")
    ] == []
