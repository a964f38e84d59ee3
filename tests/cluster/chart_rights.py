"""Exactly the rights that the chart gives the scheduler, for a user of a control plane: what a scheduler under test needs beyond them, the chart lacks."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chart.binaries import program

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
FEATURES = "--set=rbac.features.deletions=true,opportunistic.usage.kubelets=true,opportunistic.webhook.enabled=true,identity.webhook.enabled=true,rest.enabled=true,rest.queueChanges=true,history.reservations=true"
"""What is given on request only."""
KINDS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "namespaces/{}/roles",
    "RoleBinding": "namespaces/{}/rolebindings",
}


@cache
def _rendered(namespace: str) -> str:
    command = [str(program("helm")), "template", "treadle", str(CHART), f"--namespace={namespace}", FEATURES]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def rights_for(user: str, namespace: str) -> list[tuple[str, dict[str, Any]]]:
    """The scheduler's roles and their bindings, by the path to create them at, for a user instead of its service account."""
    documents = [one for one in yaml.safe_load_all(_rendered(namespace)) if one and one["kind"] in KINDS]
    bindings = [one for one in documents if "Binding" in one["kind"] and any(s["name"] == "treadle" for s in one["subjects"])]
    roles = {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in bindings}
    for one in bindings:
        one["subjects"] = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
    needed = [one for one in documents if (one["kind"], one["metadata"]["name"]) in roles]
    return [(f"/apis/rbac.authorization.k8s.io/v1/{KINDS[one['kind']].format(namespace)}", one) for one in (*needed, *bindings)]
