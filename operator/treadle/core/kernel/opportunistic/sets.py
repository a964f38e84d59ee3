"""Opportunistic pods of an application whose pods are placed as a set, so that constraints among them are looked at as a whole (YARN's placement processor).

As with guaranteed sets (``kernel.together``) the walk of ``rules.constraints.processor`` says where each goes, and what is placed satisfies its constraints in the end; what is left
waits. What guaranteed pods of the application have got is there by then. No solver is asked: idle room comes and goes.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fits
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.together import count, uncount
from treadle.core.kernel.pods.shaping import batch_of
from treadle.core.kernel.together.guards import Guards
from treadle.core.rules.constraints.processor import Found, Request, place, take_back
from treadle.core.units.amounts import minus, plus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.opportunistic.caps import Caps
    from treadle.core.kernel.opportunistic.room import Room
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord, Queue

ATTEMPTS = 3
"""How often what was rejected is tried (``retry-attempts``)."""
LARGEST = 1_000
"""Pods of a set; those beyond are the next one."""
PAIRS = 100_000
"""Pods times nodes that a set may be tried with each second: a larger one is tried less often."""


class Alike:
    """Pods of a set that are alike."""

    def __init__(self, first: PodRecord) -> None:
        self.first = first
        self.left: deque[PodRecord] = deque()
        """Those that are on no node, in their order."""
        self.there: dict[int, deque[PodRecord]] = {}
        """Those that are tried on a row, those first that have been there longest."""


def is_of_set(state: State, record: PodRecord) -> bool:
    """Whether a pod is placed together with others of its application: as with guaranteed pods all but masters, pods of gangs and those with volumes or claims."""
    return record.spec.role != "master" and batch_of(state, record.spec) is not None


def waiting(state: State, application: Application) -> list[PodRecord]:
    """Return the pods of an application that wait and are placed together."""
    there = state.opportunistic.waiting
    return [there[uid] for uid in application.pods if uid in there and is_of_set(state, there[uid])]


def place_set(state: State, room: Room, caps: Caps, pods: Sequence[PodRecord]) -> list[tuple[PodRecord, int]]:
    """Return which pods of a set of an application get which nodes, counted in the room and nowhere else: as many as can be placed."""
    first = pods[0]
    application, batch = first.application, batch_of(state, first.spec)
    assert application is not None
    assert application.queue is not None
    assert batch is not None
    kinds: dict[object, Alike] = {}
    chosen = sorted(pods, key=lambda one: not room.any_for(one))[:LARGEST]  # those without room count by their tags alone
    for record in sorted(chosen, key=lambda one: -one.spec.priority):
        key = (record.shape, record.spec.opportunistic, record.spec.priority)
        kinds.setdefault(key, Alike(record)).left.append(record)
    rows = _rows(state, room, list(kinds.values()))
    end, slots = state.nodes.improved.end, state.nodes.slots.end
    site = _Site(state, room, caps, application.queue, application)
    placed: list[Found[Alike, int]] = []
    try:
        for _ in range(ATTEMPTS):
            before = {one: len(one.left) for one in kinds.values() if one.left}
            requests = [Request(one, (batch_of(state, one.first.spec) or batch)[2], many) for one, many in before.items()]
            placed += place(requests, rows, site, batch[1]).placed
            while take_back(site, placed):
                pass  # what relied on it is next
            if {one: len(one.left) for one in kinds.values() if one.left} in ({}, before):
                break
    finally:
        found = [(record, row) for one in kinds.values() for row, there in one.there.items() for record in there]
        for record, row in reversed(found):
            uncount(state, record, row)
        state.nodes.improved.cut(end)
        state.nodes.slots.cut(slots)
    return found


def pause(state: State, pods: int) -> float:
    """Return for how many seconds a set is not tried again."""
    return min(pods, LARGEST) * len(state.nodes) / PAIRS


def _rows(state: State, room: Room, kinds: Sequence[Alike]) -> list[int]:
    """Return the nodes that have room for one of the pods, in the order in which they came."""
    some = np.zeros(len(state.nodes), dtype=np.bool_)
    for one in kinds:
        some[room.rows(one.first)] = True
    return np.flatnonzero(some).tolist()


class _Site:
    """The nodes as they are, with what is tried on them."""

    def __init__(self, state: State, room: Room, caps: Caps, queue: Queue, application: Application) -> None:
        self._state = state
        self._room = room
        self._caps = caps
        self._queue = queue
        self._total = [0] * TYPES
        self._guards = Guards(application, state.now)

    def fits(self, request: Request[Alike], row: int) -> bool:
        record, nodes = request.owner.left[0], self._state.nodes
        shape, wanted = record.shape, vector(record.spec.opportunistic)
        return (
            fits(nodes.free[row], shape.demand)
            and self._room.has(row, wanted)
            and self._caps.full(self._queue, plus(self._total, wanted)) is None
            and nodes.admits(row, shape.constraints)
            and (not shape.ports or host_ports.free(shape.ports, nodes.ports[row]))
            and self._guards.allows(record.kind, row)
        )

    def satisfied(self, request: Request[Alike], row: int) -> bool:
        between = request.owner.first.shape.between
        return between is None or not between.refusal(row)

    def put(self, request: Request[Alike], row: int) -> None:
        record = request.owner.left.popleft()
        request.owner.there.setdefault(row, deque()).append(record)
        self._total = plus(self._total, vector(record.spec.opportunistic))
        self._room.give(row, record)
        count(self._state, record, row)

    def take(self, request: Request[Alike], row: int) -> None:
        record = request.owner.there[row].popleft()
        request.owner.left.appendleft(record)
        uncount(self._state, record, row)
        self._room.take_back(row, record)
        self._total = minus(self._total, vector(record.spec.opportunistic))
