"""Where a whole gang could be once others have left: the nodes for which it lacks least, by all rules as they would be then.

Pods of the gang are counted on nodes one after the other while it is looked, so rules between them hold among the rooms as well, and
what a node can have at all bounds how many of them may be on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.attempt import tried
from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.units.resources import PODS, held

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.gangs.start import Lacking
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask

MOST_DOMAINS = 4
"""Domains of a topology in which rooms are looked for, those with most nodes' worth of room first."""


class Rooms:
    """The nodes as they are, and what of each is taken by the rooms that are found: ``most[type, node]`` is what they can have at all, beside others' pods."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._have = np.maximum(np.array(state.nodes.allocatable, dtype=np.int64).T, 1)
        self._most = np.array(state.nodes.allocatable, dtype=np.int64).T
        for row in range(len(state.nodes)):
            others = state.nodes.others_on(row)
            if others is not None:
                self._most[:, row] -= np.array(held(others), dtype=np.int64)
        for hold in state.preemption.holds:
            for position, value in hold.shape.demand:
                self._most[position, hold.row] -= value

    def take(self, row: int, shape: Shape) -> None:
        """Take one more room for a pod of a shape."""
        for position, value in shape.demand:
            self._most[position, row] -= value

    def give(self, row: int, shape: Shape) -> None:
        """Give one back."""
        for position, value in shape.demand:
            self._most[position, row] += value

    def ever(self, shape: Shape) -> NDArray[np.bool_]:
        """Return the nodes that could have one more pod of a shape if all others left."""
        usable = self._state.nodes.mask(shape.constraints).copy()
        for position, value in shape.demand:
            usable &= self._most[position] >= value
        return usable

    def least_lacking(self, shape: Shape, inside: NDArray[np.bool_] | None = None) -> int:
        """Return the row of the node that lacks least for one pod of a shape, among equals that with the most pods; -1 if none could ever have it."""
        nodes = self._state.nodes
        usable = self.ever(shape)
        if shape.between is not None:
            usable &= shape.between.mask()
        if inside is not None:
            usable &= inside
        rows = np.flatnonzero(usable)
        if not len(rows):
            return -1
        free = nodes.columns()[:, rows]
        lacking = np.full(len(rows), -np.inf)
        for position, value in shape.demand:
            short = (float(value) - free[position]) / self._have[position, rows]
            lacking = np.maximum(lacking, short)
        for at in np.lexsort((rows, free[PODS], lacking)).tolist():
            row = int(rows[at])
            if not shape.ports or host_ports.free(shape.ports, nodes.ports[row]):
                return row
        return -1


def rooms(state: State, application: Application, lacking: Lacking) -> list[tuple[Ask, int]] | None:
    """Return a node for each pod that a gang lacks, where it fits or will when others have left; None if there are none."""
    known = Rooms(state)
    together = lacking.share[0][0].shape.asked.together
    if together is not None and together[1]:
        for inside in _largest_domains(state, known, lacking, together[0]):
            found = _rooms(state, application, lacking, known, inside)
            if found is not None:
                return found
        return None
    return _rooms(state, application, lacking, known, None)


def _rooms(
    state: State, application: Application, lacking: Lacking, known: Rooms, inside: NDArray[np.bool_] | None
) -> list[tuple[Ask, int]] | None:
    found: list[tuple[Ask, int]] = []
    with tried(state, application) as attempt:
        for ask, record in lacking.pods:
            row = attempt.pick(ask.shape) if inside is None else -1
            if row < 0:
                row = known.least_lacking(ask.shape, inside)
            if row < 0:
                break
            attempt.place(ask, record, row)
            known.take(row, ask.shape)
            found.append((ask, row))
    for ask, row in found:
        known.give(row, ask.shape)
    return found if len(found) == sum(count for _, count in lacking.share) else None


def _largest_domains(state: State, known: Rooms, lacking: Lacking, topology: str) -> list[NDArray[np.bool_]]:
    """Return the domains, as masks of nodes, in which most nodes could have a pod of the gang."""
    column = state.nodes.topologies.of(topology, state.nodes.specs).column(len(state.nodes))
    usable = known.ever(lacking.share[0][0].shape) & (column != NOWHERE)
    if not usable.any():
        return []
    counts = np.bincount(column[usable])
    order = np.argsort(-counts, kind="stable")[:MOST_DOMAINS]
    return [column == domain for domain in order.tolist() if counts[domain]]
