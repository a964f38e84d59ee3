"""What the chart has for admission on a control plane, and accounts with tokens to try it."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chart.binaries import program
from cluster.control_plane import ControlPlane

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
LISTS = "/apis/treadle.dev/v1alpha1/namespaces/treadle-system/administratorlists"
PATHS = {
    "MutatingAdmissionPolicy": f"{ADMISSION}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{ADMISSION}/mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
    "ConfigMap": "/api/v1/namespaces/treadle-system/configmaps",
    "ClusterRole": f"{RBAC}/clusterroles",
    "MutatingWebhookConfiguration": f"{ADMISSION}/mutatingwebhookconfigurations",
}
SERVED = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"


def withdraw(plane: ControlPlane, *templates: str) -> None:
    """Delete what ``install`` created."""
    for template in templates:
        for one in yaml.safe_load_all(_rendered(template)):
            if one:
                plane.api("DELETE", f"{PATHS[one['kind']]}/{one['metadata']['name']}")


@cache
def _rendered(template: str) -> str:
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace=treadle-system", SERVED]
    return subprocess.run([*command, f"--show-only=templates/{template}.yaml"], capture_output=True, check=True, text=True).stdout


def install(plane: ControlPlane, *templates: str) -> None:
    """Create what templates of the chart render, by their names without an ending."""
    for template in templates:
        for one in yaml.safe_load_all(_rendered(template)):
            if one:
                status, answer = plane.api("POST", PATHS[one["kind"]], one)
                assert status == 201, answer
        if template == "administration":  # as a scheduler that leads makes it
            made = {
                "apiVersion": "treadle.dev/v1alpha1",
                "kind": "AdministratorList",
                "metadata": {"name": "treadle-administrators"},
            }
            status, answer = plane.api("POST", LISTS, made)
            assert status in {201, 409}, answer


def account(plane: ControlPlane, namespace: str, name: str, *rules: dict[str, Any]) -> str:
    """Make a service account with these rights in its namespace and return a token of it."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    assert plane.api("POST", accounts, {"metadata": {"name": name}})[0] == 201
    where = f"{RBAC}/namespaces/{namespace}"
    assert plane.api("POST", f"{where}/roles", {"metadata": {"name": name}, "rules": list(rules)})[0] == 201
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }
    assert plane.api("POST", f"{where}/rolebindings", binding)[0] == 201
    status, answer = plane.api("POST", f"{accounts}/{name}/token", {"spec": {}})
    assert status == 201, answer
    token: str = answer["status"]["token"]
    return token
