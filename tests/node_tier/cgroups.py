"""The cgroups of a node's pods, of either version."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
KUBELETS = ("cpu", "cpuset", "memory", "hugetlb", "pids")
"""Controllers of version 2 without which, where the kernel has them, a kubelet does not start."""


def version() -> int:
    """Return 2 where all controllers are in one hierarchy, else 1."""
    return 2 if (MOUNT / "cgroup.controllers").exists() else 1


def hierarchies() -> list[Path]:
    """The roots below which a kubelet makes cgroups."""
    if version() == 2:
        return [MOUNT]
    return [one for one in MOUNT.iterdir() if one.is_dir() and not one.is_symlink() and one.name != "unified"]


def make(name: str) -> None:
    """Make a cgroup in every hierarchy: a kubelet wants its root to be there. Raises ``OSError``."""
    for root in hierarchies():
        (root / name).mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):
            if root.name == "cpuset":
                (root / name / file).write_text((root / file).read_text())
    if version() == 2:
        there = {*(MOUNT / "cgroup.controllers").read_text().split()}
        (MOUNT / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in KUBELETS if one in there))


def remove(name: str, patience: float = 10.0) -> None:
    """Remove a cgroup and all below it, when all processes in it have ended."""
    end = time.monotonic() + patience
    for root in hierarchies():
        for folder, _, _ in os.walk(root / name, topdown=False):
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
                    break
                time.sleep(0.02)


def resident(root: str, uid: str) -> int:
    """Return the bytes of memory that a pod's processes have written to; 0 while it has none."""
    total = 0
    for pod in (MOUNT if version() == 2 else MOUNT / "memory").glob(f"{root}/kubepods/**/pod{uid}"):
        for listed in pod.glob("**/cgroup.procs"):
            for process in listed.read_text().split():
                with contextlib.suppress(OSError):  # it may have ended
                    lines = Path(f"/proc/{process}/status").read_text().splitlines()
                    total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    return total


def processes(root: str, uid: str) -> list[int]:
    """Return the processes of a pod, its sandbox's among them."""
    pods = (MOUNT if version() == 2 else MOUNT / "memory").glob(f"{root}/kubepods/**/pod{uid}")
    return [int(one) for pod in pods for listed in pod.glob("**/cgroup.procs") for one in listed.read_text().split()]


def working_set(root: str, uid: str) -> int:
    """Return the bytes of memory of a pod by which a kubelet judges it: what is used without files that have not been read lately."""
    (pod,) = (MOUNT if version() == 2 else MOUNT / "memory").glob(f"{root}/kubepods/**/pod{uid}")
    used, inactive = ("memory.current", "inactive_file") if version() == 2 else ("memory.usage_in_bytes", "total_inactive_file")
    stat = dict(line.split() for line in (pod / "memory.stat").read_text().splitlines())
    return int((pod / used).read_text()) - int(stat[inactive])


def processor_seconds(root: str, uid: str) -> float:
    """Return the seconds of processor that a pod has used."""
    (pod,) = (MOUNT if version() == 2 else MOUNT / "cpuacct").glob(f"{root}/kubepods/**/pod{uid}")
    if version() == 1:
        return int((pod / "cpuacct.usage").read_text()) / 1e9
    stat = dict(line.split() for line in (pod / "cpu.stat").read_text().splitlines())
    return int(stat["usage_usec"]) / 1e6


def shares_of(cpu: int) -> int:
    """Return the shares, of version 1, that a kubelet writes for a request of so many milli-units of processor."""
    return max(cpu * 1024 // 1000, 2)


def shown(root: str, uid: str) -> dict[str, int]:
    """Return what the kernel holds a pod to: ``cpu`` in shares or weight, ``quota`` in milli-units of processor and ``memory`` in bytes; -1 for no limit."""
    if version() == 2:
        (pod,) = MOUNT.glob(f"{root}/kubepods/**/pod{uid}")
        quota, period = (pod / "cpu.max").read_text().split()
        memory = (pod / "memory.max").read_text().strip()
        return {
            "cpu": int((pod / "cpu.weight").read_text()),
            "quota": -1 if quota == "max" else int(quota) * 1000 // int(period),
            "memory": -1 if memory == "max" else int(memory),
        }
    (cpu,) = (MOUNT / "cpu").glob(f"{root}/kubepods/**/pod{uid}")
    (memory_group,) = (MOUNT / "memory").glob(f"{root}/kubepods/**/pod{uid}")
    quota_us, period_us = (int((cpu / f"cpu.cfs_{one}_us").read_text()) for one in ("quota", "period"))
    return {
        "cpu": int((cpu / "cpu.shares").read_text()),
        "quota": -1 if quota_us < 0 else quota_us * 1000 // period_us,
        "memory": int((memory_group / "memory.limit_in_bytes").read_text()),
    }
