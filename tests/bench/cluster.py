"""Pods bound per second on a real API server: our binder alone, Treadle, and kube-scheduler, each on a fresh control plane.

Rates are from the first bind to the last; ``treadle_seconds`` is from the start of the process, lists included. What a scheduler
has bound is read from its own metrics, so that nobody else loads the API server.
"""

import json
import re
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cluster.client import fake_node
from cluster.control_plane import ControlPlane

NODES, PODS, APPLICATIONS, QUEUES = 1_000, 10_000, 25, 5
ROUNDS = 4
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PYTHON = sys.executable
HERE = Path(__file__).resolve().parent


def pod(number: int, scheduler: str) -> dict[str, Any]:
    application = number % APPLICATIONS
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number}",
            "namespace": "default",
            "labels": {"treadle.dev/queue": f"root.q{application % QUEUES}", "treadle.dev/application": f"app-{application}"},
        },
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}],
        },
    }


class Setup(NamedTuple):
    """What the cluster is like: how many nodes in how many zones, and the pods, by number and scheduler."""

    nodes: int = NODES
    zones: int = 1
    pod: Callable[[int, str], dict[str, Any]] = pod


PLAIN = Setup()


@contextmanager
def prepared(scheduler: str, discipline: str = "Fair", setup: Setup = PLAIN) -> Iterator[ControlPlane]:
    """A fresh control plane with every node, queue and waiting pod; the queues have blocks for both disciplines."""
    with ControlPlane() as plane:
        plane.apply_crds()
        nodes = []
        for number in range(setup.nodes):
            labels = {HOST: f"node-{number:05d}", ZONE: f"zone-{number % setup.zones}"}
            nodes.append(fake_node(f"node-{number:05d}", "32", "128Gi", labels=labels))
        plane.create_many("/api/v1/nodes", nodes)
        chosen = {"metadata": {"name": "treadle"}, "spec": {"discipline": discipline}}
        kind = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler"}
        plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", {**kind, **chosen})
        for number in range(QUEUES):
            block = {"guaranteed": f"{number + 1}w", "userLimitFactor": "-1"}
            body = {
                "apiVersion": "treadle.dev/v1alpha1",
                "kind": "Queue",
                "metadata": {"name": f"root.q{number}"},
                "spec": {"fair": {"weight": str(number + 1)}, "capacity": block},
            }
            plane.api("POST", "/apis/treadle.dev/v1alpha1/queues", body)
        plane.create_many("/api/v1/namespaces/default/pods", [setup.pod(number, scheduler) for number in range(PODS)])
        yield plane


def limit(setup: Setup = PLAIN) -> dict[str, Any]:
    with prepared("nobody", setup=setup) as plane:
        _, pods = plane.api("GET", "/api/v1/pods")
        nodes = [node["metadata"]["name"] for node in plane.api("GET", "/api/v1/nodes")[1]["items"]]
        written = {"namespace": "default", "queue": "root.q0", "application": "default/app-0"}
        lines = [
            json.dumps(
                {"uid": one["metadata"]["uid"], "name": one["metadata"]["name"], "node": nodes[number % len(nodes)], **written}
            )
            for number, one in enumerate(pods["items"])
        ]
        done = subprocess.run(
            [PYTHON, str(HERE / "bind_only.py"), str(plane.kubeconfig)],
            input="\n".join(lines),
            text=True,
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)


def watched(pid: int, bound: Callable[[], float], started: float, patience: float = 60.0) -> dict[str, Any]:
    """Follow a scheduler until all is bound; the rate is from the first bind seen to the last."""
    first: tuple[float, float] | None = None
    count, now = 0.0, time.perf_counter()
    moved, wait, spent = now, 0.1, 0.0
    while count < PODS and now < moved + patience:
        time.sleep(wait)
        try:
            seen = bound()
        except OSError:
            seen = 0.0
        now = time.perf_counter()
        if seen > count:
            count, moved = seen, now
            if first is None:
                first, spent = (now, seen), cpu_of(pid)
        if (
            first is not None and count > first[1]
        ):  # a scrape costs the scheduler that is measured some milliseconds: few, and close to the end
            left = (PODS - count) * (moved - first[0]) / (count - first[1])
            wait = min(2.0, max(0.02, left / 2))
    assert first is not None
    status = Path(f"/proc/{pid}/status").read_text()
    cpu = cpu_of(pid)
    return {
        "bound": int(count),
        "per_s": (count - first[1]) / (moved - first[0]),
        "seconds": moved - started,
        "peak_mib": int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024,
        "cpu_s": cpu,
        "cpu_ms_a_bind": 1000 * (cpu - spent) / max(1.0, count - first[1]),
    }


def cpu_of(pid: int) -> float:
    """The seconds of processor that a process has taken."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(ticks[11]) + int(ticks[12])) / 100


def scraped(url: str, pattern: str, context: ssl.SSLContext | None = None) -> Callable[[], float]:
    expression = re.compile(pattern, re.MULTILINE)

    def read() -> float:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            text = answer.read().decode()
        return sum(float(value) for value in expression.findall(text))

    return read


def treadle(discipline: str = "Fair", setup: Setup = PLAIN) -> dict[str, Any]:
    with prepared("treadle", discipline, setup) as plane:
        port = plane_port()
        started = time.perf_counter()
        command = [
            PYTHON,
            "-m",
            "treadle",
            "run",
            "--kubeconfig",
            str(plane.kubeconfig),
            "--listen",
            f"127.0.0.1:{port}",
            "--probes-listen",
            "",
            "--anonymous-metrics",
            "--log-level",
            "warning",
        ]
        with subprocess.Popen(command) as process:
            found = watched(
                process.pid, scraped(f"http://127.0.0.1:{port}/metrics", r'^treadle_binds_total\{result="bound"\} (\S+)'), started
            )
            time.sleep(6)  # the coalesced events of the last pods
            _, events = plane.api("GET", "/apis/events.k8s.io/v1/events")
            process.terminate()
            process.wait(30)
        _, pods = plane.api("GET", "/api/v1/pods")
        found["bound"] = sum(bool(p["spec"].get("nodeName")) for p in pods["items"])
        found["events"] = len(events["items"])
        return found


def kube_scheduler(setup: Setup = PLAIN) -> dict[str, Any]:
    with prepared("default-scheduler", setup=setup) as plane:
        started = time.perf_counter()
        process = plane.start_kube_scheduler(qps=10_000, burst=10_000)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        pattern = r'^scheduler_schedule_attempts_total\{.*result="scheduled".*\} (\S+)'
        port = re.search(r"--secure-port=(\d+)", Path(f"/proc/{process.pid}/cmdline").read_text())[1]
        return watched(process.pid, scraped(f"https://127.0.0.1:{port}/metrics", pattern, context), started)


ROUND: tuple[Callable[[], dict[str, Any]], ...] = (limit, treadle, kube_scheduler)


def plane_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def measure() -> dict[str, Any]:
    """Each is measured several times and in turned order: the speed of a shared machine drifts within minutes. The ratios are of mean rates."""
    found: dict[Callable[[], dict[str, Any]], list[dict[str, Any]]] = {limit: [], treadle: [], kube_scheduler: []}
    for what in (*ROUND, *reversed(ROUND)) * (ROUNDS // 2):
        found[what].append(what())
    alone, ours, theirs = found.values()
    limit_rate = _mean([one["bound"] / one["seconds"] for one in alone])
    rate, other_rate = (_mean([one["per_s"] for one in rounds]) for rounds in (ours, theirs))
    return {
        "benchmark": "cluster",
        "nodes": NODES,
        "pods": PODS,
        "applications": APPLICATIONS,
        "queues": QUEUES,
        "rounds": ROUNDS,
        "bound": min(one["bound"] for one in ours),
        "limit_per_s": round(limit_rate),
        "limits_per_s": [round(one["bound"] / one["seconds"]) for one in alone],
        "treadle_per_s": round(rate),
        "treadles_per_s": [round(one["per_s"]) for one in ours],
        "treadle_seconds": round(_mean([one["seconds"] for one in ours]), 1),
        "kube_scheduler_per_s": round(other_rate),
        "kube_schedulers_per_s": [round(one["per_s"]) for one in theirs],
        "ratio_to_limit": round(rate / limit_rate, 2),
        "ratio_to_kube_scheduler": round(rate / other_rate, 2),
        "peak_mib": round(max(one["peak_mib"] for one in ours)),
        "cpu_s": round(_mean([one["cpu_s"] for one in ours]), 1),
        "kube_scheduler_peak_mib": round(max(one["peak_mib"] for one in theirs)),
        "kube_scheduler_cpu_s": round(_mean([one["cpu_s"] for one in theirs]), 1),
        "scheduled_events_written": max(one["events"] for one in ours),
        "scheduled_events": "one an application and five seconds; kube-scheduler writes one a pod",
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
