"""Opportunistic pods are placed after all others: where nobody requests, or uses, what they will use, and none of them was given it.

The queue whose part of the opportunistic room is used the least comes first, in it the application that its order puts first. What queues are due is divided by
their weights or capacities, as guaranteed resources are; nobody is held to it while no other wants the room.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

import numpy as np

from treadle.core.effects import Placed, new_bind
from treadle.core.kernel.admission_checks import block
from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic.caps import Caps
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.queueing import Queueing, may_come, may_stand, serve
from treadle.core.kernel.opportunistic.renewing import look_anew, renew, renew_kinds
from treadle.core.kernel.opportunistic.room import Room
from treadle.core.kernel.opportunistic.sets import is_of_set, pause, place_set, waiting
from treadle.core.kernel.opportunistic.together import Together, rows_for
from treadle.core.kernel.opportunistic.usage import is_lost, note
from treadle.core.kernel.pods import prepared
from treadle.core.kernel.pods.states import ASSUMED
from treadle.core.model import Wait
from treadle.core.rules.opportunistic.shares import Claim, divide, pool
from treadle.core.units.amounts import plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.opportunistic.lines import Alike
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord, Queue
    from treadle.core.units.resources import Vector

NO_ROOM: Final = "NoIdleRoom"
"""The reason of an opportunistic pod that no node has idle room for."""
NOT_KNOWN: Final = "UsageUnknown"
"""The reason where room goes by usage that nobody tells."""
INTERVAL = 1.0
"""Seconds after which it is looked for room again where there was none, however much changes meanwhile."""
MILLIONTHS = 1_000_000
Kind = tuple["Shape", tuple[tuple[str, int], ...]]
Ready = dict["Queue", dict["Application", list["Alike"]]]


def place(state: State, budget: int) -> list[Placed]:
    """Place opportunistic pods that wait, at most ``budget`` of them."""
    kept, nodes = state.opportunistic, state.nodes
    effects: list[Placed] = []
    if budget <= 0 or not _due(state):
        return effects
    kept.come, kept.looked, kept.at, kept.put_off = False, nodes.clock, state.now, float("inf")
    kept.edits = nodes.edited.end
    kept.back_off.forget(state.now, state.applications)
    look_anew(state)
    room, together = Room(state), Together(state)
    held = held_by_queue(state)
    caps = Caps(state, held)
    kept_for: dict[int, None] = {}
    effects += _of_queues(state, room, together, caps, held, budget, kept_for)
    queueing = _queueing(state)
    shut = None
    if queueing is not None:
        shut = np.zeros(len(nodes), dtype=np.bool_)
        shut[list(kept_for)] = True
    renew_kinds(state)
    ready, hopeless = _ready(state, room, together)
    few: dict[Alike, int] = {}
    if queueing is not None:
        few = _add_who_could_stand(state, ready, hopeless, together, caps, queueing)
    due = _due_by_queue(state, room, ready, held, few) if ready else {}
    closed: set[Alike] = set()

    def over(kind: Alike) -> bool:
        """Whether no more pods of a kind can be placed in this pass, nor come to stand anywhere."""
        if not kind.pods:
            return True
        if kind not in closed and not room.knows_of_none(kind, beside=shut is not None):
            return False
        return queueing is None or queueing.places() <= 0 or not may_come(state, kind.first)

    lines = {queue: _line(state, queue, applications, over) for queue, applications in ready.items()}
    heap = [(_used(held.get(queue.path), due.get(queue.path)), queue.path, queue) for queue in ready]
    heapify(heap)
    tried: dict[Application, None] = {}
    while heap and len(effects) < budget:
        _, path, queue = heappop(heap)
        kind, first = next(lines[queue], (None, None))
        if kind is None or first is None:
            continue
        if first.node >= 0 or first.shape.gang in together.failed:
            pass
        elif renew(state, first):
            kept.come = True  # it is asked for anew with the next pass
        elif is_of_set(state, first):
            closed.add(kind)
            application = first.application
            if application is not None and application not in tried:
                tried[application] = None
                for record, row in _set(state, room, caps, application, together):
                    wants = vector(record.spec.opportunistic)
                    caps.give(queue, wants)
                    held[path] = plus(held.get(path, [0] * TYPES), wants)
                    effects.append(_assume(state, record, row))
        else:
            unit = together.unit(first)
            wants = _sum(unit)
            full = caps.full(queue, wants) is not None
            rows = None if full or kind in closed else _rows(state, room, unit, shut)
            if rows is not None:
                caps.give(queue, wants)
                effects += [_assume(state, record, row) for record, row in zip(unit, rows, strict=True)]
                held[path] = plus(held.get(path, [0] * TYPES), wants)
                together.started(first)
            else:
                if kind not in closed:
                    together.found_no_room(first)
                closed.add(kind)
                if len(unit) > 1:
                    together.failed[first.shape.gang] = None
                elif queueing is not None and may_stand(state, first) and not full:
                    queueing.stand(first)
        heappush(heap, (_used(held.get(path), due.get(path)), path, queue))
    if queueing is not None:
        if len(effects) < budget:
            queueing.stand_at_more(lambda record: _may_be_placed(state, record, together, caps))
        if queueing.places() <= 0 < queueing.open:
            kept.come = True  # the others stand somewhere with the next pass
    return _decided(state, effects, budget)


def _queueing(state: State) -> Queueing | None:
    """Return who lets pods wait at nodes, None where they wait for that of any."""
    settings = state.scheduler.opportunistic.node_queues
    if settings is None:
        state.opportunistic.queues.clear()
        return None
    return Queueing(state, settings)


def _of_queues(
    state: State, room: Room, together: Together, caps: Caps, held: dict[str, Vector], budget: int, kept_for: dict[int, None]
) -> list[Placed]:
    """Place who stands first at nodes that have room, and count them."""
    effects: list[Placed] = []

    def ready(record: PodRecord) -> bool:
        return _may_be_placed(state, record, together, caps)

    for record, row in serve(state, room, ready, kept_for):
        if len(effects) >= budget:
            break
        assert record.application is not None
        queue, wants = record.application.queue, vector(record.spec.opportunistic)
        assert queue is not None
        room.give(row, record)
        caps.give(queue, wants)
        held[queue.path] = plus(held.get(queue.path, [0] * TYPES), wants)
        effects.append(_assume(state, record, row))
    return effects


def _may_be_placed(state: State, record: PodRecord, together: Together, caps: Caps) -> bool:
    """Whether a pod waits for nothing but room."""
    if obstacle(state, record, together) is not None or record.application is None or record.application.queue is None:
        return False
    return caps.full(record.application.queue, vector(record.spec.opportunistic)) is None


def _decided(state: State, effects: list[Placed], budget: int) -> list[Placed]:
    kept = state.opportunistic
    state.decided(effects)
    if len(effects) >= budget:
        kept.come = True  # the next pass goes on
        kept.at = float("-inf")
    return effects


def _set(state: State, room: Room, caps: Caps, application: Application, together: Together) -> list[tuple[PodRecord, int]]:
    """Return the nodes of the pods of a set that can be placed, none while it rests: a large one is not tried again at once."""
    kept, identity = state.opportunistic, application.id
    until = kept.resting.get(identity, state.now)
    if state.now < until:
        kept.put_off = min(kept.put_off, until)
        return []
    kept.resting = {one: when for one, when in kept.resting.items() if when > state.now}
    pods = [one for one in waiting(state, application) if obstacle(state, one, together) is None]
    found = place_set(state, room, caps, pods) if pods else []
    if len(found) < len(pods):
        kept.resting[identity] = state.now + pause(state, len(pods))
    return found


def _rows(state: State, room: Room, unit: list[PodRecord], shut: NDArray[np.bool_] | None) -> list[int] | None:
    """Return a node for each of the pods that are placed at once, counted in the room; None if not all have one. What nodes with queues have left is for pods of gangs alone."""
    if len(unit) > 1 or unit[0].shape.asked.together is not None:
        return rows_for(state, room, unit)
    row = room.pick(unit[0]) if shut is None or unit[0].shape.gang != NO_GANG else room.pick_beside(unit[0], shut)
    if row < 0:
        return None
    room.give(row, unit[0])
    return [row]


def _sum(unit: list[PodRecord]) -> Vector:
    total = vector(unit[0].spec.opportunistic)
    for record in unit[1:]:
        total = plus(total, vector(record.spec.opportunistic))
    return total


def _ready(state: State, room: Room, together: Together) -> tuple[Ready, list[Alike]]:
    """Return who could be placed, by queue and application, and for whom no node has room; of those that are alike the first one alone is looked at."""
    ready: Ready = {}
    without: list[Alike] = []
    hopeful: dict[Kind, bool] = {}
    for kind in list(state.opportunistic.lines.kinds.values()):
        record = kind.first
        if renew(state, record):
            state.opportunistic.come = True  # it is asked for anew with the next pass
            if not kind.pods:
                continue
            record = kind.first
        key = record.shape, record.spec.opportunistic
        found = hopeful.get(key)
        if found is None:
            found = hopeful[key] = room.any_for(record)
            if not found and obstacle(state, record, together) is None:
                together.found_no_room(record)
        if not found:
            without.append(kind)
        elif (
            obstacle(state, record, together) is None and record.application is not None and record.application.queue is not None
        ):
            ready.setdefault(record.application.queue, {}).setdefault(record.application, []).append(kind)
    return ready, without


def _add_who_could_stand(
    state: State, ready: Ready, without: list[Alike], together: Together, caps: Caps, queueing: Queueing
) -> dict[Alike, int]:
    """Add to those that could be placed who has no hope of it and could come to stand at nodes; returns how many of each such kind count for the parts of queues."""
    places = queueing.places()
    if places <= 0:
        return {}
    few: dict[Alike, int] = {}
    for kind in without:
        if not kind.pods:
            continue  # all of them got other shapes while it was looked what keeps them back
        record = kind.first
        if may_come(state, record) and queueing.any_for(record) and _may_be_placed(state, record, together, caps):
            assert record.application is not None
            assert record.application.queue is not None
            ready.setdefault(record.application.queue, {}).setdefault(record.application, []).append(kind)
            few[kind] = min(len(kind.pods), places)
    return few


def next_look(state: State) -> float | None:
    """Return when it is time to look for room again, None if nobody waits for it or nothing has changed."""
    kept = state.opportunistic
    if not kept.waiting:
        return None
    if kept.come or kept.looked != state.nodes.clock:
        return kept.at + INTERVAL
    end = min(kept.back_off.next_end(kept.at) or kept.put_off, kept.put_off)  # one that has ended since is found as well
    return end if end < float("inf") else None


def _due(state: State) -> bool:
    when = next_look(state) if state.opportunistic.waiting else None
    return when is not None and state.now >= when


def obstacle(state: State, record: PodRecord, together: Together) -> Wait | None:
    """Return what keeps an opportunistic pod back before there is any question of room, or None."""
    assert record.application is not None
    renew(state, record)
    found = block(record.application, record)
    if found is None and state.scheduler.opportunistic.by_usage and is_lost(state):
        why = state.opportunistic.usage.trouble or "no sample of a node has come yet"
        words = f"spec.opportunistic.usage.source is {state.scheduler.opportunistic.source}, and nobody tells what nodes use: {why}. With Requests the room is what no pod requests"
        return Wait(NOT_KNOWN, "", words)
    return together.wait(record) if found is None else found


def held_by_queue(state: State) -> dict[str, Vector]:
    """Return what opportunistic pods of each leaf have, by its path; leaves without any are left out."""
    held: dict[str, Vector] = {}
    for identity, amounts in state.opportunistic.by_application.items():
        application = state.applications.get(identity)
        if application is not None and application.queue is not None:
            path = application.queue.path
            held[path] = plus(held.get(path, [0] * TYPES), amounts)
    return held


def shares(state: State, room: Vector, wanted: dict[str, Vector]) -> dict[str, Vector]:
    """Return what of some room each queue is due, by path, where leaves want ``wanted`` in sum."""
    root = state.tree.root
    return divide(room, [_claim(state, root, wanted)]) if wanted else {}


def _claim(state: State, queue: Queue, wanted: dict[str, Vector]) -> Claim:
    children = [
        _claim(state, child, wanted)
        for child in queue.children.values()
        if any(path == child.path or path.startswith(f"{child.path}.") for path in wanted)
    ]
    weight = max(1, int(state.discipline.limits.weight(queue) * MILLIONTHS))
    return Claim(queue.path, weight, wanted.get(queue.path, [0] * TYPES), None, children)


def _due_by_queue(state: State, room: Room, ready: Ready, held: dict[str, Vector], few: dict[Alike, int]) -> dict[str, Vector]:
    wanted = dict(held)
    for queue, applications in ready.items():
        total = wanted.get(queue.path, [0] * TYPES)
        for kind in (kind for kinds in applications.values() for kind in kinds if kind.pods):
            count = few.get(kind, len(kind.pods))
            total = plus(total, [amount * count for amount in vector(kind.first.spec.opportunistic)])
        wanted[queue.path] = total
    return shares(state, pool(room.total(), list(held.values())), wanted)


def _line(
    state: State, queue: Queue, applications: dict[Application, list[Alike]], over: Callable[[Alike], bool]
) -> Iterator[tuple[Alike, PodRecord]]:
    for application in sorted(applications, key=lambda one: (queue.rank(one)[:-1], one.id)):
        yield from state.opportunistic.lines.in_order(applications[application], over)


def _used(held: Vector | None, due: Vector | None) -> float:
    """Return how much of its part a queue has, of the type where that is the most."""
    if held is None:
        return 0.0
    return max((have / max(part, 1) for have, part in zip(held, due or held, strict=True)), default=0.0)


def _assume(state: State, record: PodRecord, row: int) -> Placed:
    """Count a pod on a node, ahead of the API's answer, and return the effect that makes it true. It counts in no queue."""
    application, shape, spec = record.application, record.shape, record.spec
    assert application is not None
    state.nodes.take(row, shape.demand, shape.ports)
    state.opportunistic.queues.leave(spec.uid)
    state.opportunistic.no_longer(spec.uid)
    record.node, record.since, record.cause, record.state = row, state.now, state.cause, ASSUMED
    for tally in record.kind.tallies:
        tally.add(row, 1)
    application.allocated += 1
    state.opportunistic.give(record, state.now)
    if state.opportunistic.usage.of:
        note(state, [spec.uid])
    if shape.prepared:
        prepared.enter(state, record)
        if (asked := prepared.begin(state, record)) is not None:
            return asked
    node = state.nodes.names[row]
    return new_bind(
        (spec.uid, spec.namespace, spec.name, node, application.id, application.chain[0].path, state.cause, spec.version)
    )
