"""A release of the chart on a real node, by Helm's own program."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from chart.binaries import program
from cluster.client import eventually
from node_tier import real_node
from node_tier.build import REFERENCE
from node_tier.whole_node import WholeNode

CHART = Path(__file__).resolve().parents[2] / "charts" / "treadle"
PREVIOUS = Path(__file__).resolve().parents[1] / "chart" / "previous" / "treadle-0.0.9.tgz"
SPACE = "treadle-system"
NAME = "treadle"
repository, _, tag = REFERENCE.rpartition(":")
IMAGE = f"--set=image.repository={repository},image.tag={tag},image.pullPolicy=Never"
"""All that a node without a registry needs of values."""
MERGE = "application/merge-patch+json"
GROUP = "/apis/treadle.dev/v1alpha1"


@dataclass(frozen=True, slots=True)
class Use:
    """What a container has used, as the kubelet tells: bytes of its working set, seconds of processor since it started, and the time (Unix) of the older sample."""

    memory: int
    processor: float
    at: float


class Release:
    """What is done to the release, and what is seen of it."""

    def __init__(self, node: WholeNode) -> None:
        self.node, self.plane = node, node.plane

    def helm(self, *arguments: str) -> str:
        """Run Helm against the node's cluster and return what it says."""
        # Helm keeps caches and plugins in its home: not in the home of whoever runs the tests.
        home = str(self.node.folder / "helm")
        homes = dict.fromkeys(("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"), home)
        command = [str(program("helm")), "--kubeconfig", str(self.plane.kubeconfig), "--namespace", SPACE, *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **homes})
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer.stdout

    def install(self, chart: Path = CHART) -> None:
        """Install the release and wait until its copies are ready."""
        self.helm("install", NAME, str(chart), IMAGE, "--create-namespace")
        self.wait_ready()

    def go_back(self) -> None:
        """Have an earlier chart installed instead, once on a node: API servers find no lists again for the policy of that chart, which are a ConfigMap, when it is installed anew."""
        self.helm("uninstall", NAME, "--wait")
        eventually(lambda: not self.pods(), 60, "the copies are gone")
        self.install(PREVIOUS)

    def leader(self) -> str:
        """The name of the copy that leads; empty while none does."""
        held = self.plane.api("GET", f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases")[1]["items"]
        holders = [one["spec"].get("holderIdentity") or "" for one in held]
        return next((name for one in self.pods() if any((name := one["metadata"]["name"]) in holder for holder in holders)), "")

    def pods(self) -> list[dict[str, Any]]:
        """The scheduler's own pods."""
        query = {"labelSelector": "app.kubernetes.io/name=treadle"}
        found: list[dict[str, Any]] = self.plane.api("GET", f"/api/v1/namespaces/{SPACE}/pods", params=query)[1]["items"]
        return found

    def ready(self) -> bool:
        """Whether all copies of the current Deployment are ready, by the kubelet's probes."""
        status, found = self.plane.api("GET", f"/apis/apps/v1/namespaces/{SPACE}/deployments/{NAME}")
        if status != 200:
            return False
        said = found.get("status", {})
        current = said.get("observedGeneration") == found["metadata"]["generation"]
        counts = {said.get(one, 0) for one in ("replicas", "updatedReplicas", "readyReplicas")}
        return current and counts == {found["spec"]["replicas"]}

    def wait_ready(self) -> None:
        eventually(self.ready, 90, "the copies are ready")

    def used(self, pod: str, after: float = 0.0) -> Use:
        """Return what the only container of a copy has used, by samples of the kubelet after a time: it takes them every ten seconds or so."""

        def told() -> Use | None:
            status, found = self.plane.api("GET", f"/api/v1/nodes/{real_node.NAME}/proxy/stats/summary")
            assert status == 200, found
            named = [one for one in found["pods"] if one["podRef"]["name"] == pod]
            containers = [one for of_pod in named for one in of_pod.get("containers", [])]
            if not containers or "usageCoreNanoSeconds" not in containers[0].get("cpu", {}):
                return None
            cpu, memory = containers[0]["cpu"], containers[0]["memory"]
            at = min(datetime.fromisoformat(one["time"]).timestamp() for one in (cpu, memory))
            return Use(memory["workingSetBytes"], cpu["usageCoreNanoSeconds"] / 1e9, at) if at > after else None

        found = eventually(told, 60, f"the kubelet tells what {pod} uses", 0.5)
        assert found is not None
        return found

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask the copy that leads over TLS with the token of admin, and return the status and the JSON that it answers."""
        leader = eventually(self.leader, 60, "one leads")
        (address,) = (one["status"]["podIP"] for one in self.pods() if one["metadata"]["name"] == leader)
        trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusted.check_hostname = False  # certificates are for the name of the service, which leads to any copy
        told = self.plane.api("GET", f"/api/v1/namespaces/{SPACE}/configmaps/{NAME}-ca")[1]
        trusted.load_verify_locations(cadata=told["data"]["ca.crt"])
        connection = http.client.HTTPSConnection(address, 8080, timeout=60, context=trusted)
        headers = {"Authorization": f"Bearer {self.plane.token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def log(self, pod: str) -> str:
        """What a pod's container has written."""
        return "".join(one.read_text() for one in sorted((self.node.folder / "pod-logs").glob(f"*_{pod}_*/*/*.log")))
