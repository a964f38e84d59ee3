"""Places short pods in the gaps in front of those for whom room is kept, and asks them to go when they are in the way.

A pod is placed in a gap if it waits for nothing but room and will have ended, by the longest that is known of its run time, before the room is
expected to be used. Pods end earlier than they say, and later: where all room of a gang, or of a large pod, would have come but for pods that were
placed so, they are evicted, so nobody for whom room is kept is held up by them for longer than an eviction takes. A pod is backfilled only if it
may be evicted: not from queues that others may not preempt from, and no pod of the system's.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.effects import Evict
from treadle.core.kernel.attempt import tried
from treadle.core.kernel.backfill.gaps import come, gaps, kept_as_it_comes, parties, room_of
from treadle.core.kernel.backfill.memory import RunTime
from treadle.core.kernel.backfill.overdue import next_end, overdue
from treadle.core.kernel.backfill.run_times import MOST_PODS, STARTING, UNKNOWN, longest
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import bind, charges_lifted, may_run
from treadle.core.kernel.preemption.search import waits_for_a_node
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model.pods import CRITICAL
from treadle.core.model.scheduler import NEVER
from treadle.core.units.amounts import add_to
from treadle.core.units.resources import dense

if TYPE_CHECKING:
    from treadle.core.effects import Effect, Placed
    from treadle.core.events import RunTimesKnown
    from treadle.core.kernel.preemption.memory import Hold
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
    from treadle.core.units.resources import Vector

INTERVAL, PER_INTERVAL = 1.0, 500
"""Seconds between two looks for pods that fit, and as many again for each so many asks that wait: a look at thousands takes a tenth of a second."""
MOST_AT_ONCE = 64
"""Pods that one look places at most."""
MOST_TRIED = 256
"""Applications that one look tries, the first in order of each partition."""
PATIENCE = 30.0
"""Seconds for which a disruption budget may keep a pod from being evicted before it is asked again."""


def next_look(state: State) -> float | None:
    """Return when to look for pods that fit, None while no room is kept or nothing waits."""
    if not state.preemption.holds or not state.waiting or state.scheduler.backfill == NEVER:
        return None
    if not any(hold.without_victims for hold in state.preemption.holds):
        return None
    return state.backfill.looked + INTERVAL * (1 + state.backfill.looked_at // PER_INTERVAL)


def next_timer(state: State) -> float | None:
    """Return when to look again even if nothing happens: None while nobody waits who might be placed so, since who comes is looked at when it does."""
    times = (next_end(state), next_look(state) if state.backfill.waiting else None)
    return min((when for when in times if when is not None), default=None)


def backfill(state: State, budget: int) -> list[Effect]:
    """Return the evictions of pods that are in the way by now, and the placements of those that fit in a gap."""
    memory = state.backfill
    effects: list[Effect] = []
    if memory.there:
        effects += _make_way(state)
    if memory.in_front:
        effects += [
            _evict(state, record, f"reservation {identity}") for record, identity in overdue(state) if _may_go(state, record)
        ]
    when = next_look(state)
    if when is not None and state.now >= when and budget > 0 and state.nodes.only < 0:
        memory.looked = state.now
        effects += _fill(state, min(budget, MOST_AT_ONCE))
    return effects


def become_known(state: State, event: RunTimesKnown) -> None:
    """Take over how long pods ran that have ended."""
    state.backfill.run_times = {application: RunTime(usual, most) for application, usual, most in event.applications}


def stays(state: State, uid: str, spare: float) -> None:
    """Take note that a pod that was asked to go cannot be had, so that for ``spare`` seconds it is not asked again."""
    if uid in state.backfill.going:
        state.backfill.going[uid] = state.now + spare


def _fill(state: State, budget: int) -> list[Placed]:
    kept = kept_as_it_comes(state)
    until = gaps(state, kept)
    by_root: dict[Queue, dict[Application, list[Ask]]] = {}
    asks = _candidates(state) if until else []
    state.backfill.waiting = bool(asks)
    for ask in asks:
        by_root.setdefault(ask.application.chain[-1], {}).setdefault(ask.application, []).append(ask)
    effects: list[Placed] = []
    rooms = {row: room_of(state, kept[row]) for row in until}
    for root, waiting in by_root.items():
        order = list(islice(root.in_order(waiting), MOST_TRIED))
        while order and len(effects) < budget:  # a pod of each application in a round
            with charges_lifted(state):  # what is kept is not used meanwhile
                order = [one for one in order if _one_of(state, waiting[one], until, rooms, kept) is not None]
            for application in order[: budget - len(effects)]:
                with charges_lifted(state):
                    found = _one_of(state, waiting[application], until, rooms, kept)
                if found is not None:
                    effects.append(_place(state, *found))
    return effects


def _place(state: State, ask: Ask, record: PodRecord, row: int, ends: float) -> Placed:
    ask.pods.let_first([record])
    state.backfill.there[record.spec.uid] = ends
    state.backfill.placed += 1
    state.record(record.spec.uid, "backfilled", state.nodes.names[row])
    return bind(state, ask, row)


def _candidates(state: State) -> list[Ask]:
    """Return the asks that wait for nothing but a node, of which a pod will have ended by some time that is known."""
    found, state.backfill.looked_at = [], 0
    for shape in state.shapes.parked():
        if shape.devices is not None:
            continue
        state.backfill.looked_at += len(shape.parked.asks)
        for ask in shape.parked.asks:
            if ask.batched or not waits_for_a_node(ask) or not _short(state, ask):
                continue
            if ask.key[1] < CRITICAL and state.discipline.may_be_asked(ask.application):
                found.append(ask)
    return found


def _short(state: State, ask: Ask) -> list[tuple[float, PodRecord]]:
    """Return the first pods of an ask of which it is known for how long they run at most."""
    looked_at = ((longest(state, record.spec), record) for record in islice(ask.pods, MOST_PODS))
    return [(most, record) for most, record in looked_at if most < UNKNOWN]


def _one_of(
    state: State, asks: list[Ask], until: dict[int, float], rooms: dict[int, Vector], kept: dict[int, list[Hold]]
) -> tuple[Ask, PodRecord, int, float] | None:
    """Return the first pod that fits of some asks of an application, with its ask, the row, and when it is to have ended."""
    for ask in asks:
        if not ask.pods or ask.application.queue is None:
            continue
        if exceeded(ask.application.limiting, ask.shape.charged) is not None or not may_run(state, ask):
            continue
        for most, record in _short(state, ask):
            ends = state.now + STARTING + most
            rows = sorted((until[row], row) for row in until if until[row] >= ends)
            row = next((row for _, row in rows if _takes(state, ask, row, rooms[row])), -1)
            if row >= 0 and _others_stand(state, ask, record, row, kept):
                return ask, record, row, ends
    return None


def _takes(state: State, ask: Ask, row: int, room: Vector) -> bool:
    """Whether a node can take a pod of an ask beside all but what is kept there."""
    nodes, shape = state.nodes, ask.shape
    return (
        all(nodes.free[row][position] + room[position] >= value for position, value in shape.demand)
        and nodes.admits(row, shape.constraints)
        and (not shape.ports or host_ports.free(shape.ports, nodes.ports[row]))
        and (shape.between is None or not shape.between.refusal(row))
    )


def _others_stand(state: State, ask: Ask, record: PodRecord, row: int, kept: dict[int, list[Hold]]) -> bool:
    """Whether no node would admit fewer of those for whom it is kept: rules between pods may keep them off a node on which others are."""
    pairs = [
        (one.shape.between, hold.row)
        for holds in kept.values()
        for hold in holds
        for one in hold.application.asks.values()
        if one.shape.between is not None and (one.shape.gang == hold.gang if hold.gang[1] else one.key == hold.key)
    ]
    if not pairs:
        return True
    before = [bool(between.refusal(at)) for between, at in pairs]
    with tried(state, ask.application) as attempt:
        attempt.place(ask, record, row)
        return before == [bool(between.refusal(at)) for between, at in pairs]


def _make_way(state: State) -> list[Effect]:
    """Return the evictions of pods but for which all room would have come that is kept for somebody."""
    memory = state.backfill
    kept = kept_as_it_comes(state)
    on_rows: dict[int, list[PodRecord]] = {}
    for uid in list(memory.there):
        record = state.pods.get(uid)
        if record is None or record.node not in kept:
            del memory.there[uid]
            memory.going.pop(uid, None)
        else:
            on_rows.setdefault(record.node, []).append(record)
    effects: list[Effect] = []
    for holds in parties(kept) if on_rows else ():
        victims: dict[str, PodRecord] = {}
        for row in dict.fromkeys(hold.row for hold in holds):
            in_the_way = _in_the_way(state, row, kept[row], on_rows.get(row, []))
            if in_the_way is None:
                break
            victims.update((record.spec.uid, record) for record in in_the_way)
        else:
            effects += [_evict(state, record, _party(holds[0])) for record in victims.values() if _may_go(state, record)]
    return effects


def _in_the_way(state: State, row: int, holds: list[Hold], records: list[PodRecord]) -> list[PodRecord] | None:
    """Return which of the backfilled pods have to leave a node for all that is kept there, the newest first; None if it has not come even without them."""
    left, found = list(state.nodes.free[row]), []
    for record in sorted(records, key=lambda one: (one.spec.uid not in state.backfill.going, -one.since, one.spec.uid)):
        if come(left, holds):
            break
        add_to(left, dense(record.shape.demand, len(left)))
        found.append(record)
    return found if come(left, holds) else None


def _may_go(state: State, record: PodRecord) -> bool:
    asked = state.backfill.going.get(record.spec.uid, float("-inf"))
    return record.state is PodState.BOUND and not record.spec.deleting and state.now >= asked


def _party(hold: Hold) -> str:
    return f'gang "{hold.gang[1]}" of application {hold.gang[0]}' if hold.gang[1] else f"application {hold.application.id}"


def _evict(state: State, record: PodRecord, whom: str) -> Evict:
    spec, application = record.spec, record.application
    queue = application.queue.path if application is not None and application.queue is not None else ""
    state.backfill.going[spec.uid] = state.now + PATIENCE
    state.backfill.evicted += 1
    state.record(spec.uid, "backfilled and in the way", whom)
    why = f"it was placed in room that is kept for {whom}, which may start but for it"
    return Evict(spec.uid, spec.namespace, spec.name, queue, why, PATIENCE, False, record.cause)
