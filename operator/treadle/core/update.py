"""The periodic pass that lets totals, limits and shares follow the cluster (FairScheduler's update thread)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.fair.policies import Cluster
from treadle.core.fair.update import update_demand, update_shares
from treadle.core.order import rekey_all
from treadle.core.tree import limits

if TYPE_CHECKING:
    from treadle.core.state import State


def follow_cluster(state: State) -> None:
    """Recompute what can be shared, at most once an update interval: allocatable less what foreign pods use."""
    if not state.cluster_changed or state.now < state.updated + state.settings.update_interval:
        return
    state.cluster_changed = False
    state.updated = state.now
    state.widen()
    total = [max(0, have - taken) for have, taken in zip(state.nodes.total, state.nodes.foreign, strict=True)]
    if total != state.cluster.total:
        state.cluster = Cluster.of(total)
        apply_limits(state)


def apply_limits(state: State) -> None:
    """Resolve every queue's limits, look again at what they blocked, and order everything anew."""
    for queue in state.tree.queues.values():
        limits.resolve(queue, state.cluster.total, state.types, state.scheduler.fair.queue_max_default)
        queue.rank = queue.policy.ranker(state.cluster)
        if queue.blocked:
            state.relieved[queue] = None
    for application in state.applications.values():
        application.limiting = tuple(queue for queue in application.chain if queue.limited)
    rekey_all(state)


def refresh_shares(state: State) -> None:
    """Bring demands and fair shares of all queues and applications up to date, for those who show them."""
    state.widen()
    update_demand(state.tree.root, len(state.types))
    update_shares(state.tree.root, state.cluster)
