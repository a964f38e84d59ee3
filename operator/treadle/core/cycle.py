"""One cycle: serve the cluster at once. Order, limits and shares choose the next ask, constraints and scores its node.

An ask that cannot be placed is parked under what blocks it (a queue's maximum, or its shape for want of a node) and woken only
when that changes, so that what waits costs nothing. The reason it was parked with is what users read.
"""

from __future__ import annotations

from heapq import heappop, heapreplace
from typing import TYPE_CHECKING

from treadle.core.effects import Bind, Effect
from treadle.core.lifecycle import assume
from treadle.core.nodes.candidates import pick
from treadle.core.order import first, forget_blockers, park, rekey, unpark
from treadle.core.resources import format_amount
from treadle.core.tree.application import Application, Ask, Wait
from treadle.core.tree.limits import exceeded

if TYPE_CHECKING:
    from treadle.core.state import State
    from treadle.core.tree.queue import Queue

NO_NODE = "Unschedulable"
"""The reason that autoscalers act on: used for a real lack of capacity only."""
AT_MAXIMUM = "QueueMaximum"


def wake(state: State) -> None:
    """Let what waited for something that changed compete again."""
    for queue in state.relieved:
        for ask in list(queue.blocked):
            if exceeded((queue,), ask.shape.demand) is None:
                unpark(state, ask)
    state.relieved.clear()
    score = state.score
    for shape in state.shapes.parked():
        if pick(state.nodes, shape, score) >= 0:
            for ask in list(shape.parked):
                unpark(state, ask)
    for application in state.dirty:
        rekey(state, application)
    state.dirty.clear()


def cycle(state: State, budget: int) -> list[Effect]:
    """Decide up to ``budget`` placements in the order that the policies give."""
    wake(state)
    effects: list[Effect] = []
    root, nodes, score = state.tree.root, state.nodes, state.score
    while budget > 0 and root.active:
        holder: Queue = root
        child = first(root)
        while not isinstance(child, Application):
            holder = child
            child = first(holder)
        ask = child.next_ask()
        full = exceeded(child.chain, ask.shape.demand)
        if full is not None:
            _park_at_maximum(state, ask, *full)
            continue
        row = pick(nodes, ask.shape, score)
        if row < 0:
            ask.shape.parked[ask] = None
            park(state, ask, Wait(NO_NODE, "", ""))
            continue
        effects.append(place(state, ask, row))
        budget -= 1
        _advance(state, child, holder)
    return effects


def place(state: State, ask: Ask, row: int) -> Bind:
    """Assume the first pod of an ask on a node and say so."""
    application = ask.application
    uid = next(iter(ask.pods))
    record = ask.pods.pop(uid)
    record.cause = state.cause
    record.ask = None
    record.assumed_node = node = state.nodes.names[row]
    assume(state, record, row)
    state.decisions += 1
    state.tell(uid, "assumed", node)
    queue = application.queue
    assert queue is not None
    if not ask.pods:
        _finish(ask)
    spec = record.spec
    return Bind(uid, spec.namespace, spec.name, node, application.id, queue.path, state.cause)


def _finish(ask: Ask) -> None:
    """Retire an ask whose pods are all placed; the competitors above are re-keyed by the caller."""
    ask.active = False
    ask.application.active -= 1
    forget_blockers(ask)
    del ask.application.asks[ask.key]


def _advance(state: State, application: Application, leaf: Queue) -> None:
    """Re-key the chosen chain: its entries are on top of their heaps, so each is replaced in place."""
    child: Application | Queue = application
    parent: Queue | None = leaf
    cluster = state.cluster
    while parent is not None:
        if child.active:
            key = child.key = parent.policy.key(child, cluster)
            heapreplace(parent.heap, (key, child))
        else:
            heappop(parent.heap)
            child.key = None
            parent.active -= 1
        child, parent = parent, parent.parent


def _park_at_maximum(state: State, ask: Ask, queue: Queue, position: int) -> None:
    queue.blocked[ask] = None
    name = state.types.names[position]
    used, most = format_amount(name, queue.usage[position]), format_amount(name, queue.maximum[position])
    wanted = format_amount(name, dict(ask.shape.demand)[position])
    park(state, ask, Wait(AT_MAXIMUM, queue.path, f"queue {queue.path} is at its maximum: {name} {used} used of {most}, {wanted} wanted"))


