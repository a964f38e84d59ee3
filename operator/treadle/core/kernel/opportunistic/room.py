"""What opportunistic pods may be given, node by node.

Where room goes by requests it is what no pod requests. Where it goes by usage it is, of the types with thresholds, what nobody uses below the allocation threshold, whatever is
requested. Either way what opportunistic pods were given already is taken off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.candidates import takes
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.opportunistic import usage
from treadle.core.kernel.opportunistic.memory import TYPES, vector
from treadle.core.model.opportunistic import METRICS, WHOLE
from treadle.core.rules.opportunistic import thresholds
from treadle.core.units.amounts import beyond, least, minus
from treadle.core.units.resources import CPU, MEMORY, UNBOUNDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.units.resources import Vector


class Room:
    """What opportunistic pods may be given on every node, by column."""

    def __init__(self, state: State) -> None:
        self._state = state
        nodes = state.nodes
        count = len(nodes)
        self._columns = nodes.columns()[:, :count].copy()
        if state.scheduler.opportunistic.source == METRICS:
            self._by_usage()
        else:
            self._by_requests()
        self._none: dict[tuple[Shape, tuple[tuple[str, int], ...]], None] = {}
        self._rows: dict[tuple[Shape, tuple[tuple[str, int], ...]], NDArray[np.intp]] = {}

    def _by_requests(self) -> None:
        state, columns = self._state, self._columns
        given = state.opportunistic.on_row
        for row, amounts in given.items():
            for position, value in enumerate(amounts):
                columns[position, row] -= min(value, UNBOUNDED)
        most = state.scheduler.opportunistic.policy.most
        if most < WHOLE:
            for row, have in enumerate(state.nodes.allocatable):
                for position, amount in enumerate(given.get(row, (0,) * TYPES)):
                    columns[position, row] = min(
                        int(columns[position, row]), max(0, thresholds.part(most, have[position]) - amount)
                    )

    def _by_usage(self) -> None:
        state, nodes = self._state, self._state.nodes
        given, nothing = state.opportunistic.on_row, [0] * TYPES
        room = []
        for row, spec in enumerate(nodes.specs):
            if spec is None:
                room.append(nothing)
                continue
            size = usage.size_of(state, row)
            held = minus(size, nodes.free[row][:TYPES])
            policy, have = usage.policy_of(state, row), given.get(row, nothing)
            found = thresholds.room(policy, size, held, have, usage.used(state, row))
            most = [thresholds.part(policy.most, amount) for amount in size]
            room.append([min(value, UNBOUNDED) for value in least(found, beyond(most, have))])
        if room:
            self._columns[:TYPES] = np.array(room, dtype=np.int64).T

    def of_row(self, row: int) -> Vector:
        """Return the room of a node."""
        return [max(0, int(value)) for value in self._columns[:TYPES, row]]

    def total(self) -> Vector:
        """Return the room of all nodes."""
        return [int(value) for value in self._columns[:TYPES].clip(0).sum(axis=1)]

    def pick(self, record: PodRecord) -> int:
        """Return the row of the best node with room for a pod, or -1."""
        state, shape, named = self._state, record.shape, record.spec.opportunistic
        key = (shape, named)
        if key in self._none:
            return -1
        nodes, (memory, cpu) = state.nodes, vector(named)
        rows = self._rows.get(key)
        room = self._columns
        if rows is None:
            rows = np.flatnonzero(nodes.mask(shape.constraints) & fitting(room, shape.demand))
            if nodes.only >= 0:
                rows = rows[rows == nodes.only]
        rows = self._rows[key] = rows[(room[MEMORY, rows] >= memory) & (room[CPU, rows] >= cpu)]
        per_memory, per_cpu = nodes.per()
        scores = state.score(room[MEMORY, rows], room[CPU, rows], memory, cpu, per_memory[rows], per_cpu[rows])
        for at in np.argsort(scores, kind="stable"):
            if takes(nodes, int(rows[at]), shape):
                return int(rows[at])
        self._none[key] = None
        return -1

    def give(self, row: int, record: PodRecord) -> None:
        """Count a pod that has come to a node."""
        for position, value in (*record.shape.demand, *enumerate(vector(record.spec.opportunistic))):
            self._columns[position, row] -= value
