"""Releases of the chart on a control plane: Helm and kubectl as people run them, and which objects are a release's."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from chart.binaries import program
from cluster.control_plane import ControlPlane

SPACE = "treadle-system"
Objects = dict[tuple[str, str, str], dict[str, Any]]
"""Objects by kind, namespace and name, without what the server adds."""


def helm(plane: ControlPlane, *arguments: str, namespace: str = SPACE) -> str:
    """What Helm says. ``AssertionError`` with its words where it fails."""
    return _run(plane, "helm", namespace, arguments)


def kubectl(plane: ControlPlane, *arguments: str, namespace: str = SPACE, stdin: str | None = None) -> str:
    """What kubectl says. ``AssertionError`` with its words where it fails."""
    return _run(plane, "kubectl", namespace, arguments, stdin)


def _run(plane: ControlPlane, name: str, namespace: str, arguments: tuple[str, ...], stdin: str | None = None) -> str:
    # Helm keeps caches and plugins in its home: not in the home of whoever runs the tests.
    folder = str(plane.kubeconfig.parent)
    homes = {"HOME": folder, "HELM_CACHE_HOME": folder, "HELM_CONFIG_HOME": folder, "HELM_DATA_HOME": folder}
    command = [str(program(name)), "--kubeconfig", str(plane.kubeconfig), "--namespace", namespace, *arguments]
    answer = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, timeout=180, env={**os.environ, **homes}
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def left_of(plane: ControlPlane, release: str) -> Objects:
    """Every object of every kind with the label of a release; of each all but metadata, status and what the server fills in."""
    found: Objects = {}
    for prefix in _groups(plane):
        for resource in plane.api("GET", prefix)[1].get("resources", ()):
            if "/" in resource["name"] or "list" not in resource["verbs"]:
                continue
            status, answer = plane.api("GET", f"{prefix}/{resource['name']}?labelSelector=app.kubernetes.io/instance%3D{release}")
            if status != 200:
                continue
            for one in answer["items"]:
                where = one["metadata"]
                for given in ("clusterIP", "clusterIPs"):
                    one.get("spec", {}).pop(given, None)
                found[resource["kind"], where.get("namespace", ""), where["name"]] = {
                    name: value for name, value in one.items() if name not in {"metadata", "status", "apiVersion", "kind"}
                }
    return found


def _groups(plane: ControlPlane) -> list[str]:
    groups = plane.api("GET", "/apis")[1]["groups"]
    return ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]
