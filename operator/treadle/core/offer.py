"""An offer: what one node's heartbeat gets from the tree, in YARN's way (FairScheduler ``attemptScheduling``).

The walk asks the queues in the order of their keys, and each queue its children, until one takes the node; it starts over
after each placement. Nothing is parked: an ask that does not fit this node may fit another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.cycle import bind, wake
from treadle.core.lifecycle import assume
from treadle.core.nodes.filters import host_ports
from treadle.core.nodes.filters.resources import fits
from treadle.core.order import rekey, unpark
from treadle.core.tree.application import Application, Ask
from treadle.core.tree.limits import exceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treadle.core.effects import Bind
    from treadle.core.state import State
    from treadle.core.tree.queue import Queue


def offer(state: State, node: str, budget: int) -> Iterator[Bind]:
    """Yield the binds of one node until nothing more fits or ``budget`` is used up."""
    row = state.nodes.row.get(node)
    if row is None:
        return
    wake(state)
    while budget > 0:
        ask = _walk(state, state.tree.root, row)
        if ask is None:
            return
        unpark(ask)
        application = ask.application
        record = assume(state, ask, row)
        state.decided(1)
        _settle_counts(application)
        rekey(application)
        budget -= 1
        yield bind(state, record)


def _settle_counts(application: Application) -> None:
    """Pass up the tree that an application has nothing more to place; ``assume`` only counts within the application."""
    child: Application | Queue = application
    parent = application.queue
    while parent is not None and child.active == 0 and child.key is not None:
        child.key = None
        parent.active -= 1
        child, parent = parent, parent.parent


def _walk(state: State, queue: Queue, row: int) -> Ask | None:
    for child in sorted(queue.children.values(), key=queue.rank):
        found = _walk(state, child, row)
        if found is not None:
            return found
    for application in sorted(queue.applications.values(), key=queue.rank):
        for ask in sorted(application.asks.values()):
            if _admits(state, ask, row) and exceeded(application.chain, ask.shape.demand) is None:
                return ask
    return None


def _admits(state: State, ask: Ask, row: int) -> bool:
    nodes, shape = state.nodes, ask.shape
    if ask.wait is not None and ask not in shape.parked and not any(ask in queue.blocked for queue in ask.application.chain):
        return False
    return (
        bool(ask.pods)
        and fits(nodes.free[row], shape.demand)
        and nodes.admits(row, shape.constraints)
        and host_ports.free(shape.constraints.host_ports, nodes.ports[row])
    )
