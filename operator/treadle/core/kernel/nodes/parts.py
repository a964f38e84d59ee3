"""Nodes parted by the topologies with few domains: cells, in each of which all nodes are in the same domains of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.between.topologies import Topology

MOST_CELLS = 16
"""Cells up to which nodes are parted by a topology: each is asked for every pod."""


class Parts:
    """How nodes are parted by some topologies: ``coarse`` are those that part them, ``of[row]`` is the number of a row's cell, ``firsts`` a row of each."""

    __slots__ = ("coarse", "firsts", "of")

    def __init__(self, topologies: Iterable[Topology], count: int) -> None:
        cells = np.zeros(count, dtype=np.int64)
        self.coarse: dict[Topology, None] = {}
        for topology in sorted(topologies, key=lambda one: one.size):
            _, finer = np.unique(cells * (topology.size + 1) + topology.column(count), return_inverse=True)
            if finer.max(initial=0) >= MOST_CELLS:
                break
            cells, self.coarse[topology] = finer, None
        self.of: NDArray[np.int64] = cells
        self.firsts: list[int] = np.unique(cells, return_index=True)[1].tolist()
