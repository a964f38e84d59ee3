"""Where a pod's volumes are, and where those that it still wants can be found or made (plugin VolumeBinding).

A volume that is bound says by its node affinity where it can be used. A claim that waits for its first consumer gets the smallest free volume
that does and can be used on the node, or one is made there, if its class can make any for the node and has room for it. A claim for
which one is being made lets its pod to no other node. What can make it pass: a volume, a class or a capacity that comes or changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.volumes.choice import NOT_FOUND, choice
from treadle.core.kernel.volumes.near import anchors, on
from treadle.core.kernel.volumes.rule import ALSO, VolumeRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.kernel.volumes.in_use import InUse
    from treadle.core.kernel.volumes.rule import Helped
    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model import NodeSpec
    from treadle.core.model.volumes import NodeTerms, VolumeNeeds

ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
FEW = 64
"""Nodes that are asked one by one; what more of them say of a volume is kept."""


class VolumeBinding(VolumeRule):
    """For pods with claims."""

    __slots__ = ("_at", "_bound", "_known")

    def __init__(self, needs: VolumeNeeds, storage: Storage, in_use: InUse, nodes: Nodes, helped: Helped) -> None:
        super().__init__(needs, storage, in_use, nodes, helped)
        self._bound: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._at = (-1, -1)
        self._known: dict[int, str] = {}
        """What was found for claims that want volumes, by row."""

    def follow(self) -> None:
        """Be up to date with the nodes."""
        at = (self.nodes.edited.end, len(self.nodes))
        if at != self._at:
            self._at = at
            self._bound = self._reached()
            self._known.clear()

    def where(self) -> NDArray[np.bool_] | None:
        """Return the nodes on which the bound volumes can be used."""
        if not self.needs.bound and not self.needs.selected:
            return None
        self.follow()
        mask = self._bound
        for name in self.needs.selected:
            mask = mask & self._only(name)
        return mask

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        needs = self.needs
        bound = not needs.missing and bool(self._bound[row])
        reason = ELSEWHERE if not bound and not needs.missing else ""
        if needs.find or needs.make:
            wants = self._known.get(row)
            if wants is None:
                wants = self._known[row] = self._wants(row)
            reason = ALSO.join(filter(None, (reason, wants)))
        return ALSO.join(filter(None, (reason, MISSING if needs.missing else "")))

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass why."""
        needs = self.needs
        if needs.find or needs.make or needs.missing:
            return super().refusals(count)
        return [(ELSEWHERE, ~self._bound[:count])]

    def anywhere(self) -> None:
        """Take note that volumes may be found, or made, where they could not."""
        if self.needs.find or self.needs.make:
            self._known.clear()
            self.help_anywhere()

    def promised(self, claim: str) -> None:
        """Take note that it has changed which volume a claim gets, or where it is made: other pods with it go by that at once."""
        if any(one.claim == claim for one in self.needs.find):
            self._known.clear()
            self.help_anywhere()

    def taken(self) -> None:
        """Take note that a volume is free no longer: what was found may have been that one."""
        if self.needs.find:
            self._known.clear()

    def _wants(self, row: int) -> str:
        """Return why the claims cannot get their volumes on a node, or an empty text."""
        node, needs = self.nodes.specs[row], self.needs
        if node is None or any(name != node.name for name in needs.selected):
            return NOT_FOUND
        return choice(self.storage, needs.find, needs.make, node).reason

    def _only(self, name: str) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.nodes), dtype=np.bool_)
        row = self.nodes.row.get(name)
        if row is not None:
            mask[row] = True
        return mask

    def _reached(self) -> NDArray[np.bool_]:
        """Return the nodes on which all bound volumes can be used."""
        mask = np.ones(len(self.nodes), dtype=np.bool_)
        for terms in self.needs.bound:
            mask &= self._reach(terms)
        return mask

    def _reach(self, terms: NodeTerms) -> NDArray[np.bool_]:
        nodes, found = self.nodes, anchors(terms)
        count = len(nodes)
        rows: set[int] = set()
        if found is not None:
            for one in found:
                topology = nodes.topologies.of(one.key, nodes.specs)
                numbers = [topology.number(value) for value in one.values]
                rows.update(np.flatnonzero(np.isin(topology.column(count), numbers)).tolist())
        if found is None or len(rows) > FEW:

            def reaches(node: NodeSpec) -> bool:
                return on(node, terms)

            return nodes.passing(("volume", terms), reaches)
        mask = np.zeros(count, dtype=np.bool_)
        for row in rows:
            spec = nodes.specs[row]
            mask[row] = spec is not None and on(spec, terms)
        return mask
