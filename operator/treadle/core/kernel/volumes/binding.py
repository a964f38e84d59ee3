"""The claims that are being bound for pods that are placed (``volumeBinder.AssumePodVolumes`` and ``checkBindings``).

A pod whose claims wait for their first consumer is placed and counted at once, like any other; its bind follows when the API says that all its
claims are bound. Until then the volumes are kept for the claims (``Storage.taken``), and the claims to the node (``Storage.chosen``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.effects import BindVolumes, ClaimVolume, ProvisionVolume
from treadle.core.kernel.volumes.choice import choice
from treadle.core.kernel.volumes.near import on
from treadle.core.kernel.volumes.needs import unbound, wanted

if TYPE_CHECKING:
    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model import NodeSpec, PodSpec

LONGEST = 600.0
"""Seconds that claims may take to be bound (kube-scheduler's ``bindTimeoutSeconds``)."""


@dataclass(slots=True)
class UnderWay:
    """The claims of one pod: ``volumes`` by claim, for those that get one that is there, and ``made`` for which one is made.

    ``seen`` are those of which the API has said what we decided, ``by`` the pods for which it is asked, where that is another one.
    """

    node: str
    until: float
    volumes: dict[str, str] = field(default_factory=dict)
    made: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    by: dict[str, str] = field(default_factory=dict)

    def asks(self, claim: str) -> bool:
        """Whether the API is asked for this pod what is to become of a claim."""
        return (claim in self.volumes or claim in self.made) and claim not in self.by


class Claims(dict[str, UnderWay]):
    """The claims that are being bound, by the uid of the pod, in the order of their ends."""

    def begin(self, storage: Storage, spec: PodSpec, node: NodeSpec, now: float, cause: int) -> BindVolumes:
        """Decide on the volumes of a pod that was placed on a node, and return the effect that asks the API for them."""
        volumes = spec.constraints.volumes
        assert volumes is not None
        waiting = unbound(volumes, storage)
        find = [claim for claim in waiting if storage.selected_node(claim) is None]
        chosen = choice(storage, [wanted(claim, storage) for claim in find], (), node).volumes
        self.pop(spec.uid, None)  # it ends after all others
        entry = self[spec.uid] = UnderWay(node.name, now + LONGEST)
        found: list[ClaimVolume] = []
        made: list[ProvisionVolume] = []
        for at, claim in enumerate(find):
            if at not in chosen:
                made.append(ProvisionVolume(claim.namespace, claim.name, claim.version))
                entry.made[claim.key] = None
                continue
            volume = storage.volumes[chosen[at]]
            entry.volumes[claim.key] = volume.name
            if volume.name not in storage.taken:
                found.append(ClaimVolume(volume.name, volume.version, claim.namespace, claim.name, claim.uid, claim.version))
        for claim in waiting:
            if claim not in find:
                entry.made[claim.key] = None
            by = next((uid for uid, other in self.items() if other is not entry and other.asks(claim.key)), None)
            if by is not None:
                entry.by[claim.key] = by
        for claim in find:
            if claim.key in entry.volumes:
                storage.take(entry.volumes[claim.key], claim)
            else:
                storage.choose(claim.key, node.name)
        return BindVolumes(spec.uid, spec.namespace, spec.name, node.name, tuple(found), tuple(made), cause)

    def end(self, storage: Storage, uid: str) -> None:
        """Keep nothing for a pod any more: its claims are bound, or it is not placed."""
        entry = self.pop(uid, None)
        if entry is None:
            return
        for claim, volume in entry.volumes.items():
            if any(other.volumes.get(claim) == volume for other in self.values()):
                storage.mark(claim)
            else:
                storage.release(volume)
        for claim in entry.made:
            if any(claim in other.made for other in self.values()):
                storage.mark(claim)
            else:
                storage.unchoose(claim)

    def standing(self, storage: Storage, spec: PodSpec, node: NodeSpec | None) -> str | None:
        """Return an empty text when all claims of a pod are bound, None while they are not, and else what has gone wrong."""
        entry, volumes = self[spec.uid], spec.constraints.volumes
        assert volumes is not None
        if node is None:
            return f"node {entry.node} is gone"
        done = True
        for name, _ in volumes.claims:
            key = f"{volumes.namespace}/{name}"
            claim = storage.claims.get(key)
            if claim is None or claim.deleting:
                return f'persistentvolumeclaim "{name}" is {"being deleted" if claim is not None else "gone"}'
            problem = self._taken_back(storage, entry, key)
            if problem:
                return problem
            if not (claim.volume and claim.bound):
                if entry.by.get(key, spec.uid) not in self and key not in entry.seen:
                    return f'another pod with persistentvolumeclaim "{name}" is not placed any more'
                done = False
                continue
            volume = storage.volumes.get(claim.volume)
            if volume is None:
                done = False
            elif volume.affinity is not None and not on(node, volume.affinity):
                return f'persistentvolume "{volume.name}" of persistentvolumeclaim "{name}" cannot be used on node {node.name}'
        return "" if done else None

    @staticmethod
    def _taken_back(storage: Storage, entry: UnderWay, key: str) -> str:
        """Return who has taken back what we decided for a claim, an empty text if nobody has."""
        claim = storage.claims[key]
        if key in entry.made:
            if claim.selected_node == entry.node:
                entry.seen.add(key)
            elif key in entry.seen and not claim.bound:
                return f'no volume could be made for persistentvolumeclaim "{claim.name}" on node {entry.node}'
        elif key in entry.volumes:
            volume = storage.volumes.get(entry.volumes[key])
            if volume is None:
                return f'persistentvolume "{entry.volumes[key]}" is gone'
            if volume.claim is not None and volume.claim[0] == key and volume.claim[1] in {"", claim.uid}:
                entry.seen.add(key)
            elif key in entry.seen or volume.claim is not None:
                return f'persistentvolume "{volume.name}" is not kept for persistentvolumeclaim "{claim.name}" any more'
        return ""
