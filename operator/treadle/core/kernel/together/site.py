"""The nodes as they are, with what an attempt to place a set has counted on them: where the walk of the placement processor goes."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fits
from treadle.core.kernel.tree.limits import exceeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.attempt import Attempt
    from treadle.core.kernel.state import State
    from treadle.core.kernel.together.guards import Guards
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
    from treadle.core.rules.constraints.processor import Request

Placement = tuple["Ask", "PodRecord", int]
"""A pod of an ask, and its row."""


class Site:
    """Where the pods of a set go: the first so many of each ask."""

    def __init__(self, application: Application, state: State, attempt: Attempt, counts: dict[Ask, int], guards: Guards) -> None:
        self._limiting = application.limiting
        self._state = state
        self._attempt = attempt
        self._counts = counts
        self.guards = guards
        self._left: dict[Ask, deque[PodRecord]] = {}
        self._there: dict[tuple[Ask, int], deque[int]] = {}
        self.full: dict[Ask, Queue] = {}
        """Asks that found a queue full when they were last tried."""
        self._fill()

    def _fill(self) -> None:
        self._there.clear()
        self._left = {ask: deque(islice(ask.pods, count)) for ask, count in self._counts.items()}

    # ---- as the processor asks

    def fits(self, request: Request[Ask], row: int) -> bool:
        """Whether a queue and a node have room for one pod more."""
        return self._fits(request.owner, self._left[request.owner][0], row)

    def satisfied(self, request: Request[Ask], row: int) -> bool:
        """Whether the rules between pods hold."""
        between = request.owner.shape.between
        return between is None or not between.refusal(row)

    def put(self, request: Request[Ask], row: int) -> None:
        """Count a pod on a node."""
        ask = request.owner
        self._put(ask, self._left[ask].popleft(), row)

    def take(self, request: Request[Ask], row: int) -> None:
        """Count there no more the pod of an ask that has been there longest: pods of one ask may be counted by others' rules differently, so each has its turn."""
        ask = request.owner
        self._left[ask].appendleft(self._attempt.lift(self._there[ask, row].popleft()))

    # ---- a whole answer

    def waiting(self) -> dict[Ask, int]:
        """Return how many pods of each ask are on no node."""
        return {ask: len(left) for ask, left in self._left.items() if left}

    def pods(self) -> list[tuple[Ask, Sequence[PodRecord]]]:
        """Return the pods of each ask that are on no node, in their order."""
        return [(ask, left) for ask, left in self._left.items()]

    def placements(self) -> list[Placement]:
        """Return what is placed, in the order in which it was."""
        return self._attempt.placements()

    def clear(self) -> list[Placement]:
        """Count nothing on nodes any more; returns what was."""
        placed = self.placements()
        for numbers in self._there.values():
            for number in numbers:
                self._attempt.lift(number)
        self._fill()
        return placed

    def restore(self, placed: Sequence[Placement]) -> None:
        """Place on the empty site what was placed there before."""
        gone = {record for _, record, _ in placed}
        for ask, left in self._left.items():
            self._left[ask] = deque(record for record in left if record not in gone)
        for ask, record, row in placed:
            self._put(ask, record, row)

    def accepts(self, placed: Sequence[Placement]) -> bool:
        """Place an answer on the empty site and say whether it may be so: there is room, nothing of earlier sets is broken, and each pod satisfies its rules beside all others. If not the site is empty again."""
        for ask, record, row in placed:
            if not self._fits(ask, record, row):
                self.clear()
                return False
            self._put(ask, record, row)
        for ask, record, row in placed:
            between = ask.shape.between
            if between is not None:
                self._attempt.lift(self._there[ask, row].popleft())
                content = not between.refusal(row)
                self._there[ask, row].append(self._attempt.place(ask, record, row))
                if not content:
                    self.clear()
                    return False
        gone = {record for _, record, _ in placed}
        for ask, left in self._left.items():
            self._left[ask] = deque(record for record in left if record not in gone)
        self.full = {}
        for ask in self.waiting():
            full = exceeded(self._limiting, ask.shape.demand) if self._limiting else None
            if full is not None:
                self.full[ask] = full[0]
        return True

    def _fits(self, ask: Ask, record: PodRecord, row: int) -> bool:
        nodes, shape = self._state.nodes, ask.shape
        full = exceeded(self._limiting, shape.demand) if self._limiting else None
        if full is not None:
            self.full[ask] = full[0]
            return False
        return (
            fits(nodes.free[row], shape.demand)
            and nodes.admits(row, shape.constraints)
            and (not shape.ports or host_ports.free(shape.ports, nodes.ports[row]))
            and self.guards.allows(record.kind, row)
        )

    def _put(self, ask: Ask, record: PodRecord, row: int) -> None:
        self._there.setdefault((ask, row), deque()).append(self._attempt.place(ask, record, row))
