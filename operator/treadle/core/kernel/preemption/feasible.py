"""The node that is kept for a pod that fits nowhere: the one that lacks least for it, among those that may ever take it.

Of those that lack the same it is the one with the most pods: they are small, and some of them will have left sooner than a few
large ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.units.resources import PODS

if TYPE_CHECKING:
    from collections.abc import Collection

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes


class FeasibleNodes:
    """The nodes as they are at one moment, for several searches; what each lacks is a part of what it has."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._have = np.array(nodes.allocatable, dtype=np.int64).T
        self._hopeless: set[int] = set()

    def for_one_of(self, shape: Shape, but: Collection[int]) -> int:
        """Return the row of the node that lacks least for a pod of a shape and is none of ``but``; -1 if there is none, and then there is none later on."""
        if shape.id in self._hopeless:
            return -1
        nodes, have = self._nodes, self._have
        free = nodes.columns()[:, : len(nodes)]
        lacking = np.full(len(nodes), -np.inf)
        usable = nodes.mask(shape.constraints).copy()
        if shape.between is not None:
            usable &= shape.between.mask()
        for position, value in shape.demand:
            usable &= have[position] >= value
            lacking = np.maximum(lacking, (float(value) - free[position].astype(np.float64)) / np.maximum(have[position], 1))
        usable[list(but)] = False
        rows = np.flatnonzero(usable)
        pods = have[PODS, rows] - free[PODS, rows]
        for row in rows[np.lexsort((rows, -pods, lacking[rows]))].tolist():
            if not shape.ports or host_ports.free(shape.ports, nodes.ports[row]):
                return int(row)
        self._hopeless.add(shape.id)
        return -1
