"""The cgroups of a node's pods: where they are, which pod each belongs to, and their files.

Both of the kubelet's drivers are understood: systemd (``kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice``) and cgroupfs
(``kubepods/burstable/pod1-2``). Pods of the class Guaranteed are directly below the root of all pods.
"""

import errno
import os
from collections.abc import Iterator

ROOTS = ("kubepods.slice", "kubepods", "kubelet.slice/kubelet-kubepods.slice", "kubelet/kubepods")
"""Where the cgroup of all pods is below the mount; the last two are those of kubelets that run in a container."""
CLASSES = ("burstable", "besteffort")
RESOURCES = ("cpu", "memory", "io")
SHORT, LONG = 512, 8192
"""Bytes that are read of a file at the most; memory.stat has about 2,000, the others have less than 300."""
_PRESSURE_FILES = tuple(f"{resource}.pressure" for resource in RESOURCES)

Pressure = tuple[float, float, int, int]
"""``avg10`` of some and of full in percent, and their totals in microseconds."""
Waits = tuple[bytes, ...]
"""What the pressure files of a cgroup say, in the order of ``RESOURCES``; empty where the kernel does not tell. Understood when somebody asks."""


class NoCgroups(Exception):
    """There is nothing to read; the message says where it was looked for and what is wrong."""


class Gone(Exception):
    """A cgroup has been removed."""


def pods_root(mount: str, below: str = "") -> str:
    """Return the path of the cgroup of all pods. ``below`` names it where the kubelet has one of its own; raises ``NoCgroups``."""
    if not os.path.exists(f"{mount}/cgroup.controllers"):
        older = [name for name in ("cpuacct", "cpu,cpuacct", "memory") if os.path.exists(f"{mount}/{name}/cgroup.procs")]
        more = f"; it has {' and '.join(older)} of cgroup v1, which the agent does not read" if older else ""
        raise NoCgroups(f"{mount} is not a cgroup v2 hierarchy: it has no cgroup.controllers{more}")
    for name in (below,) if below else ROOTS:
        if os.path.exists(f"{mount}/{name}/cpu.stat"):
            return f"{mount}/{name}"
    raise NoCgroups(f"{mount} has no cgroup of pods: looked for {below or ', '.join(ROOTS)}")


def pod_uid(name: str) -> str:
    """Return the uid of the pod that a cgroup is named for, empty if it is not a pod's.

    systemd takes dashes for levels, so the kubelet writes those of a uid as underscores.
    """
    if name.endswith(".slice"):
        head, found, uid = name[: -len(".slice")].rpartition("-pod")
        return uid.replace("_", "-") if found and "kubepods" in head else ""
    return name[len("pod") :] if name.startswith("pod") else ""


def pod_groups(root: str) -> Iterator[tuple[str, str, int]]:
    """Yield the uid, the path and the inode of the cgroup of each pod. A cgroup that is made anew has another inode."""
    name = os.path.basename(root)
    systemd = name.endswith(".slice")
    stem = name[: -len(".slice")] if systemd else ""
    for folder in (root, *(f"{root}/{stem}-{one}.slice" if systemd else f"{root}/{one}" for one in CLASSES)):
        try:
            entries = os.scandir(folder)
        except OSError:  # no pod of this class
            continue
        with entries:
            for entry in entries:
                uid = pod_uid(entry.name)
                if uid:
                    yield uid, entry.path, entry.inode()


class Group:
    """A cgroup whose files are kept open, as opening them costs more than reading them.

    Files that a kernel does not have (no controller, no pressure) are left out; without ``cpu.stat`` there is no cgroup: raises ``Gone``.
    """

    __slots__ = ("_cpu", "_known", "_memory", "_memory_stat", "_pressure", "inode", "phase")

    def __init__(self, path: str, inode: int = 0, phase: int = 0) -> None:
        self.inode, self.phase = inode, phase
        self._known: Waits = ()
        self._cpu = _opened(path, "cpu.stat")
        if self._cpu < 0:
            raise Gone(path)
        self._memory = _opened(path, "memory.current")
        self._memory_stat = _opened(path, "memory.stat")
        self._pressure = [_opened(path, name) for name in _PRESSURE_FILES]

    def cpu(self) -> int:
        """Return the processor time used so far, in microseconds. Raises ``Gone``."""
        return _number(_read(self._cpu, SHORT), b"usage_usec ")

    def working_set(self) -> int | None:
        """Return bytes of memory that cannot be had back easily: what is used, less inactive pages of files, as the kubelet counts it. Raises ``Gone``."""
        if self._memory < 0:
            return None
        used = int(_read(self._memory, SHORT))
        return max(0, used - _number(_read(self._memory_stat, LONG), b"\ninactive_file ")) if self._memory_stat >= 0 else used

    def waits(self, *, look: bool = True) -> Waits:
        """Return what is said of how much tasks waited; what was said last, if there is that, unless it is to be looked at. Raises ``Gone``."""
        if look or not self._known:
            self._known = tuple([_read(file, SHORT) if file >= 0 else b"" for file in self._pressure])
        return self._known

    def close(self) -> None:
        """Close the files."""
        for file in (self._cpu, self._memory, self._memory_stat, *self._pressure):
            if file >= 0:
                os.close(file)


def _opened(path: str, name: str) -> int:
    """Open a file; -1 where it is not there or not served. Raises ``OSError`` for what may not be, such as too many open files."""
    try:
        return os.open(f"{path}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
            return -1
        raise


def _read(file: int, most: int) -> bytes:
    try:
        return os.pread(file, most, 0)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:  # pressure, with a kernel that was started with psi=0
            return b""
        raise Gone(str(error)) from None


def _number(text: bytes, key: bytes) -> int:
    """Return the number after a key, 0 if it is not there. The file's first line has no line break before it."""
    start = text.find(key)
    if start < 0:
        return 0
    start += len(key)
    end = text.find(b"\n", start)
    return int(text[start : end if end >= 0 else len(text)])


def pressures(waits: Waits) -> dict[str, Pressure]:
    """Return how much tasks waited by the name of the resource, from texts such as ``some avg10=0.12 avg60=0.05 avg300=0.01 total=1234`` and a like line of ``full``.

    Older kernels have no such line for cpu: it is 0 then.
    """
    found = {}
    for resource, text in zip(RESOURCES, waits, strict=True):
        if text:
            some, _, full = text.partition(b"\nfull ")
            found[resource] = _average(some), _average(full), _number(some, b"total="), _number(full, b"total=")
    return found


def _average(line: bytes) -> float:
    _, found, rest = line.partition(b"avg10=")
    return float(rest.partition(b" ")[0]) if found else 0.0
