"""Which volumes the claims of a pod get on a node: found among those that are for nobody, or made there (``volumeBinder.FindPodVolumes``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.volumes.near import on
from treadle.core.kernel.volumes.needs import matches
from treadle.core.model import selects
from treadle.core.model.volumes import NO_PROVISIONER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model import NodeSpec
    from treadle.core.model.volumes import VolumeSpec, Wanted

NOT_FOUND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"


class Choice(NamedTuple):
    """``volumes`` for the claims that one is found for, by their place among those it was looked for; or why the node will not do."""

    volumes: dict[int, str]
    reason: str


def choice(storage: Storage, find: Sequence[Wanted], make: Sequence[Wanted], node: NodeSpec) -> Choice:
    """Return which volumes are bound on a node for the claims ``find``; the rest of them, and ``make``, are made there."""
    volumes: dict[int, str] = {}
    left = list(make)
    for at, claim in enumerate(find):
        chosen = storage.chosen.get(claim.claim)
        if chosen is not None:  # another pod with the claim has been placed
            if chosen != node.name:
                return Choice({}, NOT_FOUND)
            left.append(claim)
            continue
        volume = _matching(storage, claim, node, volumes)
        if volume is None:
            left.append(claim)
        else:
            volumes[at] = volume.name
    for claim in left:
        reason = _not_made(storage, claim, node)
        if reason:
            return Choice({}, reason)
    return Choice(volumes, "")


def _matching(storage: Storage, claim: Wanted, node: NodeSpec, chosen: dict[int, str]) -> VolumeSpec | None:
    """Return the volume that is meant for a claim, else the smallest one that does (``FindMatchingVolume``)."""
    for volume in storage.meant_for(claim.claim) if claim.claim else ():
        owner = storage.owner_of(volume)
        mine = owner is not None and owner[0] == claim.claim and owner[1] in {"", claim.uid}
        if mine and volume.storage_class == claim.storage_class and matches(volume, claim) and volume.name not in chosen.values():
            return volume if _reaches(volume, node) else None
    best: tuple[int, str] | None = None
    for volume in storage.free_near(claim.storage_class, node):
        if (
            (best is None or (volume.size, volume.name) < best)
            and matches(volume, claim)
            and (not claim.selector or selects(claim.selector, dict(volume.labels)))
            and set(claim.modes) <= set(volume.modes)
            and _reaches(volume, node)
            and volume.name not in chosen.values()
        ):
            best = (volume.size, volume.name)
    return None if best is None else storage.volumes[best[1]]


def _reaches(volume: VolumeSpec, node: NodeSpec) -> bool:
    return volume.affinity is None or on(node, volume.affinity)


def _not_made(storage: Storage, claim: Wanted, node: NodeSpec) -> str:
    """Return why no volume can be made for a claim on a node, an empty text if one can (``checkVolumeProvisions``)."""
    found = storage.classes.get(claim.storage_class)
    if found is None or found.provisioner in {"", NO_PROVISIONER}:
        return NOT_FOUND
    if found.topologies and not on(node, found.topologies):
        return NOT_FOUND
    driver = storage.drivers.get(found.provisioner)
    size = claim.size
    if size is None or driver is None or not driver.capacity:
        return ""
    enough = any(
        room.largest is not None and room.largest >= size and selects(room.nodes, node.labels)
        for room in storage.room_near(claim.storage_class, node)
    )
    return "" if enough else NO_SPACE
