"""The best of the nodes that a shape prefers, or of those in their racks.

It is found over the columns, at a cost that grows with how many nodes are preferred; shapes without a wish never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fitting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.nodes.scores import Score
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes


def best_preferred(nodes: Nodes, shape: Shape, near: Near, score: Score) -> int:
    """Return the row of the most preferred node that can take a pod now, the best by score among equals, or -1."""
    return _best(nodes, shape, near.preferred, near.weights, score)


def best_rack_local(nodes: Nodes, shape: Shape, near: Near, score: Score) -> int:
    """Return the row of the best node in the racks of preferred nodes, or -1."""
    return _best(nodes, shape, near.rack_local, np.zeros(len(near.rack_local), dtype=np.int64), score)


def _best(nodes: Nodes, shape: Shape, rows: NDArray[np.int64], weights: NDArray[np.int64], score: Score) -> int:
    if nodes.only >= 0:
        here = rows == nodes.only
        rows, weights = rows[here], weights[here]
    if not len(rows):
        return -1
    free = nodes.columns()[:, rows]
    usable = nodes.mask(shape.constraints)[rows] & fitting(free, shape.demand)
    if shape.between is not None:
        usable &= shape.between.mask()[rows]
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
