"""What pods on nodes have in use of storage: by node, and by claim."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model.volumes import Disk, PodVolumes


class InUse:
    """``claims``, ``disks`` and ``handles`` by node, each with how many pods have it; ``pods`` counts by claim those that name it themselves."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._entered: dict[str, tuple[PodVolumes, str]] = {}
        self.claims: dict[str, Counter[str]] = {}
        self.disks: dict[str, Counter[Disk]] = {}
        self.handles: dict[str, Counter[tuple[str, str]]] = {}
        self.pods: Counter[str] = Counter()

    def enter(self, uid: str, volumes: PodVolumes, node: str) -> None:
        """Count what a pod has in use on its node."""
        self._entered[uid] = (volumes, node)
        self._count(volumes, node, 1)

    def leave(self, uid: str) -> None:
        """Count what a pod has in use no longer."""
        found = self._entered.pop(uid, None)
        if found is None:
            return
        volumes, node = found
        self._count(volumes, node, -1)
        for follower in self._storage.followers:
            follower.at(node)

    def broken(self, expected: dict[str, tuple[PodVolumes, str]]) -> list[str]:
        """Return every contradiction to the pods with volumes that are on nodes, by uid, as sentences."""
        if self._entered != expected:
            return [f"volumes of {sorted(self._entered)} are counted, {sorted(expected)} are on nodes with volumes"]
        anew = InUse(self._storage)
        for uid, (volumes, node) in expected.items():
            anew.enter(uid, volumes, node)
        return [
            f"{name} in use are {getattr(self, name)}, those of the pods are {getattr(anew, name)}"
            for name in ("claims", "disks", "handles", "pods")
            if getattr(self, name) != getattr(anew, name)
        ]

    def _count(self, volumes: PodVolumes, node: str, change: int) -> None:
        for name, own in volumes.claims:
            key = f"{volumes.namespace}/{name}"
            _add(self.claims, node, key, change)
            if not own:
                self.pods[key] += change
                if not self.pods[key]:
                    del self.pods[key]
                    self._storage.freed(key)
        for disk in volumes.disks:
            _add(self.disks, node, disk, change)
        for handle in volumes.handles:
            _add(self.handles, node, handle, change)


def _add(by_node: dict[str, Counter], node: str, thing: object, change: int) -> None:  # type: ignore[type-arg]
    counts = by_node.setdefault(node, Counter())
    counts[thing] += change
    if not counts[thing]:
        del counts[thing]
        if not counts:
            del by_node[node]
