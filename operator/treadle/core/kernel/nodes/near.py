"""Which nodes a wish is for: those named or matching a term, weighted, and those in their racks.

Kept for each shape that has a wish, and made anew when descriptions of nodes changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.rules.affinity import holds
from treadle.core.model import RACK_LABEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import NodeSpec, Wish


class Near:
    """The rows of the nodes that a wish prefers (``weights`` beside ``preferred``) and of others in their racks (``rack_local``), of how many ``racks`` and ``known`` nodes."""

    __slots__ = ("edits", "known", "preferred", "rack_local", "racks", "weights", "wish")

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.edits = -1
        self.known = self.racks = 0
        self.preferred: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.weights: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.rack_local: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def follow(self, nodes: Nodes) -> None:
        """Look at the nodes again if any description changed."""
        if self.edits == nodes.edited.end:
            return
        self.edits = nodes.edited.end
        wish = self.wish
        weights = {}
        rows = range(len(nodes)) if wish.terms else [nodes.row[name] for name in wish.nodes if name in nodes.row]
        for row in rows:
            spec = nodes.specs[row]
            if spec is not None and (weight := _weight(wish, spec)):
                weights[row] = weight
        racks = {*wish.racks, *(_rack(nodes.specs[row]) for row in weights)} - {""}
        rack_local = [row for row, spec in enumerate(nodes.specs) if row not in weights and _rack(spec) in racks] if racks else []
        self.preferred = np.array(list(weights), dtype=np.int64)
        self.weights = np.array(list(weights.values()), dtype=np.int64)
        self.rack_local = np.array(rack_local, dtype=np.int64)
        self.known, self.racks = nodes.known(), len(racks)


def _weight(wish: Wish, spec: NodeSpec) -> int:
    """Return how much a node is preferred: by name more than by all terms together."""
    named = 1_000_000 if spec.name in wish.nodes else 0
    return named + sum(weight for weight, term in wish.terms if all(holds(one, spec) for one in term))


def _rack(spec: NodeSpec | None) -> str:
    return "" if spec is None else spec.labels.get(RACK_LABEL, "")
