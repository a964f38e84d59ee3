"""One cycle: serve the cluster at once. Order, limits and shares choose the next ask, constraints and scores its node.

An ask that cannot be placed is parked under what blocks it (a queue's maximum, or its shape for want of a node) and woken only
when that changes, so that what waits costs nothing. The reason it was parked with is what users read.
"""

from __future__ import annotations

from heapq import heappop, heapreplace
from typing import TYPE_CHECKING, Any

from treadle.core.disciplines.capacity.lending import can_lend, lend, may_be_lent
from treadle.core.disciplines.capacity.unreserve import gave_back
from treadle.core.disciplines.capacity.user_limits import end_turn, hold_back_user, limit_grew, wake_users
from treadle.core.kernel import am_share, locality
from treadle.core.kernel.admission_checks import AT_ZERO, OVER_LARGEST, barred, oversized
from treadle.core.kernel.am_share import MASTER_SHARE, may_have_master
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.pods.lifecycle import assume
from treadle.core.kernel.tree.application import Application
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.order import park, rekey, unpark
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.effects import Bind
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask
    from treadle.core.kernel.tree.queue import Queue

NO_NODE = "Unschedulable"
"""The reason that autoscalers act on: used for a real lack of capacity only."""
AT_MAXIMUM = "QueueMaximum"


def wake(state: State) -> None:
    """Let what waited for something that changed compete again."""
    for queue in state.relieved:
        for ask in list(queue.blocked):
            if exceeded((queue,), ask.shape.demand) is None and not _too_large(ask):
                unpark(ask)
    state.relieved.clear()
    if state.contended:
        wake_users(state)
    if state.masters_relieved:
        am_share.wake(state)
    if state.near_until or state.near_timers:
        locality.wake(state)
    score = state.score
    for shape in state.shapes.parked():
        lent = state.books is not None and can_lend(state, shape)
        fits = pick(state.nodes, shape, score) >= 0
        for ask in list(shape.parked) if lent or fits else ():
            if lent or (ask.wait is not None and ask.wait.reason != AT_MAXIMUM):
                unpark(ask)
    for queue in state.left:
        rekey(queue)
    state.left.clear()
    for application in state.dirty:
        rekey(application)
    state.dirty.clear()


def _too_large(ask: Ask) -> bool:
    return (
        ask.wait is not None
        and ask.wait.reason == OVER_LARGEST
        and oversized(ask.application.chain[0], ask.shape.demand) is not None
    )


def cycle(state: State, budget: int) -> list[Bind]:
    """Decide up to ``budget`` placements in the order that the policies give."""
    wake(state)
    effects: list[Bind] = []
    for root in (*state.tree.roots.values(), state.tree.root):
        if root.active:
            _serve(state, root, budget - len(effects), effects)
    state.decided(effects)
    return effects


def _serve(state: State, root: Queue, budget: int, effects: list[Bind]) -> None:
    """Decide placements in one partition, in the order of its part of the tree."""
    nodes, score = state.nodes, state.score
    while budget > 0 and root.active:
        heap = root.heap
        while True:
            key = heap[0]
            child: Application | Queue = key[-1]
            if type(child) is Application:
                application = child
                if application.key is key:
                    break
            else:
                queue: Any = child  # a queue; it is not narrowed, and a cast would be a call at every step
                if queue.key is key:
                    heap = queue.heap
                    continue
            heappop(heap)
        ask = application.order[0]
        if not ask.active:
            ask = application.next_ask()
        quota = application.quota
        if quota is not None:
            used = quota.used
            for at, most in quota.lower_bound:
                if used[at] > most:
                    break
            else:
                at = -1
            if at >= 0 and quota.exceeded():
                if not gave_back(state, ask):
                    hold_back_user(state, ask)
                continue
        if application.limiting and (full := exceeded(application.limiting, ask.shape.demand)) is not None:
            if gave_back(state, ask):
                continue
            lent = None if quota is None else lend(state, ask)
            if lent is None:
                _at_maximum(state, ask, full[0])
            else:
                _place_lent(state, ask, lent, effects)
                budget -= 1
                _advance(application)
            if quota is not None:
                limit_grew(state, application)
            continue
        if ask.plain:
            row = pick(nodes, ask.shape, score)
        else:
            row, wait = _particular(state, ask)
            if wait is not None:
                park(state, ask, wait)
                if quota is not None:
                    limit_grew(state, application)
                continue
        if row < 0:
            lent = None if quota is None else lend(state, ask)
            if lent is None:
                ask.shape.parked[ask] = None
                park(state, ask, Wait(NO_NODE, "", ""))
                if quota is not None:
                    limit_grew(state, application)
                continue
            _place_lent(state, ask, lent, effects)
        else:
            effects.append(assume(state, ask, row))
        budget -= 1
        _advance(application)
        if quota is not None and application.chain[0].users_blocked:
            limit_grew(state, application)


def _at_maximum(state: State, ask: Ask, full: Queue) -> None:
    """Park an ask that would put a queue over its maximum."""
    never = barred(ask.application.limiting, ask.shape.demand)
    queue = full if never is None else never[0]
    queue.blocked[ask] = None
    park(state, ask, Wait(AT_MAXIMUM if never is None else AT_ZERO, queue.path, ""))
    if ask.application.quota is None or never is not None:
        return
    if may_be_lent(state, ask.shape):
        ask.shape.parked[ask] = None
    else:
        end_turn(queue, ask)


def _place_lent(state: State, ask: Ask, lent: tuple[int, Application], effects: list[Bind]) -> None:
    row, part = lent
    effects.append(assume(state, ask, row, part))
    state.dirty[part] = None


def _particular(state: State, ask: Ask) -> locality.Choice:
    """Return the node for a master, or for pods that would like to be somewhere, or why there is none yet."""
    if ask.master and not may_have_master(state, ask):
        leaf = ask.application.chain[0]
        leaf.masters_blocked[ask] = None
        state.masters_waiting[leaf] = None
        return locality.Choice(-1, Wait(MASTER_SHARE, leaf.path, ""))
    near = ask.shape.near
    return locality.Choice(pick(state.nodes, ask.shape, state.score)) if near is None else locality.choose(state, ask, near)


def _advance(application: Application) -> None:
    """Re-key the chosen chain: its entries are on top of their heaps, so each is replaced in place.

    An application's step is written apart from that of queues, since the interpreter specializes code that meets one type only.
    """
    leaf = application.queue
    assert leaf is not None
    if application.active:
        key = application.key = leaf.rank(application)
        heapreplace(leaf.heap, key)
    else:
        heappop(leaf.heap)
        application.key = None
        leaf.active -= 1
    child, parent = leaf, leaf.parent
    while parent is not None:
        if child.active:
            key = child.key = parent.rank(child)
            heapreplace(parent.heap, key)
        else:
            heappop(parent.heap)
            child.key = None
            parent.active -= 1
        child, parent = parent, parent.parent
