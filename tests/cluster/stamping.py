"""The two forms in which the chart has it stamped who made an object, on a control plane: policies of the API server, and a webhook of the scheduler for servers without them."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from chart.binaries import program
from cluster.client import eventually, ssl_context
from cluster.control_plane import ControlPlane
from cluster.policies import PATHS, SERVED
from cluster.treadle_process import free_port, pod
from treadle.api.identity import STAMPED_GROUPS, STAMPED_USER

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
FORMS = ("policies", "webhook")
WITHOUT_POLICIES = ("--emulated-version=1.33",)
"""Has the API server behave as the oldest one that the chart is for, which does not know MutatingAdmissionPolicies."""
FORGED = {STAMPED_USER: "boss", STAMPED_GROUPS: "system:masters", "treadle.dev/user": "boss"}
CONFIGURATION = f"{PATHS['MutatingWebhookConfiguration']}/treadle-identity"


def server_for(form: str) -> Sequence[str]:
    """Arguments for the API server."""
    return WITHOUT_POLICIES if form == "webhook" else ()


def rendered(form: str) -> list[dict[str, Any]]:
    """What the chart has for a form."""
    command = [str(program("helm")), "template", "treadle", str(CHART), "--namespace=treadle-system"]
    if form == "policies":
        command += [SERVED, "--show-only=templates/identity.yaml"]
    else:
        command += ["--set=identity.webhook.enabled=true"]
        command += [f"--show-only=templates/{name}.yaml" for name in ("identity", "identity-webhook")]
    answer = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return [one for one in yaml.safe_load_all(answer) if one]


def install(plane: ControlPlane, form: str) -> tuple[str, ...]:
    """Create what the chart has for a form, and return the arguments with which Treadle has to run for it: none for policies."""
    port = free_port()
    for one in rendered(form):
        for hook in one.get("webhooks", ()):
            assert hook["clientConfig"]["service"]["path"] == "/stamp-identity"
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}/stamp-identity"}
        status, answer = plane.api("POST", PATHS[one["kind"]], one)
        assert status == 201, answer
    if form == "policies":
        return ()
    name = CONFIGURATION.rpartition("/")[2]
    return (f"--webhook-listen=127.0.0.1:{port}", f"--webhook-stamps={name}", "--webhook-host=127.0.0.1")


def wait_in_force(plane: ControlPlane, namespace: str) -> None:
    """Wait until a forged stamp of a pod in a namespace is overwritten: policies take a moment, and so do Treadle's start and its certificate."""
    body = pod("probe")
    body["metadata"] |= {"namespace": namespace, "annotations": FORGED}

    def stamped() -> bool:
        status, answer = plane.api("POST", f"/api/v1/namespaces/{namespace}/pods", body, {"dryRun": "All"})
        return status == 201 and answer["metadata"]["annotations"][STAMPED_USER] != "boss"

    eventually(lambda: all(stamped() for _ in range(5)), 60, "stamps in force")


def as_user(
    plane: ControlPlane, user: str, groups: Iterable[str], method: str, path: str, body: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """A request as somebody else, with any groups, by impersonation: they are what admission sees, and have to have the rights."""
    parts = urlsplit(plane.url)
    connection = http.client.HTTPSConnection(str(parts.hostname), parts.port, context=ssl_context(plane.ca))
    try:
        connection.putrequest(method, path)
        data = json.dumps(body).encode()
        headers = [("Authorization", f"Bearer {plane.token}"), ("Content-Type", "application/json"), ("Impersonate-User", user)]
        for key, value in (*headers, ("Content-Length", str(len(data))), *(("Impersonate-Group", group) for group in groups)):
            connection.putheader(key, value.encode())
        connection.endheaders(data)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
