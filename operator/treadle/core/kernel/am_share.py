"""The limit on masters, live: what the pods with role master of a leaf may hold together (``maxAMShare``, ``FSLeafQueue.canRunAppAM``).

What they hold is what their pods on nodes hold now; YARN counts an application's master until the application ends. The limit is
part of Hadoop's instantaneous fair share of the leaf as of the last update pass. Only resource types that are shared count: not pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity import am_share as capacity
from treadle.core.kernel.tree.order import unpark
from treadle.core.kernel.update import pass_due, update_pass
from treadle.core.rules.fair.am_share import NO_LIMIT, master_limit, may_start
from treadle.core.units.amounts import beyond
from treadle.core.units.resources import UNBOUNDED, Vector

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask
    from treadle.core.kernel.tree.queue import Queue
    from treadle.core.units.resources import Demand

MASTER_SHARE = "MasterShare"


def share_of(state: State, leaf: Queue) -> float:
    """Return the part of its fair share that a leaf's masters may hold; -1 is no limit."""
    own = leaf.spec.max_master_share
    return state.scheduler.fair.queue_max_master_share_default if own is None else own


def limit_of(state: State, leaf: Queue) -> Vector:
    """Return what the masters of a leaf may hold at present, by the shares of the last update pass."""
    cluster = state.cluster
    available = beyond(cluster.total, state.tree.root.usage)
    limit = master_limit(leaf.instant_share, available, leaf.maximum, share_of(state, leaf))
    return [value if position in cluster.counted else UNBOUNDED for position, value in enumerate(limit)]


def may_have_master(state: State, ask: Ask) -> bool:
    """Whether a leaf's masters leave enough for one more. Shares older than an update interval are computed anew."""
    leaf = ask.application.chain[0]
    if ask.application.quota is not None:
        return capacity.short_of(ask) is None
    share = share_of(state, leaf)
    if share == NO_LIMIT:
        return True
    if pass_due(state):
        update_pass(state)
    return may_start(leaf.master_usage, _dense(ask.shape.demand, len(leaf.usage)), limit_of(state, leaf), share)


def wake(state: State) -> None:
    """Let as many masters compete as there may be now, in the order in which their applications are served."""
    for leaf in state.masters_relieved:
        if not leaf.masters_blocked:
            continue  # nobody waits there any more, and the leaf may be gone from the tree
        if state.books is not None:
            for ask in list(leaf.masters_blocked):
                if capacity.short_of(ask) is None:
                    unpark(ask)
            continue
        held, limit, share = list(leaf.master_usage), limit_of(state, leaf), share_of(state, leaf)
        waiting = sorted(leaf.masters_blocked, key=lambda ask, leaf=leaf: (leaf.rank(ask.application), ask))  # type: ignore[misc]
        for ask in waiting:
            demand = _dense(ask.shape.demand, len(held))
            if may_start(held, demand, limit, share):
                held = [one + other for one, other in zip(held, demand, strict=True)]
                unpark(ask)
    state.masters_relieved.clear()


def short_of(state: State, ask: Ask) -> int | None:
    """Return the resource type that a master cannot have, for its explanation; None if it can have all now."""
    leaf = ask.application.chain[0]
    limit = limit_of(state, leaf)
    if share_of(state, leaf) == NO_LIMIT:
        return None
    return next((at for at, value in ask.shape.demand if leaf.master_usage[at] + value > limit[at]), None)


def _dense(demand: Demand, width: int) -> Vector:
    vector = [0] * width
    for position, value in demand:
        vector[position] = value
    return vector
