"""``treadle run`` as a process of its own, as a cluster would run it."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from cluster.client import eventually
from cluster.control_plane import ControlPlane

PROBES = {"/healthz", "/livez", "/readyz"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Treadle:
    """Starts, asks and ends a scheduler. Its log goes to a file in ``folder`` and is shown when something is wrong."""

    def __init__(self, kubeconfig: Path | str, folder: Path, *arguments: str, anonymous_metrics: bool = True) -> None:
        self.port, self.probes_port = free_port(), free_port()
        self.log = folder / f"treadle-{self.port}.log"
        self._command = [
            sys.executable, "-m", "treadle", "run", "--kubeconfig", str(kubeconfig),
            "--listen", f"127.0.0.1:{self.port}", "--probes-listen", f"127.0.0.1:{self.probes_port}",
            *(["--anonymous-metrics"] if anonymous_metrics else []), *arguments,
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log, stdout=log)
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> int:
        """Ask it to end and return its exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(60)

    def get(self, path: str) -> tuple[int, str]:
        port = self.probes_port if path in PROBES else self.port
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def ready(self) -> dict[str, Any] | None:
        """The details of /status once /readyz answers 200."""
        if self.get("/readyz")[0] != 200:
            return None
        status, text = self.get("/status")
        return json.loads(text) if status == 200 else None

    def wait_ready(self) -> Self:
        with contextlib.suppress(FileNotFoundError):
            eventually(self.ready, 60, f"treadle ready; its log ends {self.log.read_text()[-2000:]}")
        return self

    def metric(self, series: str) -> float:
        """One number of /metrics; ``series`` as it stands there, labels included."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else 0.0

    def peak_mib(self) -> float:
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def queue(name: str, **fair: Any) -> dict[str, Any]:
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": {"fair": fair}}


def capacity_queue(name: str, guaranteed: str, maximum: str | None = None, **block: Any) -> dict[str, Any]:
    """A queue with a block for the capacity discipline; users are not limited unless the block says so."""
    block = {"guaranteed": guaranteed, "userLimitFactor": "-1", **({"maximum": maximum} if maximum else {}), **block}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": {"capacity": block}}


def pod(
    name: str, queue: str = "", application: str = "", cpu: str = "500m", memory: str = "256Mi", **spec: Any
) -> dict[str, Any]:
    labels = {key: value for key, value in (("treadle.dev/queue", queue), ("treadle.dev/application", application)) if value}
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"schedulerName": "treadle", "containers": [container], **spec},
    }


class Cluster:
    """What tests ask of a control plane, in their own words."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def queues(self, *queues: dict[str, Any]) -> None:
        for one in queues:
            status, answer = self.plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", one)
            assert status == 201, answer

    def pods(self, pods: list[dict[str, Any]]) -> None:
        self.plane.create_many("/api/v1/namespaces/default/pods", pods)

    def all_pods(self) -> list[dict[str, Any]]:
        return self.plane.api("GET", "/api/v1/pods")[1]["items"]

    def bound(self) -> list[dict[str, Any]]:
        return [one for one in self.all_pods() if one["spec"].get("nodeName")]

    def wait_bound(self, count: int, timeout: float = 120.0) -> list[dict[str, Any]]:
        def enough() -> list[dict[str, Any]] | None:
            found = self.bound()
            return found if len(found) >= count else None

        return eventually(enough, timeout, f"{count} pods bound", 0.25)

    def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
        where = f"/namespaces/{namespace}" if namespace else ""
        status, answer = self.plane.api("GET", f"/apis/treadle.dev/v1alpha1{where}/{kind}/{name}")
        assert status == 200, answer
        return answer

    def condition(self, kind: str, name: str, type_: str, namespace: str = "") -> dict[str, Any]:
        conditions = self.get(kind, name, namespace).get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == type_), {})


def milli(cpu: str) -> int:
    return int(cpu[:-1]) if cpu.endswith("m") else int(float(cpu) * 1000)


def requested(pods: list[dict[str, Any]]) -> int:
    """The sum of the cpu requests in milli-units."""
    return sum(milli(container["resources"]["requests"]["cpu"]) for one in pods for container in one["spec"]["containers"])


def overfull_nodes(pods: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> list[str]:
    """The nodes that hold more cpu or more pods than they have."""
    held: dict[str, list[dict[str, Any]]] = {}
    for one in pods:
        held.setdefault(one["spec"].get("nodeName", ""), []).append(one)
    held.pop("", None)
    have = {node["metadata"]["name"]: node["status"]["allocatable"] for node in nodes}
    return [
        name for name, here in held.items() if requested(here) > milli(have[name]["cpu"]) or len(here) > int(have[name]["pods"])
    ]
