"""Several placements that stand or fall together: placed one after the other, and then all of them taken back or all made for good."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.pods import prepared
from treadle.core.kernel.pods.lifecycle import assume
from treadle.core.kernel.tree.order import taken, unpark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.effects import Placed
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord


class Attempt:
    """Pods of an application that are counted on nodes, in their queues and by all rules, while their asks still have them."""

    def __init__(self, state: State, application: Application) -> None:
        self._state = state
        self._application = application
        self._placed: dict[int, tuple[Ask, PodRecord, int]] = {}
        self._number = 0
        self._walked: dict[Shape, None] = {}
        """Shapes whose orders of nodes have been walked meanwhile, and have lost nodes that are as good as before afterwards."""

    def pick(self, shape: Shape) -> int:
        """Return the best row for one pod more of a shape, or -1."""
        self._walked[shape] = None
        return pick(self._state.nodes, shape, self._state.score)

    def place(self, ask: Ask, record: PodRecord, row: int) -> int:
        """Count a pod of an ask on a node; returns the number of the placement."""
        state, shape = self._state, ask.shape
        state.nodes.take(row, shape.demand, shape.ports)
        record.node, record.part = row, self._application
        for tally in record.kind.tallies:
            tally.add(row, 1)
        prepared.enter(state, record)
        prepared.decide(state, record)
        self._charge(shape, 1)
        self._number += 1
        self._placed[self._number] = ask, record, row
        return self._number

    def lift(self, number: int) -> PodRecord:
        """Take the pod of one placement out again; returns it."""
        ask, record, row = self._placed.pop(number)
        self._uncount(ask, record, row)
        return record

    def placements(self) -> list[tuple[Ask, PodRecord, int]]:
        """Return what is placed, in the order in which it was."""
        return list(self._placed.values())

    def undo(self) -> None:
        """Take all of them out again, the last first."""
        state = self._state
        for ask, record, row in reversed(self._placed.values()):
            self._uncount(ask, record, row)
        for walked in self._walked:
            walked.candidates = None
            if walked.cells is not None:
                state.nodes.orders.drop(walked.cells.orders.each)  # other shapes go by them too
                walked.cells = None

    def commit(self) -> list[Placed]:
        """Place for good, and in the same order, what has been undone just now: each pod on the node on which it was tried."""
        effects = []
        each: dict[Ask, list[PodRecord]] = {}
        for ask, record, _ in self._placed.values():
            each.setdefault(ask, []).append(record)
        for ask, records in each.items():
            ask.pods.let_first(records)
        for ask, _, row in self._placed.values():
            unpark(ask)
            effects.append(assume(self._state, ask, row))
            taken(ask.application)
        return effects

    def _uncount(self, ask: Ask, record: PodRecord, row: int) -> None:
        state, shape = self._state, ask.shape
        self._charge(shape, -1)
        prepared.leave(state, record)
        for tally in record.kind.tallies:
            tally.add(row, -1)
        record.node, record.part = -1, None
        state.nodes.give(row, shape.demand, shape.ports)

    def _charge(self, shape: Shape, sign: int) -> None:
        for usage in self._application.ledgers:
            for position, value in shape.demand:
                usage[position] += sign * value
        quota = self._application.quota
        if quota is not None:
            quota.touched[quota.user] = None


@contextmanager
def tried(state: State, application: Application) -> Iterator[Attempt]:
    """Count pods for the time of a ``with`` block; by its end all is as before, and to others no node has improved."""
    attempt, end, slots = Attempt(state, application), state.nodes.improved.end, state.nodes.slots.end
    try:
        yield attempt
    finally:
        attempt.undo()
        state.nodes.improved.cut(end)
        state.nodes.slots.cut(slots)
