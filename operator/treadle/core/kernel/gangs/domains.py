"""Which domain of a topology a gang goes to: the one that it fills best, of those that have room for all that starts.

Domains are tried in the order of what would be left in them, the least first, so that large ones stay whole for large gangs
(Kueue's topology-aware scheduling goes by best fit as well). A count by columns leaves out those that cannot have room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.nodes.candidates import takes
from treadle.core.kernel.nodes.rules.resources import fitting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State

ANY = -1
"""In place of a domain: wherever the others of the gang are."""
MOST_TRIED = 64
"""Domains that are tried for one gang in one pass."""


def room_by_node(state: State, shape: Shape) -> NDArray[np.int64]:
    """Return how many pods of a shape fit on each node at the most, each node by itself."""
    nodes = state.nodes
    columns = nodes.columns()[:, : len(nodes)]
    usable = nodes.mask(shape.constraints) & fitting(columns, shape.demand)
    counted = [columns[position] // value for position, value in shape.demand if value > 0]
    if shape.ports:
        fits = np.ones(len(nodes), dtype=np.int64)
    elif counted:
        fits = np.min(counted, axis=0)
    else:
        fits = np.full(len(nodes), len(state.pods) + 1, dtype=np.int64)
    return np.where(usable, fits, 0)


def room_for(state: State, shape: Shape) -> int:
    """Return how many pods of a shape fit at the most."""
    return int(room_by_node(state, shape).sum())


def best_first(state: State, topology: str, share: list[tuple[Shape, int]]) -> list[int]:
    """Return the domains that may have room for so many pods of each shape, those in which least is left first."""
    return fullest_first(state, topology, ((room_by_node(state, shape), count) for shape, count in share))


def fullest_first(state: State, topology: str, share: Iterable[tuple[NDArray[np.int64], int]]) -> list[int]:
    """Return the domains that may have room for so many pods of each kind, of which it is told how many fit on each node; those in which least is left first."""
    column = state.nodes.topologies.of(topology, state.nodes.specs).column(len(state.nodes))
    inside = column != NOWHERE
    if not inside.any():
        return []
    size = int(column.max()) + 1
    left = np.zeros(size, dtype=np.int64)
    fits = np.bincount(column[inside], minlength=size) > 0
    for by_node, count in share:
        room = np.bincount(column[inside], weights=by_node[inside], minlength=size).astype(np.int64)
        fits &= room >= count
        left += room - count
    found = np.flatnonzero(fits)
    return [int(domain) for domain in found[np.lexsort((found, left[found]))][:MOST_TRIED]]


def most_now(state: State, shape: Shape, topology: str = "") -> int:
    """Return how many pods of a shape fit at the most by what is around nodes now; with a topology in the domain that has most room for it."""
    room = room_by_node(state, shape)
    if shape.between is not None:
        room = np.where(shape.between.mask(), room, 0)
    if not topology:
        return int(room.sum())
    column = state.nodes.topologies.of(topology, state.nodes.specs).column(len(state.nodes))
    inside = column != NOWHERE
    return int(np.bincount(column[inside], weights=room[inside]).max()) if inside.any() else 0


def pick_in(state: State, shape: Shape, topology: str, domain: int) -> int:
    """Return the row of the best node of a domain that can take one pod of a shape now, or -1."""
    nodes = state.nodes
    column = nodes.topologies.of(topology, nodes.specs).column(len(nodes))
    columns = nodes.columns()[:, : len(nodes)]
    rows = np.flatnonzero((column == domain) & nodes.mask(shape.constraints) & fitting(columns, shape.demand))
    if nodes.only >= 0:
        rows = rows[rows == nodes.only]
    per_memory, per_cpu = nodes.per()
    scores = state.score(columns[0, rows], columns[1, rows], shape.memory, shape.cpu, per_memory[rows], per_cpu[rows])
    return next((int(row) for row in rows[np.lexsort((rows, scores))] if takes(nodes, int(row), shape)), -1)
