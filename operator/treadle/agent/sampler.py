"""Samples: what a node's pods use together and each, taken once a second."""

import os

from treadle.agent.cgroups import Gone, Group, NoCgroups, Waits, pod_groups, pods_root
from treadle.agent.rows import NamedTuple

PRESSURE_EVERY = 5
"""Samples between two looks at the pressure of a pod, a part of the pods each time: it costs the kernel more to tell than all else, and its totals lose nothing."""


class Usage(NamedTuple):
    """What a cgroup uses.

    ``cpu`` is in milli-units over the time since the last sample, None in the first; ``cpu_total`` in microseconds since the cgroup was made; ``memory``,
    the working set, in bytes, None where the kernel does not count it. ``waits`` of a pod is up to ``PRESSURE_EVERY`` samples old.
    """

    cpu: int | None
    cpu_total: int
    memory: int | None
    waits: Waits


class Sample(NamedTuple):
    """A sample at a time of day and over how many seconds: all pods together, and each by its uid."""

    at: float
    seconds: float
    all: Usage
    pods: dict[str, Usage]


class Sampler:
    """Takes samples below a mount of cgroup v2. ``problem`` says why the last one could not be taken; empty where it was."""

    def __init__(self, mount: str, below: str = "") -> None:
        self.problem = "no sample yet"
        self._mount = mount
        self._below = below
        self._root: Group | None = None
        self._path = ""
        self._pods: dict[str, Group] = {}
        self._totals: dict[str, int] = {}
        """Processor time at the last sample by uid; that of all pods is under the empty one."""
        self._last = 0.0
        self._turn = 0
        self._opened = 0
        """Cgroups of pods so far: they take turns by it, so that each second has as much to read."""

    def take(self, at: float, clock: float) -> Sample | None:
        """Return a sample, or None where there is nothing to read, and ``problem`` says why.

        ``at`` is the time of day in seconds, ``clock`` that of a clock that is never put back.
        """
        seconds = clock - self._last if self._totals else 0.0
        try:
            root = self._rooted()
            self._follow()
            totals: dict[str, int] = {}
            everything = self._usage("", root, seconds, totals, look=True)
            self._turn += 1
            pods = {}
            for uid, group in list(self._pods.items()):
                try:
                    pods[uid] = self._usage(uid, group, seconds, totals, look=(self._turn + group.phase) % PRESSURE_EVERY == 0)
                except Gone:
                    self._pods.pop(uid).close()
        except NoCgroups as error:
            self._failed(str(error))
        except Gone as error:
            self._failed(f"the cgroup of all pods has been removed: {error}")
        except OSError as error:  # too many open files, no right to read
            self._failed(f"{error.filename or self._mount} cannot be read: {error.strerror or error}")
        else:
            self._totals, self._last, self.problem = totals, clock, ""
            return Sample(at, seconds, everything, pods)
        return None

    def _failed(self, why: str) -> None:
        self._forget()
        self.problem = why

    def _rooted(self) -> Group:
        """Return the cgroup of all pods, found where it is not known. Raises ``NoCgroups``, and ``Gone`` if it was made anew since."""
        if self._root is None:
            self._path = pods_root(self._mount, self._below)
            self._root = Group(self._path, os.stat(self._path).st_ino)
        elif not os.path.exists(self._path) or os.stat(self._path).st_ino != self._root.inode:
            raise Gone(self._path)
        return self._root

    def _usage(self, uid: str, group: Group, seconds: float, totals: dict[str, int], *, look: bool) -> Usage:
        total = group.cpu()
        usage = Usage(self._rate(uid, total, seconds), total, group.working_set(), group.waits(look=look))
        totals[uid] = total
        return usage

    def _rate(self, uid: str, total: int, seconds: float) -> int | None:
        """Return milli-units of processor; None where there is nothing to compare with, as when a cgroup was made anew."""
        before = self._totals.get(uid)
        if before is None or seconds <= 0 or total < before:
            return None
        return round((total - before) / seconds / 1000)

    def _follow(self) -> None:
        """Open the cgroups of pods that came, and close those of pods that went or were made anew."""
        seen = set()
        for uid, path, inode in pod_groups(self._path):
            known = self._pods.get(uid)
            if known is not None and known.inode != inode:
                self._drop(uid)
                known = None
            if known is None:
                try:
                    self._pods[uid] = Group(path, inode, self._opened)
                    self._opened += 1
                except Gone:  # between the listing and now
                    continue
            seen.add(uid)
        for uid in self._pods.keys() - seen:
            self._drop(uid)

    def _drop(self, uid: str) -> None:
        self._pods.pop(uid).close()
        self._totals.pop(uid, None)

    def _forget(self) -> None:
        for group in (self._root, *self._pods.values()):
            if group is not None:
                group.close()
        self._root, self._path, self._last = None, "", 0.0
        self._pods.clear()
        self._totals.clear()

    def close(self) -> None:
        """Close every file."""
        self._forget()
