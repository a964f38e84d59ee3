"""Pods that ask others by HTTP over TLS, as clients in a cluster do, and what they are answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cluster.client import eventually
from node_tier import tenant
from node_tier.build import REFERENCE
from node_tier.release import Release

BUNDLE = "trusted"
"""The ConfigMap with the certificates that a pod trusts."""
PROGRAM = """\
import http.client, json, os, ssl
trusted = ssl.create_default_context(cafile="/trusted/ca.crt")
for host, port, path, token in json.loads(os.environ["QUESTIONS"]):
    if port == 8081:
        asked = http.client.HTTPConnection(host, port, timeout=20)
    else:
        asked = http.client.HTTPSConnection(host, port, timeout=20, context=trusted)
    try:
        asked.request("GET", path, headers={"Authorization": "Bearer " + token} if token else {})
        answer = asked.getresponse()
        said = [answer.status, answer.read().decode()[:200000]]
    except OSError as error:
        said = [0, str(error)]
    print("answer " + json.dumps(said), flush=True)
"""
"""An answer a line; probes, on their port, are without TLS. A status of 0 is a failure of the connection."""


def answers(release: Release, name: str, questions: Sequence[tuple[str, int, str, str]]) -> list[tuple[int, str]]:
    """What a pod of the tenant is answered that asks hosts at ports for paths with tokens (none where empty), one after the other."""
    spec = tenant.spec("10m", REFERENCE)
    container = spec["containers"][0]
    container |= {
        "command": ["/opt/treadle/bin/python", "-c", PROGRAM],
        "args": [],
        "env": [{"name": "QUESTIONS", "value": json.dumps(questions)}],
        "volumeMounts": [{"name": "trusted", "mountPath": "/trusted"}],
    }
    spec |= {"restartPolicy": "Never", "volumes": [{"name": "trusted", "configMap": {"name": BUNDLE}}]}
    tenant.made(release, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})

    def over() -> bool:
        return tenant.seen(release, name).get("status", {}).get("phase") in {"Succeeded", "Failed"}

    eventually(over, 60, f"{name} has asked; {release.log(name)}")
    said = [line.partition(" F answer ")[2] for line in _whole(release.log(name)).splitlines() if " F answer " in line]
    assert len(said) == len(questions), release.log(name)
    return [(status, text) for status, text in map(json.loads, said)]


def _whole(log: str) -> str:
    """A container's log whose long lines, which its runtime has parted, are whole again."""
    lines: list[str] = []
    part = ""
    for line in log.splitlines():
        head, _, text = line.partition(" P ")
        if text and " F " not in head:
            part += text
        elif part:
            start, _, end = line.partition(" F ")
            lines.append(f"{start} F {part}{end}")
            part = ""
        else:
            lines.append(line)
    return "\n".join(lines)


def trusts(release: Release, text: str) -> None:
    """Give the tenant's pods the certificates that they trust; those made later see the change."""
    path = f"/api/v1/namespaces/{tenant.SPACE}/configmaps"
    body: dict[str, Any] = {"metadata": {"name": BUNDLE}, "data": {"ca.crt": text}}
    if release.plane.api("POST", path, body)[0] == 409:
        assert release.plane.api("PUT", f"{path}/{BUNDLE}", body)[0] == 200
