"""What the node agent takes of its node: processor and memory, over a folder with the cgroups of a hundred pods, each with files as a kernel writes them.

It is read as a scheduler and a Prometheus read it: one sample a second, and the metrics every fifteen. Reading files of a folder costs less than reading those that a kernel
makes up when they are read (``memory.stat`` most of all).
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from agent.cgroup_tree import Tree
from cluster.client import eventually

PODS = int(os.environ.get("AGENT_PODS", "100"))
SECONDS = int(os.environ.get("AGENT_SECONDS", "60"))
SCRAPED_EVERY = 15
GOAL = 0.5
"""Percent of a core."""
MIB = 1 << 20


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder) / "cgroup")
        tree.all(cpu=10**9, memory=PODS * 64 * MIB, cache=MIB)
        for number in range(PODS):
            tree.pod(f"{number:08}-0000-0000-0000-000000000000", "burstable", cpu=10**7, memory=64 * MIB, cache=MIB)
        command = [sys.executable, "-m", "treadle", "agent", "--listen=127.0.0.1:0", f"--cgroups={tree.mount}", "--node=n"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            try:
                port = eventually(lambda: _port_of(process.pid), what="it listens")
                found = _read(process.pid, port)
            finally:
                process.kill()
    return {"benchmark": "agent", "pods": PODS, "seconds": SECONDS, "goal_percent_of_a_core": GOAL, **found}


def _read(pid: int, port: int) -> dict[str, Any]:
    """Ask for samples and metrics for a while, and return what the agent took meanwhile."""
    _get(port, "sample")
    begun, used = time.monotonic(), _seconds(pid)
    for number in range(1, SECONDS + 1):
        time.sleep(max(0.0, begun + number - time.monotonic()))
        _get(port, "sample")
        if number % SCRAPED_EVERY == 0:
            _get(port, "metrics")
    took = _seconds(pid) - used
    status = Path(f"/proc/{pid}/status").read_text()
    peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    return {
        "percent_of_a_core": round(100 * took / (time.monotonic() - begun), 2),
        "ms_of_processor_a_second": round(1000 * took / SECONDS, 2),
        "most_memory_mib": round(peak / 1024, 1),
        "load": os.getloadavg()[0],
    }


def _get(port: int, page: str) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
        answer.read()


def _seconds(pid: int) -> float:
    """Seconds of the processor that a process has taken, by its threads that have ended as well: each request has one."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _port_of(pid: int) -> int:
    """The port on which a process listens, 0 for none yet."""
    inodes = {target.removeprefix("socket:[").rstrip("]") for target in _targets(pid) if target.startswith("socket:[")}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            return int(words[1].partition(":")[2], 16)
    return 0


def _targets(pid: int) -> list[str]:
    found = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except OSError:  # closed meanwhile
            continue
    return found
