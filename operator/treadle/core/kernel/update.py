"""The periodic pass that lets totals, limits and shares follow the cluster (FairScheduler's update thread)."""

from __future__ import annotations

from heapq import heappush
from math import log, log1p
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.rankers import Rankers
from treadle.core.disciplines.fair.update import demand_changed, update_demand, update_instant_shares, update_shares
from treadle.core.kernel.admission_checks import OVER_LARGEST, compete, oversized
from treadle.core.kernel.tree import admission, limits
from treadle.core.kernel.tree.order import rekey_all
from treadle.core.rules.policies import BUILT_IN, Cluster
from treadle.core.units.amounts import f32
from treadle.core.units.resources import MEMORY, held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Application
    from treadle.core.kernel.tree.queue import Queue

MIB = 1 << 20


def follow_interval(state: State) -> float:
    """Return how often what is due follows the cluster; capacities of many queues take time, so they follow less often."""
    queues = len(state.tree.queues) if state.books is not None else 0
    return state.settings.update_interval * (1 + queues / 250)


def follow_cluster(state: State) -> None:
    """Recompute what can be shared, at most once an interval: allocatable less what foreign pods use."""
    if not state.cluster_changed or state.now < state.updated + follow_interval(state):
        return
    state.cluster_changed = False
    state.updated = state.now
    state.widen()
    total = held(have - taken for have, taken in zip(state.nodes.total, state.nodes.foreign, strict=True))
    if total != state.cluster.total or (state.books is not None and state.books.outdated(state)):
        state.cluster = Cluster.of(total)
        apply_limits(state)


def apply_limits(state: State, *, books_follow: bool = False) -> None:
    """Resolve every queue's limits, look again at what they blocked, and order everything anew. ``books_follow``: what capacities come to was computed just now."""
    settings, rankers = state.scheduler.fair, Rankers(state.cluster)
    if state.books is not None and not books_follow:
        state.books.follow(state)
    for queue in state.tree.everywhere():
        if queue.blocked:
            state.relieved[queue] = None
        if state.books is not None:
            continue
        limits.resolve(queue, state.cluster.total, state.types, settings.queue_max_default)
        limits.resolve_largest(queue, state.cluster.total, state.types)
        admission.limit(queue, settings)
        queue.rank = rankers.of(queue.policy, leaf=queue.leaf)
    state.masters_relieved.update(state.masters_waiting)
    for users in state.contended.values():
        users.looked = None  # what users may have may be more now
    state.relimited = True
    state.passed_at = float("-inf")
    for application in (one for whole in state.applications.values() for one in whole.everywhere()):
        application.limiting = tuple(queue for queue in application.chain if queue.limited)
    if not _sized(state):
        weigh(state, state.applications.values())
    for ask in state.near_until:
        state.near_until[ask] = state.now  # the delays may be others now
        heappush(state.near_timers, (state.now, state.number(), ask))
    rekey_all(state)
    ordered_by_demand = state.books is None and any(_by_demand(queue) for queue in state.tree.queues.values())
    state.demands, state.demands_stale = ({} if ordered_by_demand else None), ordered_by_demand
    for application in state.applications.values():
        leaf = application.queue
        if leaf is not None and leaf.largest is not None:
            for ask in application.every_ask():
                too_large = oversized(leaf, ask.shape.demand) is not None
                if too_large and (ask.wait is None or ask.wait.reason != OVER_LARGEST):
                    compete(state, ask)


def _by_demand(queue: Queue) -> bool:
    """Whether the order of a queue's members depends on what they demand: minima are held at it under ``fair``, and a policy of one's own may look at it."""
    if type(queue.policy) not in BUILT_IN:
        return True
    return queue.policy.name == "fair" and any(child.minimum is not None for child in queue.children.values())


def follow_demands(state: State) -> None:
    """Bring demands up to date where the order depends on them: those that changed, or all after limits have changed."""
    if state.demands is None:
        return
    if state.demands_stale:
        state.demands_stale = False
        state.widen()
        update_demand(state.tree.root, len(state.types))
        rekey_all(state)
    else:
        for application in state.demands:
            if demand_changed(application):
                state.dirty[application] = None
    state.demands.clear()


def _update_demands(state: State) -> None:
    update_demand(state.tree.root, len(state.types))
    _forget_demands(state)


def _forget_demands(state: State) -> None:
    """All demands are up to date; the order follows with the next pass."""
    if state.demands:
        state.dirty.update(state.demands)
        state.demands.clear()


def pass_due(state: State) -> bool:
    """Whether the shares that decisions go by are older than an update interval."""
    return state.now >= state.passed_at + state.settings.update_interval


def update_pass(state: State) -> None:
    """Recompute demands, weights that follow them, and the instantaneous fair shares; let those look again who wait for a share.

    The pass of ``FairScheduler.update`` for those who decide by its results: the limit on masters, weights by size, and preemption.
    It is made at most once an update interval, and only while one of them needs it.
    """
    state.widen()
    state.passed_at, state.passed_cause = state.now, state.cause
    _update_demands(state)
    weigh(state, state.applications.values())
    update_instant_shares(state.tree.root, state.cluster)
    state.masters_relieved.update(state.masters_waiting)


def follow_demand(state: State) -> None:
    """Make the pass if masters wait for a share, or applications weigh by their size while pods wait."""
    if state.books is not None:
        if pass_due(state) and masters_wait(state):
            state.passed_at = state.now
            state.masters_relieved.update(state.masters_waiting)
        return
    if pass_due(state) and (masters_wait(state) or (_sized(state) and state.waiting and state.passed_cause != state.cause)):
        update_pass(state)


def next_pass(state: State) -> float | None:
    """Return when the next pass is due, None if nobody needs one."""
    sized = state.books is None and _sized(state)
    if masters_wait(state) or (sized and state.waiting and state.passed_cause != state.cause):
        return state.passed_at + state.settings.update_interval
    return None


def masters_wait(state: State) -> bool:
    """Whether a master waits for its queue's masters to hold less."""
    for leaf in [leaf for leaf in state.masters_waiting if not leaf.masters_blocked]:
        del state.masters_waiting[leaf]
    return bool(state.masters_waiting)


def _sized(state: State) -> bool:
    return state.scheduler.fair.size_based_weight


def weigh(state: State, applications: Iterable[Application]) -> None:
    """Give applications their weights: 1, or by the memory that they demand (``sizebasedweight``); demands are current."""
    sized = _sized(state)
    for application in applications:
        weight = f32(log1p(application.demand[MEMORY] / MIB) / log(2)) if sized else 1.0
        if weight != application.weight:
            application.weight = weight
            state.dirty[application] = None


def refresh_shares(state: State) -> None:
    """Bring demands and fair shares of all queues and applications up to date, for those who show them."""
    state.widen()
    for root in (state.tree.root, *state.tree.roots.values()):
        update_demand(root, len(state.types))
    _forget_demands(state)
    if state.books is None:
        update_shares(state.tree.root, state.cluster)
        return
    for queue in state.tree.queues.values():
        queue.steady_share = list(queue.minimum or [])
        queue.fair_share = queue.steady_share
