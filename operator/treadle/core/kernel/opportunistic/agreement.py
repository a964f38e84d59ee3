"""What is counted for opportunistic pods is what the pods that are there come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import gives_way
from treadle.core.kernel.opportunistic.room import of_row
from treadle.core.kernel.pods.states import PodState
from treadle.core.units.amounts import plus

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.units.resources import Vector


def broken(state: State) -> list[str]:
    """Return what contradicts itself: sums of what was given, pods that wait, and room that is kept."""
    kept = state.opportunistic
    problems = []
    on: dict[int, Vector] = {}
    of: dict[str, Vector] = {}
    for uid, one in kept.of.items():
        record = state.pods.get(uid)
        if record is not one.record or record.node != one.row or record.part is not None or record.application is None:
            problems.append(f"opportunistic pod {uid} was given something where it is not")
        on[one.row] = plus(on.get(one.row, [0] * TYPES), one.demand)
        of[one.application] = plus(of.get(one.application, [0] * TYPES), one.demand)
    if on != kept.on_row:
        problems.append(f"opportunistic pods have {on} of nodes, {kept.on_row} counted")
    if {identity: value for identity, value in of.items() if any(value)} != kept.by_application:
        problems.append(f"opportunistic pods of applications have {of}, {kept.by_application} counted")
    for uid, record in kept.waiting.items():
        if state.pods.get(uid) is not record or record.ask is not None or record.node >= 0:
            problems.append(f"opportunistic pod {uid} is said to wait and does not")
    for uid, record in state.pods.items():
        if record.state is PodState.BOUND and record.application is not None:
            says = bool(record.spec.opportunistic) and gives_way(record.spec)
            if says != (uid in kept.of):
                problems.append(
                    f"pod {uid} {'is' if says else 'is not'} opportunistic by what it says and requests, and is counted otherwise"
                )
    lines = kept.lines
    for uid, record in kept.waiting.items():
        kind = lines.of.get(uid)
        if kind is None or kind.pods.get(uid) is not record or lines.kinds.get(kind.key) is not kind:
            problems.append(f"opportunistic pod {uid} waits and is in no line")
        elif kind.key[:3] != (record.application, record.shape, record.spec.opportunistic):
            problems.append(f"opportunistic pod {uid} is in the line of others")
    problems += [f"opportunistic pod {uid} is in a line and does not wait" for uid in lines.of if uid not in kept.waiting]
    problems += _queues(state)
    for name, known in kept.usage.of.items():
        at, sample = state.nodes.row.get(name, -1), known.usage.sample
        if known.room is None or at < 0 or sample is None or known.usage.is_old(state.now):
            continue
        key, room = known.room
        if key == (state.nodes.version[at], sample.at) and room != of_row(state, at):
            problems.append(f"node {name} has room {of_row(state, at)} for opportunistic pods, {room} kept")
    for uid, record in kept.turning.asking.items():
        if state.pods.get(uid) is not record or record.node < 0:
            problems.append(f"pod {uid} asks to be promoted or demoted and is on no node")
    problems += [f"pod {uid} is being promoted and counts as opportunistic" for uid in kept.turning.promoting if uid in kept.of]
    return problems


def _queues(state: State) -> list[str]:
    kept = state.opportunistic
    queues = kept.queues
    one = {(uid, node) for node, line in queues.at.items() for uid in line}
    other = {(uid, node) for uid, nodes in queues.of.items() for node in nodes}
    problems = [f"pod {uid} stands at node {node} by one count only" for uid, node in one ^ other]
    problems += [f"pod {uid} stands in queues of nodes and is not there" for uid in queues.of if uid not in state.pods]
    return problems
