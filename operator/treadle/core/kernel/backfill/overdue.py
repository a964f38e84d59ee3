"""Pods that were placed in front of a reservation and run for longer than they said: they leave where its pods would have room but for them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.search import starts_with_a_gang, waits_for_a_node
from treadle.core.kernel.reservations.in_front import guaranteed_to
from treadle.core.kernel.tree.partitions import all_parts
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import dense

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, PodRecord, Queue
    from treadle.core.units.resources import Vector

MOST_ASKS = 64
"""Asks of a reservation that are looked at in one pass."""


def overdue(state: State) -> list[tuple[PodRecord, str]]:
    """Return the pods that are to be asked to go, and for which reservation."""
    records = _over_their_time(state)
    if not records:
        return []
    found: list[tuple[PodRecord, str]] = []
    left = {record.node: list(state.nodes.free[record.node]) for record in records}
    for one in state.plans.of.values():
        for identity, path in one.children.items():
            queue = state.tree.queues.get(path)
            for part in all_parts(queue) if identity != one.path and queue is not None else ():
                waiting = list(islice(_waiting(part), MOST_ASKS))
                if waiting:
                    guaranteed, used = guaranteed_to(state, part), list(part.usage)
                for ask in waiting:
                    found += [(record, identity) for record in _for_all(state, ask, guaranteed, used, records, left)]
    return found


def next_end(state: State) -> float | None:
    """Return when the next of them is to have ended, or one that could not be had is asked again; None if never."""
    memory = state.backfill
    times = [memory.going.get(uid, ends) for uid, ends in memory.in_front.items()]
    return min((when for when in times if when > state.now), default=None)


def _over_their_time(state: State) -> list[PodRecord]:
    """Return the pods that were placed in front of reservations, are still on nodes and should have ended, the newest first; those that are gone are forgotten."""
    memory, found = state.backfill, []
    for uid, ends in list(memory.in_front.items()):
        record = state.pods.get(uid)
        if record is None or record.node < 0:
            del memory.in_front[uid]
            if uid not in memory.there:
                memory.going.pop(uid, None)
        elif ends <= state.now:
            found.append(record)
    return sorted(found, key=lambda one: (one.spec.uid not in memory.going, -one.since, one.spec.uid))


def _waiting(queue: Queue) -> Iterator[Ask]:
    asks = (ask for one in queue.applications.values() for ask in one.asks.values())
    return (ask for ask in asks if waits_for_a_node(ask) or starts_with_a_gang(ask))


def _for_all(
    state: State, ask: Ask, guaranteed: Vector, used: Vector, records: list[PodRecord], left: dict[int, Vector]
) -> Iterator[PodRecord]:
    """Yield which pods have to leave for the pods of an ask, as far as these are guaranteed to its queue; what they will use is added to ``used``."""
    for _ in range(len(ask.pods)):
        if any(value and used[position] + value > guaranteed[position] for position, value in ask.shape.charged):
            return
        victims = _for_one(state, ask, records, left)
        if victims is None:
            return
        for position, value in ask.shape.charged:
            used[position] += value
        yield from victims


def _for_one(state: State, ask: Ask, records: list[PodRecord], left: dict[int, Vector]) -> list[PodRecord] | None:
    """Return which of the pods have to leave one node for a pod of an ask, none where they are on their way already; None if no node has room even without them."""
    nodes, shape = state.nodes, ask.shape
    for row, room in left.items():
        if not nodes.admits(row, shape.constraints) or (shape.between is not None and shape.between.refusal(row)):
            continue
        if shape.ports and not host_ports.free(shape.ports, nodes.ports[row]):
            continue
        found: list[PodRecord] = []
        there = list(room)
        for record in [one for one in records if one.node == row]:
            if _fits(there, ask):
                break
            add_to(there, dense(record.shape.demand, len(there)))
            found.append(record)
        if _fits(there, ask):
            for position, value in shape.demand:
                there[position] -= value
            left[row] = there
            records[:] = [one for one in records if one not in found]
            return [one for one in found if one.state is PodState.BOUND]
    return None


def _fits(there: Vector, ask: Ask) -> bool:
    return all(there[position] >= value for position, value in ask.shape.demand)
