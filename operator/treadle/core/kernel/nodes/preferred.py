"""Which nodes a shape would like: those named or matching a term, weighted, and those in their racks.

Kept for each shape that has a wish, and made anew when descriptions of nodes changed. The best of such nodes is found over the columns,
at a cost that grows with how many are liked; shapes without a wish never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.affinity import holds
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.model import RACK_LABEL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.scores import Score
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import NodeSpec, Wish


class Near:
    """The rows of the nodes that a wish likes (``weights`` beside ``liked``) and of others in their racks (``around``), of how many ``racks`` and ``known`` nodes."""

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
    """Return how much a node is liked: by name more than by all terms together."""
    named = 1_000_000 if spec.name in wish.nodes else 0
    return named + sum(weight for weight, term in wish.terms if all(holds(one, spec) for one in term))


def _rack(spec: NodeSpec | None) -> str:
    return "" if spec is None else spec.labels.get(RACK_LABEL, "")


def best_preferred(nodes: Nodes, shape: Shape, near: Near, score: Score) -> int:
    """Return the row of the most liked node that can take a pod now, the best by score among equals, or -1."""
    return _best(nodes, shape, near.preferred, near.weights, score)


def best_rack_local(nodes: Nodes, shape: Shape, near: Near, score: Score) -> int:
    """Return the row of the best node in the racks that are liked, or -1."""
    return _best(nodes, shape, near.rack_local, np.zeros(len(near.rack_local), dtype=np.int64), score)


def _best(nodes: Nodes, shape: Shape, rows: NDArray[np.int64], weights: NDArray[np.int64], score: Score) -> int:
    if nodes.only >= 0:
        here = rows == nodes.only
        rows, weights = rows[here], weights[here]
    if not len(rows):
        return -1
    free = nodes.columns()[:, rows]
    usable = nodes.mask(shape.constraints)[rows] & fitting(free, shape.demand)
    rows, weights, free = rows[usable], weights[usable], free[:, usable]
    if not len(rows):
        return -1
    per_memory, per_cpu = nodes.per()
    scores = score(free[0], free[1], shape.memory, shape.cpu, per_memory[rows], per_cpu[rows])
    for at in np.lexsort((rows, scores, -weights)).tolist():
        row = int(rows[at])
        if not shape.ports or host_ports.free(shape.ports, nodes.ports[row]):
            return row
    return -1
