"""Gangs of opportunistic pods: as many as a gang starts with are placed at once, or none is.

What holds for guaranteed gangs holds for them (``kernel.gangs``): who says how many start together and in which topology domain, and that a gang which has begun is
completed by those that are there. They go one by one: the others come back when there is room, and where that takes too long what is left is given up
(``kernel.gangs.partial``).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import GANG_INCOMPLETE
from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.gangs.domains import fullest_first
from treadle.core.kernel.gangs.ever import possible
from treadle.core.kernel.gangs.known import completed, minimum, placed, unsaid
from treadle.core.kernel.gangs.partial import note_partial
from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.room import Room
from treadle.core.kernel.opportunistic.usage import policy_of, size_of
from treadle.core.kernel.pods import prepared
from treadle.core.model import Wait
from treadle.core.model.opportunistic import WHOLE
from treadle.core.rules.opportunistic.thresholds import part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord


class Together:
    """Which opportunistic pods that wait are placed at once, as things are in one step."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: dict[Gang, list[PodRecord]] | None = None
        self._known: dict[Gang, Wait | int] = {}
        self._room: Room | None = None
        self._could: dict[tuple[Shape, tuple[tuple[str, int], ...]], bool] = {}
        self.failed: dict[Gang, None] = {}
        """Gangs that were tried and found no room."""

    def wait(self, record: PodRecord) -> Wait | None:
        """Return why a pod cannot be placed though there were room, or None."""
        if record.shape.gang == NO_GANG:
            return None
        found = self._lacks(record)
        return found if isinstance(found, Wait) else None

    def starts_with(self, record: PodRecord) -> int:
        """Return how many pods have to be placed at once with a pod that does not wait for others, itself included."""
        found = 0 if record.shape.gang == NO_GANG else self._lacks(record)
        return max(1, found) if isinstance(found, int) else 1

    def unit(self, record: PodRecord) -> list[PodRecord]:
        """Return the pods that are placed at once with a pod, itself included and first."""
        count = self.starts_with(record)
        if count == 1:
            return [record]
        others = [one for one in self._of(record.shape.gang) if one is not record]
        if len(others) >= count:  # one that no node could have does not keep back the rest
            others.sort(key=lambda one: not self._possible(one))
        return [record, *others[: count - 1]]

    def started(self, record: PodRecord) -> None:
        """Take note that all with whom a pod had to be placed have been."""
        gang = record.shape.gang
        if gang != NO_GANG:
            self._waiting = None
            self._known.pop(gang, None)
            application = record.application
            assert application is not None
            least = minimum(self._state, application, gang[1])
            if least is not None and len(placed(application, gang[1])) >= least:
                completed(self._state, gang)

    def found_no_room(self, record: PodRecord) -> None:
        """Take note that there is no room for all with whom a pod has to be placed: if others of its gang are on nodes their time begins."""
        gang, application = record.shape.gang, record.application
        if gang != NO_GANG and application is not None and self._lacks(record) != 0:
            note_partial(self._state, application, gang)

    def most_at_once(self, record: PodRecord) -> int:
        """Return how many pods that wait of the gang of one have room as things are, at the most, each kind by itself: in one domain, where that is required."""
        if self._room is None:
            self._room = Room(self._state)
        asked, nodes = record.shape.asked.together, self._state.nodes
        mine = self._of(record.shape.gang)
        kinds = Counter((one.shape, one.spec.opportunistic) for one in mine)
        each = {(one.shape, one.spec.opportunistic): one for one in mine}
        counts = [(self._room.by_node(each[kind]), count) for kind, count in kinds.items()]
        if asked is None or not asked[1]:
            return sum(min(int(by_node.sum()), count) for by_node, count in counts)
        column = nodes.topologies.of(asked[0], nodes.specs).column(len(nodes))
        inside = column != NOWHERE
        if not inside.any():
            return 0
        found = [np.minimum(np.bincount(column[inside], weights=by_node[inside]), count) for by_node, count in counts]
        return int(np.sum(found, axis=0).max())

    def _possible(self, record: PodRecord) -> bool:
        """Whether a node could have a pod if all of ours left."""
        key = (record.shape, record.spec.opportunistic)
        found = self._could.get(key)
        if found is None:
            found = self._could[key] = _could_have(self._state, *key)
        return found

    def _of(self, gang: Gang) -> Sequence[PodRecord]:
        if self._waiting is None:
            self._waiting = self._state.opportunistic.lines.by_gang()
        return self._waiting.get(gang, ())

    def _lacks(self, record: PodRecord) -> Wait | int:
        gang = record.shape.gang
        found = self._known.get(gang)
        if found is None:
            assert record.application is not None
            found = self._known[gang] = self._look(record.application, gang)
        return found

    def _look(self, application: Application, gang: Gang) -> Wait | int:
        state, name = self._state, gang[1]
        least = minimum(state, application, name)
        if least is None:
            return Wait(GANG_INCOMPLETE, name, unsaid(state, application, name))
        on_nodes, there = len(placed(application, name)), len(self._of(gang))
        need = least - on_nodes
        if there < need and gang in state.gangs.begun:
            need = there
        if there < need:
            words = (
                f'gang "{name}" starts with {least} pods: {on_nodes} are placed and {there} wait, the others are not there yet'
            )
            return Wait(GANG_INCOMPLETE, name, words)
        return max(need, 0)


def _could_have(state: State, shape: Shape, wanted: tuple[tuple[str, int], ...]) -> bool:
    nodes, amounts = state.nodes, vector(wanted)
    for row in np.flatnonzero(nodes.mask(shape.constraints)).tolist():
        most = min(policy_of(state, row).most, WHOLE)
        if all(part(most, have) >= value for have, value in zip(size_of(state, row), amounts, strict=True)):
            return possible(state, shape)
    return False


def rows_for(state: State, room: Room, unit: Sequence[PodRecord]) -> list[int] | None:
    """Return a node for each of some pods that are placed at once, counted in the room, or None, and then the room is as before.

    Where their gang is to have one value of a label the domains are tried that may have room, that which they fill best first; once it is on nodes it has its domain.
    """
    asked = unit[0].shape.asked.together
    if asked is not None:
        topology, required = asked
        for inside in _domains(state, room, unit, topology):
            found = _in_place(state, room, unit, inside, together=True)
            if found is not None:
                return found
        if required:
            return None
    return _in_place(state, room, unit)


def _domains(state: State, room: Room, unit: Sequence[PodRecord], topology: str) -> Iterator[NDArray[np.bool_] | None]:
    """Yield the nodes of each domain to be tried; None where others of the gang say which it is."""
    first = unit[0]
    if first.application is not None and placed(first.application, first.shape.gang[1]):
        yield None
        return
    column = state.nodes.topologies.of(topology, state.nodes.specs).column(len(state.nodes))
    kinds = Counter((record.shape, record.spec.opportunistic) for record in unit)
    each = {(record.shape, record.spec.opportunistic): record for record in unit}
    for domain in fullest_first(state, topology, [(room.by_node(each[kind]), count) for kind, count in kinds.items()]):
        yield column == domain


def _in_place(
    state: State,
    room: Room,
    unit: Sequence[PodRecord],
    inside: NDArray[np.bool_] | None = None,
    *,
    together: bool = False,
) -> list[int] | None:
    """Return a node for each pod, or None: with ``together`` in the domain of the others of the gang, the first one among the nodes that are given.

    Each is counted on its node by all rules while the next is looked for, and taken out again.
    """
    nodes = state.nodes
    before, end, slots = room.kept(), nodes.improved.end, nodes.slots.end
    found: list[int] = []
    try:
        for record in unit:
            row = room.pick(record, record.shape.together if together else None, None if found else inside)
            if row < 0:
                room.restore(before, unit)
                return None
            room.give(row, record)
            found.append(row)
            count(state, record, row)
    finally:
        for record, row in reversed([*zip(unit, found, strict=False)]):
            uncount(state, record, row)
        nodes.improved.cut(end)
        nodes.slots.cut(slots)
    return found


def count(state: State, record: PodRecord, row: int) -> None:
    """Count a pod on a node by all rules while others are looked for."""
    state.nodes.take(row, record.shape.demand, record.shape.ports)
    record.node = row
    for tally in record.kind.tallies:
        tally.add(row, 1)
    if record.shape.prepared:
        prepared.enter(state, record)
        prepared.decide(state, record)


def uncount(state: State, record: PodRecord, row: int) -> None:
    """Take a pod out again."""
    prepared.leave(state, record)
    for tally in record.kind.tallies:
        tally.add(row, -1)
    record.node = -1
    state.nodes.give(row, record.shape.demand, record.shape.ports)
