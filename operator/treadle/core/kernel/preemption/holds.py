"""Holds: room on a node that is kept for an application until its victims have left.

A hold is counted on its node like a pod, before the victims are gone, so what is free there falls below zero and no other pod is
placed into the room. It is fulfilled when what is free is not negative any more, and ends without that when its time is up, when
no ask waits for it, or when a victim cannot be had. What is held counts as had when starvation is looked at, so that
one need never takes victims twice.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from treadle.core.effects import Placed
from treadle.core.kernel.admission_checks import block
from treadle.core.kernel.gangs.known import complete
from treadle.core.kernel.pods.charges import charge, discharge
from treadle.core.kernel.pods.lifecycle import assume
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.order import taken, unpark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.kernel.preemption.memory import Hold
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue
    from treadle.core.units.resources import Vector

PATIENCE = 10.0
"""Seconds that an ask has waited before a node is kept for it: most room comes by itself."""


def held_for(state: State, application: Application) -> Vector:
    """Return the sum of what is held for an application because others go for it."""
    return _sum(state, [hold for hold in state.preemption.holds if hold.application is application and not hold.without_victims])


def held_below(state: State, queue: Queue) -> Vector:
    """Return the sum of what is held for the applications of a queue and below because others go for it."""
    return _sum(state, [hold for hold in state.preemption.holds if queue in hold.application.chain and not hold.without_victims])


def kept_by_queue(state: State) -> dict[Queue, Vector]:
    """Return all that is held for the applications of each queue and below in all partitions, whether others go for it or not; queues without any are left out."""
    found: dict[Queue, Vector] = {}
    for hold in state.preemption.holds:
        for queue in {above.whole for above in hold.application.chain}:
            total = found.setdefault(queue, [0] * state.types.width)
            for position, value in hold.shape.charged:
                total[position] += value
    return found


def _sum(state: State, holds: list[Hold]) -> Vector:
    total = [0] * state.types.width
    for hold in holds:
        for position, value in hold.shape.charged:
            total[position] += value
    return total


def place(state: State, hold: Hold) -> None:
    """Count a hold on its node and mark its victims."""
    state.preemption.holds[hold] = None
    state.nodes.take(hold.row, hold.shape.demand, hold.shape.ports)
    if hold.counted:
        charge(state, hold.application, hold.shape.charged)
    for uid in hold.victims:
        state.preemption.marked[uid] = hold
    state.record(hold.application.id, "hold", state.nodes.names[hold.row])


def release(state: State, hold: Hold, why: str) -> None:
    """End a hold: any pod may have its room again."""
    preemption = state.preemption
    del preemption.holds[hold]
    for uid in hold.victims:
        if preemption.marked.get(uid) is hold:
            del preemption.marked[uid]
    state.nodes.give(hold.row, hold.shape.demand, hold.shape.ports)
    if hold.counted:
        discharge(state, hold.application, hold.shape.charged)
    state.record(hold.application.id, "hold ends", why)


def of_gang(state: State, gang: tuple[str, str]) -> list[Hold]:
    """Return all holds for a gang."""
    return [hold for hold in state.preemption.holds if hold.gang == gang]


def count(hold: Hold, sign: int) -> None:
    """Charge a hold to its application and its queues (1) or take the charge back (-1), for a look at them only."""
    for usage in hold.application.ledgers:
        for position, value in hold.shape.charged:
            usage[position] += sign * value
    quota = hold.application.quota
    if quota is not None:
        quota.touched[quota.user] = None


@contextmanager
def charges_lifted(state: State) -> Iterator[None]:
    """Let nothing be charged for holds while victims are looked for: only pods can go."""
    counted = [hold for hold in state.preemption.holds if hold.counted]
    for hold in counted:
        count(hold, -1)
        hold.counted = False
    try:
        yield
    finally:
        for hold in counted:
            if hold in state.preemption.holds:
                count(hold, 1)
                hold.counted = True
            else:
                _relieve(state, hold.application)


def victim_stays(state: State, uid: str, spare: float) -> None:
    """Take note that a victim cannot be had: its hold ends, for ``spare`` seconds it is not asked again, and others are looked for."""
    preemption = state.preemption
    preemption.spared[uid] = state.now + spare
    hold = preemption.marked.get(uid)
    if hold is not None:
        for each in of_gang(state, hold.gang) if hold.gang[1] else [hold]:
            release(state, each, "a victim stays")
        state.discipline.membership.victim_stays(hold.application)


def serve(state: State, budget: int) -> list[Placed]:
    """Return the binds of the holds whose room has come, and end those that no ask needs any more or that have waited for too long."""
    effects: list[Placed] = []
    kept: Counter[Ask] = Counter()
    only = state.nodes.only
    for hold in list(state.preemption.holds):
        if hold.gang[1] or (only >= 0 and hold.row != only):
            continue  # what is held for a gang is looked at together (``gangs.held``)
        ask = hold.application.asks.get(hold.key)
        if ask is None or not ask.pods or hold.application.queue is None or _too_many(hold, ask, kept):
            release(state, hold, "no ask waits for it")
        elif hold.counted and not state.discipline.charges_holds:
            release(state, hold, "nothing is kept by this discipline's rules any more")
        elif hold.counted and block(hold.application, ask.pods.first) is not None:
            release(state, hold, "its pods may not run")
        elif state.now >= hold.until:
            release(state, hold, "its time is up")
            if hold.counted:
                state.preemption.left_alone[hold.row] = state.now + hold.until - hold.placed_at
        elif not admitted(state, hold):
            release(state, hold, "the node admits it no longer")
        elif len(effects) < budget and _has_room(state, hold):
            if any(uid in state.pods for uid in hold.victims) and _over_maximum(hold):
                continue  # the node has room; those who leave make some in the queue
            release(state, hold, "fulfilled")
            if not _over_maximum(hold) and may_run(state, ask):
                effects.append(bind(state, ask, hold.row))
    return effects


def admitted(state: State, hold: Hold) -> bool:
    """Whether the node of a hold would admit the pod; its description is looked at again when nodes were edited."""
    end = state.nodes.edited.end
    if hold.looked_at != end:
        if not state.nodes.admits(hold.row, hold.shape.constraints):
            return False
        hold.looked_at = end
    between = hold.shape.between
    return between is None or not between.refusal(hold.row)


def _has_room(state: State, hold: Hold) -> bool:
    free = state.nodes.free[hold.row]
    for position, _ in hold.shape.demand:  # noqa: SIM110 - most holds wait, and are asked in every pass
        if free[position] < 0:
            return False
    return True


def _relieve(state: State, application: Application) -> None:
    """Let those look again who wait for what was held for an application."""
    for queue in application.chain:
        if queue.blocked:
            state.relieved[queue] = None
    state.dirty[application] = None


def _too_many(hold: Hold, ask: Ask, kept: Counter[Ask]) -> bool:
    """Whether a hold is one of more kept ones than pods wait: some were placed elsewhere."""
    kept[ask] += hold.without_victims
    return hold.without_victims and kept[ask] > len(ask.pods)


def _over_maximum(hold: Hold) -> bool:
    return exceeded(hold.application.limiting, hold.shape.charged) is not None


def may_run(state: State, ask: Ask) -> bool:
    """Whether nothing but room was in the way of an ask: limits may have changed since the room was held."""
    if ask.shape.gang[1] and not complete(state, ask):
        return False
    quota = ask.application.quota
    if quota is not None and quota.exceeded():
        return False
    return block(ask.application, ask.pods.first) is None and (not ask.master or state.discipline.masters.may_start(ask))


def bind(state: State, ask: Ask, row: int) -> Placed:
    """Place the first pod of an ask that waits on a node, whoever is first in order."""
    unpark(ask)
    application = ask.application
    effect = assume(state, ask, row)
    state.decided((effect,))
    taken(application)
    return effect


def forget_the_gone(state: State) -> None:
    """Drop what is remembered of applications, queues and pods that are no more."""
    preemption = state.preemption
    state.discipline.membership.forget_the_gone()
    for uid in [uid for uid, until in preemption.spared.items() if until <= state.now]:
        del preemption.spared[uid]
    for uid in [uid for uid in preemption.marked if uid not in state.pods]:
        del preemption.marked[uid]
