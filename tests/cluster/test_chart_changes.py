"""A release of the chart on a real API server under odd names, and as its features come and go: nothing is refused half-way, and nothing is left behind."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from chart.rendering import CHART
from cluster.control_plane import ControlPlane
from cluster.releases import helm, kubectl, left_of

SPACE = "treadle-system"
MONITORS = ("PodMonitor", "PrometheusRule")
ON = (
    "--set=agent.enabled=true,agent.alone.enabled=true,agent.alone.cpuPercent=85,opportunistic.webhook.enabled=true,identity.webhook.enabled=true",
    "--set=rest.enabled=true,rest.queueChanges=true,page.enabled=true,eta.enabled=true,opportunistic.usage.kubelets=true,rbac.features.deletions=true",
    "--set=ingress.enabled=true,ingress.host=treadle.example,networkPolicy.restrictEgress=true",
    "--set=podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true",
)
OFF = (
    "--set=access.administration.enabled=false,warnings.enabled=false,opportunistic.policy.enabled=false,flowControl.enabled=false,podDisruptionBudget.enabled=false",
    "--set=tls.enabled=false,networkPolicy.enabled=false,rbac.aggregate=false,history.enabled=false,identity.source=namespace,replicaCount=1",
)


def monitoring(plane: ControlPlane) -> None:
    """Serve the kinds of the Prometheus operator, with nothing behind them."""
    for kind in MONITORS:
        plural = f"{kind.lower()}s"
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        made: dict[str, Any] = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {
                "group": "monitoring.coreos.com",
                "names": {"kind": kind, "plural": plural},
                "scope": "Namespaced",
                "versions": [version],
            },
        }
        status, answer = plane.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
        assert status == 201, answer
    kubectl(plane, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


@pytest.fixture
def plane(fresh_control_plane: Any) -> ControlPlane:
    found: ControlPlane = fresh_control_plane()
    found.create_namespace(SPACE)
    return found


@pytest.mark.timeout(300)
def test_the_server_takes_names_as_long_and_as_odd_as_helm_allows(plane: ControlPlane) -> None:
    plane.apply_crds()
    monitoring(plane)
    served = [f"--api-versions=monitoring.coreos.com/v1/{kind}" for kind in MONITORS]
    plane.create_namespace("2024")
    for release, space in (
        ("a" * 53, SPACE),
        ("team.batch", SPACE),
        ("true", "2024"),
        ("123", SPACE),
    ):
        rendered = helm(plane, "template", release, str(CHART), *ON, *served, "--set=crds.install=false", namespace=space)
        arguments = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
        said = kubectl(plane, *arguments, namespace=space, stdin=rendered)
        assert said.count("service/") == 2, said


@pytest.mark.timeout(400)
def test_features_come_and_go_and_leave_nothing(plane: ControlPlane) -> None:
    monitoring(plane)
    before = left_of(plane, "treadle")
    assert before == {}
    helm(plane, "install", "treadle", str(CHART))
    plain = left_of(plane, "treadle")
    helm(plane, "upgrade", "treadle", str(CHART), *ON)
    everything = left_of(plane, "treadle")
    assert {kind for kind, _, _ in plain.keys() - everything.keys()} == {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }, "the webhook stamps instead"
    assert len(everything) > len(plain) + 10
    helm(plane, "upgrade", "treadle", str(CHART), *OFF)
    least = left_of(plane, "treadle")
    assert least.keys() < plain.keys()
    helm(plane, "upgrade", "treadle", str(CHART), "--reset-values")
    assert left_of(plane, "treadle") == plain
    helm(plane, "rollback", "treadle", "2")
    assert left_of(plane, "treadle") == everything
    helm(plane, "rollback", "treadle", "3")
    assert left_of(plane, "treadle") == least
    helm(plane, "uninstall", "treadle")
    assert left_of(plane, "treadle") == {}
    definitions = plane.api("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[1]["items"]
    assert "queues.treadle.dev" in {one["metadata"]["name"] for one in definitions}
    helm(plane, "install", "treadle", str(CHART))
    assert left_of(plane, "treadle").keys() == plain.keys(), "and it can be installed again"


@pytest.mark.timeout(300)
def test_two_releases_live_in_one_cluster_under_names_of_their_own(plane: ControlPlane) -> None:
    plane.create_namespace("research")
    helm(plane, "install", "treadle", str(CHART), *ON[:3])
    one = left_of(plane, "treadle")
    second = ("--set=crds.install=false,scheduler.name=research", *ON[:3])
    helm(plane, "install", "treadle-research", str(CHART), *second, namespace="research")
    two = left_of(plane, "treadle-research")
    assert left_of(plane, "treadle") == one
    assert one.keys() & two.keys() == set()
    helm(plane, "uninstall", "treadle-research", namespace="research")
    assert left_of(plane, "treadle-research") == {}
    assert left_of(plane, "treadle") == one


@pytest.mark.timeout(200)
def test_what_the_notes_tell_to_run_can_be_run(plane: ControlPlane) -> None:
    more = "--set=page.enabled=true,service.port=9000,scheduler.name=batch,access.default=open"
    said = helm(plane, "install", "team.batch", str(CHART), more)
    kubectl(plane, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    commands = [shlex.split(line) for line in said.splitlines() if line.startswith("     kubectl ")]
    assert [next(word for word in one[1:] if word in {"rollout", "run", "get", "port-forward"}) for one in commands] == [
        "rollout",
        "run",
        "get",
        "port-forward",
    ]
    rollout, run, get, forward = commands
    for command in (run, get):
        kubectl(plane, *command[1:], namespace="default")
    made = plane.api("GET", "/api/v1/namespaces/default/pods/hello")[1]
    assert made["spec"]["schedulerName"] == "batch"
    kubectl(plane, "get", rollout[-1], namespace=rollout[rollout.index("--namespace") + 1])
    name = forward[-2].removeprefix("service/")
    service = plane.api("GET", f"/api/v1/namespaces/{SPACE}/services/{name}")[1]
    assert forward[-1] == f"8080:{service['spec']['ports'][0]['port']}" == "8080:9000"
