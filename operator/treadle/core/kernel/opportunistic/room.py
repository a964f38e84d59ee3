"""What opportunistic pods may be given, node by node.

Where room goes by requests it is what no pod requests. Where it goes by usage it is, of the types with thresholds, what nobody uses below the allocation threshold, whatever is
requested. Either way what opportunistic pods were given already is taken off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.candidates import takes
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic import usage
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.model.opportunistic import WHOLE
from treadle.core.rules.opportunistic import thresholds
from treadle.core.units.amounts import beyond, least, minus
from treadle.core.units.resources import CPU, MEMORY, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.opportunistic.lines import Alike
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
        if state.scheduler.opportunistic.by_usage:
            self._by_usage()
        else:
            self._by_requests()
        self._none: dict[tuple[Shape, tuple[tuple[str, int], ...]], None] = {}
        self._none_beside: dict[tuple[Shape, tuple[tuple[str, int], ...]], None] = {}
        self._rows: dict[tuple[Shape, tuple[tuple[str, int], ...]], NDArray[np.intp]] = {}

    def _by_requests(self) -> None:
        state, columns = self._state, self._columns
        given = state.opportunistic.on_row
        for row, amounts in given.items():
            for position, value in enumerate(amounts):
                columns[position, row] -= min(value, UNBOUNDED)
        usual = state.scheduler.opportunistic.policy.most
        for row, spec in enumerate(state.nodes.specs):
            said = None if spec is None or spec.over_allocation is None else spec.over_allocation.most
            most = usual if said is None else said
            if most < WHOLE:
                have = state.nodes.allocatable[row]
                for position, amount in enumerate(given.get(row, (0,) * TYPES)):
                    columns[position, row] = min(
                        int(columns[position, row]), max(0, thresholds.part(most, have[position]) - amount)
                    )

    def _by_usage(self) -> None:
        """Work out the room of the nodes that have changed, or been sampled, since it was last worked out."""
        state, nodes = self._state, self._state.nodes
        known, now, nothing = state.opportunistic.usage.of, state.now, [0] * TYPES
        room = []
        for row, name in enumerate(nodes.names):
            one = known.get(name)
            sample = None if one is None else one.usage.sample
            if one is None or sample is None or now - sample.at > one.usage.old_after:
                room.append(nothing if nodes.specs[row] is None else of_row(state, row))
                continue
            if one.usage.pending:
                usage.notice(state, row, one.usage)
            key = (nodes.version[row], sample.at)
            if one.room is None or one.room[0] != key:
                one.room = (key, of_row(state, row))
            room.append(one.room[1])
        if room:
            self._columns[:TYPES] = np.array(room, dtype=np.int64).T

    def idle(self) -> NDArray[np.int64]:
        """Return the room by type and row."""
        idle: NDArray[np.int64] = self._columns[:TYPES].clip(0)
        return idle

    def total(self) -> Vector:
        """Return the room of all nodes."""
        return [int(value) for value in self._columns[:TYPES].clip(0).sum(axis=1)]

    def pick_beside(self, record: PodRecord, closed: NDArray[np.bool_]) -> int:
        """Return the row of the best node with room for a pod that is not closed to it, or -1; which are closed is always the same."""
        key = (record.shape, record.spec.opportunistic)
        if key in self._none_beside:
            return -1
        found = self.pick(record, inside=~closed)
        if found < 0:
            self._none_beside[key] = None
        return found

    def pick(self, record: PodRecord, shape: Shape | None = None, inside: NDArray[np.bool_] | None = None) -> int:
        """Return the row of the best node with room for a pod, or -1: as a pod of another shape, or among some nodes, where that is said."""
        state, shape, named, room = self._state, shape or record.shape, record.spec.opportunistic, self._columns
        key = (shape, named)
        if key in self._none:
            return -1
        nodes, (memory, cpu) = state.nodes, vector(named)
        rows = self._near(record, shape)
        among_all = len(rows)
        if inside is not None:
            rows = rows[inside[rows]]
        per_memory, per_cpu = nodes.per()
        scores = state.score(room[MEMORY, rows], room[CPU, rows], memory, cpu, per_memory[rows], per_cpu[rows])
        for at in np.argsort(scores, kind="stable"):
            if takes(nodes, int(rows[at]), shape):
                return int(rows[at])
        if inside is None and among_all == len(self._with_room(record, shape)):
            self._none[key] = None
        return -1

    def knows_of_none(self, kind: Alike, *, beside: bool) -> bool:
        """Whether it was found out already that no node has room for pods of a kind that are placed one by one, ``beside`` those that are closed to some."""
        _, shape, named, _, _ = kind.key
        if shape.gang != NO_GANG or shape.asked.batch is not None:
            return False
        return (shape, named) in self._none or (beside and (shape, named) in self._none_beside)

    def any_for(self, record: PodRecord) -> bool:
        """Whether a node may have room for a pod, by its description and its amounts."""
        return len(self._with_room(record, record.shape)) > 0

    def by_node(self, record: PodRecord) -> NDArray[np.int64]:
        """Return how many pods like one fit on each node at the most, each node by itself."""
        shape, room = record.shape, self._columns
        rows = self._near(record, shape)
        found = np.zeros(room.shape[1], dtype=np.int64)
        wanted = [*shape.demand, *enumerate(vector(record.spec.opportunistic))]
        counted = [room[position, rows] // value for position, value in wanted if value > 0]
        if shape.ports:
            found[rows] = 1
        else:
            found[rows] = np.min(counted, axis=0) if counted else len(self._state.pods) + 1
        return found

    def _near(self, record: PodRecord, shape: Shape) -> NDArray[np.intp]:
        """Return the nodes with room for a pod but those that its application's pods had to leave."""
        state, rows = self._state, self._with_room(record, shape)
        away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
        if not away:
            return rows
        known = state.nodes.row
        return rows[~np.isin(rows, [known[name] for name in away if name in known])]

    def _with_room(self, record: PodRecord, shape: Shape) -> NDArray[np.intp]:
        named, room, nodes = record.spec.opportunistic, self._columns, self._state.nodes
        key, (memory, cpu) = (shape, named), vector(named)
        rows = self._rows.get(key)
        if rows is None:
            rows = np.flatnonzero(nodes.mask(shape.constraints) & fitting(room, shape.demand))
            if nodes.only >= 0:
                rows = rows[rows == nodes.only]
        fitting_rows: NDArray[np.intp] = rows[(room[MEMORY, rows] >= memory) & (room[CPU, rows] >= cpu)]
        self._rows[key] = fitting_rows
        return fitting_rows

    def kept(self) -> NDArray[np.int64]:
        """Return the room as it is, for ``restore``."""
        return self._columns.copy()

    def restore(self, kept: NDArray[np.int64], pods: Iterable[PodRecord]) -> None:
        """Take back what some pods were given since the room was kept, and what was found out of them."""
        self._columns = kept
        for record in pods:
            for shape in (record.shape, record.shape.together):
                if shape is not None:
                    self._none.pop((shape, record.spec.opportunistic), None)
                    self._rows.pop((shape, record.spec.opportunistic), None)

    def rows(self, record: PodRecord) -> NDArray[np.intp]:
        """Return the nodes with room for a pod by amounts and descriptions."""
        return self._near(record, record.shape)

    def may_be_on(self, row: int, record: PodRecord) -> bool:
        """Whether a node admits a pod, and its application's pods did not have to leave it lately."""
        state = self._state
        away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
        return state.nodes.names[row] not in away and state.nodes.admits(row, record.shape.constraints)

    def takes(self, row: int, record: PodRecord) -> bool:
        """Whether a node takes a pod now for which it has room by amounts."""
        return self._state.nodes.only in {-1, row} and takes(self._state.nodes, row, record.shape)

    def has(self, row: int, amounts: Vector) -> bool:
        """Whether a node has room for some amounts."""
        return all(self._columns[position, row] >= amount for position, amount in enumerate(amounts))

    def take_back(self, row: int, record: PodRecord) -> None:
        """Count a pod that is not on a node after all. Nothing may have been picked since it was given."""
        for position, value in (*record.shape.demand, *enumerate(vector(record.spec.opportunistic))):
            self._columns[position, row] += value

    def give(self, row: int, record: PodRecord) -> None:
        """Count a pod that has come to a node."""
        for position, value in (*record.shape.demand, *enumerate(vector(record.spec.opportunistic))):
            self._columns[position, row] -= value


def of_row(state: State, row: int) -> Vector:
    """Return the room of a node where it goes by usage."""
    size, policy = usage.size_of(state, row), usage.policy_of(state, row)
    if usage.shut(state, row, policy):
        return [0] * TYPES
    held = minus(size, state.nodes.free[row][:TYPES])
    have = state.opportunistic.on_row.get(row, [0] * TYPES)
    found = thresholds.room(policy, size, held, have, usage.used(state, row))
    most = [thresholds.part(policy.most, amount) for amount in size]
    return [min(value, UNBOUNDED) for value in least(found, beyond(most, have))]


def largest(state: State, row: int) -> Vector:
    """Return what one opportunistic pod may be given of a node at the most, were nothing else there."""
    size, spec, settings = usage.size_of(state, row), state.nodes.specs[row], state.scheduler.opportunistic
    if not settings.by_usage:
        said = None if spec is None or spec.over_allocation is None else spec.over_allocation.most
        most = settings.policy.most if said is None else said
        return [thresholds.part(min(most, WHOLE), amount) for amount in size]
    policy = usage.policy_of(state, row)
    found = [thresholds.part(min(policy.most, WHOLE), amount) for amount in size]
    for position, threshold in policy.thresholds.items():
        found[position] = min(found[position], thresholds.part(threshold.allocation, size[position]))
    return found


def idle_room(state: State) -> NDArray[np.int64]:
    """Return the room of all nodes by type and row, to be shown: it is worked out once a step, however many ask."""
    kept = state.opportunistic
    key = (state.cause, state.now, state.nodes.clock)
    if kept.shown is None or kept.shown[0] != key:
        kept.shown = (key, Room(state).idle())
    return kept.shown[1]
