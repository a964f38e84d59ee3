"""The schedulers that are measured, as processes."""

import re
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.scheduler_perf.cases import Case, Json
from cluster.client import eventually
from cluster.control_plane import ControlPlane, free_port

OURS = "/apis/treadle.dev/v1alpha1"


class Running(NamedTuple):
    """A scheduler that runs."""

    name: str
    """What pods name to be scheduled by it."""
    pid: int

    def cpu_s(self) -> float:
        """Return the seconds of processor time that it has used."""
        ticks = Path(f"/proc/{self.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(ticks[11]) + int(ticks[12])) / 100


@contextmanager
def treadle(plane: ControlPlane, case: Case) -> Iterator[Running]:
    """Treadle as it comes; where pods preempt by priority, with the preemption of CapacityScheduler within a queue, without its patience."""
    plane.apply_crds()
    spec: Json = {}
    if case.preempts:
        within = {
            "enabled": True,
            "minimumThreshold": "0",
            "maxAllowableLimit": "1",
            "preemptionOrderPolicy": "priority_first",
        }
        preemption = {
            "enabled": True,
            "monitoringInterval": "1s",
            "maxWaitBeforeKill": "0s",
            "totalPreemptionPerRound": "1",
            "naturalTerminationFactor": "1",
            "intraQueue": within,
        }
        spec = {"discipline": "Capacity", "capacity": {"preemption": preemption}}
    body = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}
    status, answer = plane.api("POST", f"{OURS}/schedulers", body)
    if status >= 300:
        raise RuntimeError(f"the Scheduler object is refused: {answer.get('message')}")
    port = free_port()
    listen = ["--listen", "", "--probes-listen", f"127.0.0.1:{port}", "--log-level", "warning"]
    command = [sys.executable, "-m", "treadle", "run", "--kubeconfig", str(plane.kubeconfig), *listen]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            eventually(lambda: _answers(f"http://127.0.0.1:{port}/readyz"), 60, "Treadle is ready")
            yield Running("treadle", process.pid)
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def kube_scheduler(plane: ControlPlane, _: Case) -> Iterator[Running]:
    """kube-scheduler as it comes, without limits on its client."""
    process = plane.start_kube_scheduler(qps=10_000, burst=10_000)
    command = Path(f"/proc/{process.pid}/cmdline")  # not its own yet when it has just been forked
    found = eventually(lambda: re.search(r"--secure-port=(\d+)", command.read_text()), 30, "kube-scheduler is started")
    eventually(lambda: _answers(f"https://127.0.0.1:{found[1]}/readyz"), 60, "kube-scheduler is ready")
    yield Running("default-scheduler", process.pid)


def _answers(url: str) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return answer.status == 200
    except OSError:
        return False


SCHEDULERS = {"treadle": treadle, "kube-scheduler": kube_scheduler}
