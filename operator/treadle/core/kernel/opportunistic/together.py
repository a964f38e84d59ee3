"""Gangs of opportunistic pods: as many as a gang starts with are placed at once, or none is.

What holds for guaranteed gangs holds for them (``kernel.gangs``): who says how many start together, and that a gang which has begun is completed by those that
are there. They go one by one: what is left of a gang goes on, and the others come back when there is room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treadle.core.kernel.admission_checks import GANG_INCOMPLETE
from treadle.core.kernel.gangs.known import completed, minimum, placed, topology_of, unsaid
from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.pods import prepared
from treadle.core.kernel.pods.shaping import batch_of
from treadle.core.model import Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.opportunistic.room import Room
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord

NOT_TOGETHER: Final = "NotTogether"
"""The reason of an opportunistic pod that is to be placed in a way that opportunistic pods are not."""


class Together:
    """Which opportunistic pods that wait are placed at once, as things are in one step."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: dict[Gang, list[PodRecord]] | None = None
        self._known: dict[Gang, Wait | int] = {}
        self.failed: dict[Gang, None] = {}
        """Gangs that were tried and found no room."""

    def wait(self, record: PodRecord) -> Wait | None:
        """Return why a pod cannot be placed though there were room, or None."""
        if batch_of(self._state, record.spec) is not None:
            words = "opportunistic pods are not placed as a set (spec.placeTogether of the Application); guaranteed pods are"
            return Wait(NOT_TOGETHER, "", words)
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
        others = (one for one in self._of(record.shape.gang) if one is not record)
        return [record, *(one for one, _ in zip(others, range(count - 1), strict=False))]

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

    def _of(self, gang: Gang) -> Sequence[PodRecord]:
        if self._waiting is None:
            self._waiting = {}
            for record in self._state.opportunistic.waiting.values():
                if record.shape.gang != NO_GANG:
                    self._waiting.setdefault(record.shape.gang, []).append(record)
        return self._waiting.get(gang, ())

    def _lacks(self, record: PodRecord) -> Wait | int:
        gang = record.shape.gang
        found = self._known.get(gang)
        if found is None:
            assert record.application is not None
            found = self._known[gang] = self._look(record, record.application, gang)
        return found

    def _look(self, record: PodRecord, application: Application, gang: Gang) -> Wait | int:
        state, name = self._state, gang[1]
        key, _ = topology_of(state, record.spec)
        if key:
            words = f'gang "{name}" is to have one value of {key}: opportunistic gangs are not kept to one; guaranteed gangs are'
            return Wait(NOT_TOGETHER, "", words)
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


def rows_for(state: State, room: Room, unit: Sequence[PodRecord]) -> list[int] | None:
    """Return a node for each of some pods, counted in the room, or None, and then the room is as before.

    Each is counted on its node by all rules while the next is looked for, and taken out again.
    """
    nodes = state.nodes
    before, end, slots = room.kept(), nodes.improved.end, nodes.slots.end
    found: list[int] = []
    try:
        for record in unit:
            row = room.pick(record)
            if row < 0:
                room.restore(before, unit)
                return None
            room.give(row, record)
            found.append(row)
            _count(state, record, row)
    finally:
        for record, row in reversed([*zip(unit, found, strict=False)]):
            _uncount(state, record, row)
        nodes.improved.cut(end)
        nodes.slots.cut(slots)
    return found


def _count(state: State, record: PodRecord, row: int) -> None:
    state.nodes.take(row, record.shape.demand, record.shape.ports)
    record.node = row
    for tally in record.kind.tallies:
        tally.add(row, 1)
    if record.shape.prepared:
        prepared.enter(state, record)
        prepared.decide(state, record)


def _uncount(state: State, record: PodRecord, row: int) -> None:
    prepared.leave(state, record)
    for tally in record.kind.tallies:
        tally.add(row, -1)
    record.node = -1
    state.nodes.give(row, record.shape.demand, record.shape.ports)
