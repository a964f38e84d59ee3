"""Pods bound per second with 1,000 queues: while nobody looks, while Prometheus scrapes every five seconds, and with 20 open pages.

In turn, each on a fresh control plane; the scheduler, the API server and those who look share the machine.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.cluster import PYTHON, plane_port, scraped
from cluster.client import fake_node
from cluster.control_plane import ControlPlane

NODES, PODS, QUEUES, PAGES, EVERY = 200, 6_000, 1_000, 20, 5.0
ROUNDS, VIEWERS = 2, 4
LOOKERS = """
import asyncio, sys, aiohttp
async def page(session, url, token, sums):
    headers = {"Authorization": f"Bearer {token}"}
    async with session.get(f"{url}/api/v1/stream", params={"topics": "queues"}, headers=headers, timeout=None) as answer:
        assert answer.status == 200, await answer.text()
        async for part in answer.content.iter_any():
            sums.append(len(part))
async def main(url, tokens, count):
    sums = []
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        try:
            await asyncio.gather(*(page(session, url, tokens[one % len(tokens)], sums) for one in range(count)))
        except aiohttp.ClientError:
            pass
    print(sum(sums))
asyncio.run(main(sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])))
"""


def pod(number: int) -> dict[str, Any]:
    queue = number % QUEUES
    labels = {"treadle.dev/queue": f"root.g{queue // 50}.q{queue}", "treadle.dev/application": f"app-{queue}"}
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        "metadata": {"name": f"pod-{number}", "namespace": "default", "labels": labels},
        "spec": {"schedulerName": "treadle", "containers": [container]},
    }


def viewer(plane: ControlPlane, name: str) -> str:
    """Return a token of somebody who may see all queues."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    plane.api("POST", accounts, {"metadata": {"name": name}})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
    }
    plane.api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    return str(plane.api("POST", f"{accounts}/{name}/token", {"spec": {}})[1]["status"]["token"])


def run(mode: str) -> dict[str, Any]:
    """One run: ``alone``, ``scraped`` or ``pages``."""
    with ControlPlane() as plane:
        plane.apply_crds()
        plane.create_many("/api/v1/nodes", [fake_node(f"node-{number}", "64", "256Gi") for number in range(NODES)])
        paths = [f"root.g{group}" for group in range(QUEUES // 50)] + [f"root.g{one // 50}.q{one}" for one in range(QUEUES)]
        kind = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Queue"}
        plane.create_many(
            "/apis/treadle.dev/v1alpha1/queues", [{**kind, "metadata": {"name": path}, "spec": {}} for path in paths]
        )
        port = plane_port()
        url = f"http://127.0.0.1:{port}"
        command = [
            *(PYTHON, "-m", "treadle", "run", "--kubeconfig", str(plane.kubeconfig), "--listen", f"127.0.0.1:{port}"),
            *("--probes-listen", "", "--anonymous-metrics", "--page", "--log-level", "warning"),
        ]
        bound = scraped(f"{url}/metrics", r'^treadle_binds_total\{result="bound"\} (\S+)')
        with subprocess.Popen(command) as process:
            lookers = None
            while True:
                time.sleep(0.5)
                try:
                    bound()
                    break
                except OSError:
                    continue
            time.sleep(5)  # its first lists
            if mode == "pages":
                tokens = ",".join(viewer(plane, f"viewer-{number}") for number in range(VIEWERS))
                lookers = subprocess.Popen([PYTHON, "-c", LOOKERS, url, tokens, str(PAGES)], stdout=subprocess.PIPE, text=True)
                time.sleep(3)
            process.send_signal(signal.SIGSTOP)  # all pods are there when it begins
            plane.create_many("/api/v1/namespaces/default/pods", [pod(number) for number in range(PODS)])
            process.send_signal(signal.SIGCONT)
            first, scrape = time.perf_counter(), 0.0
            while time.perf_counter() < first + 120:
                time.sleep(0.3)
                if mode == "scraped" and time.perf_counter() >= scrape:
                    bound()
                    scrape = time.perf_counter() + EVERY
                if not plane.api("GET", "/api/v1/pods", params={"fieldSelector": "spec.nodeName=", "limit": "1"})[1]["items"]:
                    break
            took, count = time.perf_counter() - first, bound()
            ticks = Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
            process.terminate()
            process.wait(30)
            sent = 0
            if lookers is not None:
                sent = int((lookers.communicate(timeout=20)[0] or "0").strip() or 0)
        return {
            "mode": mode,
            "bound": count,
            "seconds": round(took, 1),
            "cpu_s": (int(ticks[11]) + int(ticks[12])) / 100,
            "sent": sent,
        }


def measure() -> dict[str, Any]:
    """Each mode several times, in turned order."""
    modes = ("alone", "scraped", "pages")
    found = [run(mode) for _ in range(ROUNDS) for mode in modes]
    return {
        "benchmark": "watched",
        **{mode: [one for one in found if one["mode"] == mode] for mode in modes},
        **{f"{mode}_s": round(fmean(one["seconds"] for one in found if one["mode"] == mode), 1) for mode in modes},
    }


if __name__ == "__main__":
    print(json.dumps(measure()), file=sys.stdout)
