"""Which node a shape whose pods prefer something goes to next: the one with the most points (``preferences``), over all nodes that can take the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.preferences import MOST
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fitting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.preferences import Preferences
    from treadle.core.kernel.nodes.scores import Score
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes


def pick(nodes: Nodes, shape: Shape, preferences: Preferences, score: Score) -> int:
    """Return the row of the node with the most points that can take one pod of a shape now, or -1. Nothing is taken."""
    rows = np.flatnonzero(feasible(nodes, shape))
    count = len(nodes)
    if not len(rows):
        return -1
    among = None if len(rows) == count else rows
    total = preferences.points(among)
    columns, (per_memory, per_cpu) = nodes.columns(), nodes.per()
    # Half of both fractions is from 0 to 1, so resources are worth up to 100 points like everything else.
    left = score(columns[0, :count], columns[1, :count], shape.memory, shape.cpu, per_memory, per_cpu)
    total -= (MOST / 2 * nodes.weights.resources) * left
    return int(total.argmax()) if among is None else int(rows[total.take(rows).argmax()])


def feasible(nodes: Nodes, shape: Shape) -> NDArray[np.bool_]:
    """Return which nodes can take one pod of a shape now."""
    usable = nodes.mask(shape.constraints) & fitting(nodes.columns()[:, : len(nodes)], shape.demand)
    if shape.between is not None:
        usable &= shape.between.mask()
    if shape.ports:
        for row in np.flatnonzero(usable).tolist():
            if nodes.ports[row] and not host_ports.free(shape.ports, nodes.ports[row]):
                usable[row] = False
    return usable
