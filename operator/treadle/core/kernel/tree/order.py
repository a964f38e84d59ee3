"""The order of what waits: heaps in every queue, re-keyed only along the chain that a change touched.

A queue's heap holds an entry for each child that has something to place. ``active`` counts them: asks in an application,
applications in a leaf, queues in a parent, so that becoming active or idle is passed up only as far as it matters.
"""

from __future__ import annotations

from heapq import heapify, heappush
from typing import TYPE_CHECKING

from treadle.core.kernel.tree.members import Application
from treadle.core.kernel.tree.parked import renew_all

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.core.model import Wait
    from treadle.core.rules.policies import Key


def activate(ask: Ask) -> None:
    """Make an ask with pods compete, unless its application has no queue."""
    application = ask.application
    if ask.active or not ask.pods or application.queue is None:
        return
    ask.active = True
    ask.wait = None
    application.enqueue(ask)
    child: Application | Queue = application
    parent: Queue | None = application.queue
    child.active += 1
    if child.active == 1:
        _enter(child, parent)


def _enter(child: Application | Queue, parent: Queue | None) -> None:
    """Put a child that has something to place into its parent's order, and the parent into the next one, as far as that is news."""
    while parent is not None and child.blocked_by is None:
        child.key = parent.rank(child) if child.rest_key is None else child.rest_key
        heappush(parent.heap, child.key)
        parent.active += 1
        if len(parent.heap) > 64 and len(parent.heap) > 4 * parent.active:
            _rebuild(parent)
        if parent.active > 1:
            return
        child, parent = parent, parent.parent


def _leave(child: Application | Queue, parent: Queue | None) -> None:
    """Take a child out of its parent's order, and the parent out of the next one if it has nothing else."""
    while parent is not None and child.blocked_by is None:
        child.key = None
        parent.active -= 1
        if parent.active:
            return
        child, parent = parent, parent.parent


def suspend(queue: Queue, ask: Ask) -> None:
    """Take a queue with all below it out of the competition, until ``ask``, which found it full, is not blocked any more."""
    if queue.active:
        _leave(queue, queue.parent)
    queue.blocked_by = ask


def resume(queue: Queue) -> None:
    """Let a suspended queue compete again."""
    queue.blocked_by = None
    if queue.active:
        _enter(queue, queue.parent)


def deactivate(ask: Ask) -> None:
    """Take an ask out of the competition; entries in heaps become invalid and are dropped when they surface."""
    if not ask.active:
        return
    ask.active = False
    child: Application | Queue = ask.application
    parent: Queue | None = ask.application.queue
    child.active -= 1
    if not child.active:
        _leave(child, parent)


def park(state: State, ask: Ask, wait: Wait) -> None:
    """Take an ask out until what blocks it changes; the reason is what users read."""
    deactivate(ask)
    if ask.wait is None or ask.wait.reason != wait.reason:
        state.record(ask.application.id, "waits", wait.reason)
    ask.wait = wait
    state.parked += 1
    arm_report(state, ask)


def arm_report(state: State, ask: Ask) -> None:
    """See to it that the owners of an ask's pods are told why it waits, if it still does in a while."""
    if not ask.report_armed:
        ask.report_armed = True
        state.wake_at(state.now + state.settings.report_after, ask)


def arm_report_at(state: State, ask: Ask, soonest: float) -> None:
    """See to it that the owners of an ask's pods are told, in a while and not before a time, why it still waits."""
    if not ask.report_armed:
        ask.report_armed = True
        state.wake_at(max(state.now + state.settings.report_after, soonest), ask)


def unpark(ask: Ask) -> None:
    """Forget what blocked an ask and let it compete."""
    forget_blockers(ask)
    activate(ask)


def forget_blockers(ask: Ask) -> None:
    """Take an ask off the lists of what blocks it."""
    ask.shape.parked.discard(ask)
    chain = ask.application.chain
    for queue in chain:
        queue.blocked.pop(ask, None)
        if queue.blocked_by is ask:
            resume(queue)
    if chain:
        chain[0].users_blocked.pop(ask, None)
    if ask.master and chain:
        chain[0].masters_blocked.pop(ask, None)


def taken(application: Application) -> None:
    """Bring the order up to date after a pod of an application was placed that need not be on top of it: ``assume`` counts within the application only."""
    child: Application | Queue = application
    parent = application.queue
    while parent is not None and child.active == 0 and child.key is not None:
        child.key = None
        parent.active -= 1
        child, parent = parent, parent.parent
    rekey(application)


def rekey(child: Application | Queue) -> None:
    """Give an application or a queue, and the queues above it, new keys after its usage changed."""
    parent = child.queue if isinstance(child, Application) else child.parent
    while parent is not None:
        rank_anew(child, parent)
        child, parent = parent, parent.parent


def rank_anew(child: Application | Queue, parent: Queue) -> None:
    """Give one child of a queue a new key; the queues above keep theirs."""
    if child.active and child.blocked_by is None:
        key = child.key = parent.rank(child)
        heap = parent.heap
        heappush(heap, key)
        if len(heap) > 64 and len(heap) > 4 * parent.active:
            _rebuild(parent)
            key = child.key
        if child.rest_key is not None:
            parent.rest.renew(child, key)
    elif child.rest_key is not None:
        parent.rest.renew(child, parent.rank(child))


def placed(application: Application) -> None:
    """Give an application that got something, and the queues above it, new keys in the orders of what waits for nodes; their own are up to date."""
    child: Application | Queue = application
    parent = application.queue
    while parent is not None:
        if child.rest_key is not None:
            key = child.key
            parent.rest.renew(child, parent.rank(child) if key is None else key)
        child, parent = parent, parent.parent


def rekey_all(state: State) -> None:
    """Give every competitor a new key after the cluster, weights or policies changed."""
    waiting = state.shapes.waiting
    waiting.limited.clear()
    for queue in state.tree.everywhere():
        _rebuild(queue)
        renew_all(queue)
        waiting.limits_changed(queue)


def _rebuild(queue: Queue) -> None:
    heap: list[Key] = []
    for child in queue.members():
        if child.active and child.blocked_by is None:
            child.key = queue.rank(child)
            heap.append(child.key)
    heapify(heap)
    queue.heap = heap


def waiting_order(queue: Queue) -> list[Application]:
    """Return the applications of a leaf that have pods waiting, in the order in which they are served at present."""
    return sorted((application for application in queue.applications.values() if application.asks), key=queue.rank)
