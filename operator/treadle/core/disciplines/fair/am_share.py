"""The limit on masters: what the pods with role master of a leaf may hold together (``maxAMShare``, ``FSLeafQueue.canRunAppAM``).

What they hold is what their pods on nodes hold now; YARN counts an application's master until the application ends. The limit is
part of Hadoop's instantaneous fair share of the leaf as of the last update pass. Only resource types that are shared count: not
pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.update_pass import pass_due, update_pass
from treadle.core.kernel.tree.order import unpark
from treadle.core.rules.fair.am_share import NO_LIMIT, master_limit, may_start
from treadle.core.units.amounts import beyond
from treadle.core.units.resources import UNBOUNDED, Vector

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.core.units.resources import Demand


class FairMasters:
    """See ``kernel.seam.Masters``."""

    def __init__(self, state: State) -> None:
        self._state = state

    def may_start(self, ask: Ask) -> bool:
        """Whether a leaf's masters leave enough for one more. Shares older than an update interval are computed anew."""
        state, leaf = self._state, ask.application.chain[0]
        share = share_of(state, leaf)
        if share == NO_LIMIT:
            return True
        if pass_due(state):
            update_pass(state)
        return may_start(leaf.master_usage, _dense(ask.shape.charged, len(leaf.usage)), limit_of(state, leaf), share)

    def wake(self, leaf: Queue) -> None:
        """Let as many masters of a leaf compete as there may be now, in the order in which their applications are served."""
        state = self._state
        held, limit, share = list(leaf.master_usage), limit_of(state, leaf), share_of(state, leaf)
        for ask in sorted(leaf.masters_blocked, key=lambda ask: (leaf.rank(ask.application), ask)):
            demand = _dense(ask.shape.charged, len(held))
            if may_start(held, demand, limit, share):
                held = [one + other for one, other in zip(held, demand, strict=True)]
                unpark(ask)


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


def short_of(state: State, ask: Ask) -> int | None:
    """Return the resource type that a master cannot have, for its explanation; None if it can have all now."""
    leaf = ask.application.chain[0]
    limit = limit_of(state, leaf)
    if share_of(state, leaf) == NO_LIMIT:
        return None
    return next((at for at, value in ask.shape.charged if leaf.master_usage[at] + value > limit[at]), None)


def _dense(demand: Demand, width: int) -> Vector:
    vector = [0] * width
    for position, value in demand:
        vector[position] = value
    return vector
