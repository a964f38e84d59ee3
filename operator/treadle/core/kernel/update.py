"""The periodic pass that lets totals, limits and shares follow the cluster (FairScheduler's update thread)."""

from __future__ import annotations

from heapq import heappush
from math import log, log1p
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.rankers import Rankers
from treadle.core.disciplines.fair.update import demand_changed, hold_demand, update_demand, update_instant_shares, update_shares
from treadle.core.kernel.admission_checks import OVER_LARGEST, compete, oversized
from treadle.core.kernel.tree import admission, limits
from treadle.core.kernel.tree.order import rank_anew, rekey_all
from treadle.core.kernel.tree.parked import renew_all
from treadle.core.rules.policies import BUILT_IN, Cluster
from treadle.core.units.amounts import f32
from treadle.core.units.resources import MEMORY, held

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Application
    from treadle.core.kernel.tree.queue import Queue
    from treadle.core.kernel.tree.tree import Settled

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
    state.rankers = Rankers(state.cluster)
    state.resolved_types = len(state.types)
    if state.books is not None and not books_follow:
        state.books.follow(state)
    for queue in state.tree.everywhere():
        if queue.blocked:
            state.relieved[queue] = None
        if state.books is None:
            _resolve(state, queue)
            limits.resolve_largest(queue, state.cluster.total, state.types)
    state.relimited = True
    look_again(state)
    for application in (one for whole in state.applications.values() for one in whole.everywhere()):
        application.limiting = tuple(queue for queue in application.chain if queue.limited)
    if not _sized(state):
        weigh(state, state.applications.values())
    rekey_all(state)
    ordered_by_demand = state.books is None and any(_by_demand(queue) for queue in state.tree.queues.values())
    state.demands, state.demands_stale = ({} if ordered_by_demand else None), ordered_by_demand
    for application in state.applications.values():
        _find_oversized(state, application)


def apply_edits(state: State, settled: Settled) -> None:
    """Do what ``apply_limits`` does, for the queues that a settling changed alone; what comes of definitions is the same for all others.

    Under capacity the books have given new limits and places in the order to the queues that they name.
    """
    if state.books is None:
        apply_given(state, _resolve_edits(state, settled), settled.edited)
    else:
        apply_given(state, state.books.take_given(), settled.edited)


def apply_given(state: State, applied: dict[Queue, limits.Had], edited: Container[Queue] = ()) -> None:
    """Look again at what the limits of some queues blocked, and order these queues anew, and what is below those that are ``edited``."""
    reordered = [queue for queue, were in applied.items() if were.rank is not queue.rank or queue in edited]
    for queue in reordered:
        queue.heap = []  # keys of two policies do not compare
    for queue in reordered:
        renew_all(queue)
        for child in queue.members():
            rank_anew(child, queue)
    for queue, were in applied.items():
        if queue.parent is not None:
            rank_anew(queue, queue.parent)
        if queue.blocked:
            state.relieved[queue] = None
        if were.limited != queue.limited:
            state.shapes.waiting.limits_changed(queue)
            for application in _applications_of(queue):
                application.limiting = tuple(above for above in application.chain if above.limited)
        if were.largest != queue.largest:
            for application in queue.applications.values():
                _find_oversized(state, application)
        if were.max_running != queue.max_running or state.books is not None:
            state.relimited |= any(below.unadmitted for below in (queue.walk() if queue.children else (queue,)))
    look_again(state)


def _resolve(state: State, queue: Queue) -> None:
    """Give a queue its own limits and its ranker; ``largest`` comes from above."""
    settings = state.scheduler.fair
    limits.resolve(queue, state.cluster.total, state.types, settings.queue_max_default)
    admission.limit(queue, settings)
    queue.rank = state.rankers.of(queue.policy, leaf=queue.leaf)


def _resolve_edits(state: State, settled: Settled) -> dict[Queue, limits.Had]:
    """Resolve the limits of queues that were edited, of queues made below them, and what those below inherit; returns what each had before."""
    applied: dict[Queue, limits.Had] = {}
    touched = [*settled.made, *settled.edited, *settled.parents()]
    for queue in touched:
        for one in (queue, *(child for child in queue.children.values() if child.dynamic)):
            applied.setdefault(one, limits.Had.of(one))
            _resolve(state, one)
    pending = list(touched)
    for queue in pending:
        before = queue.largest
        limits.resolve_largest(queue, state.cluster.total, state.types)
        if queue.largest != before:
            for child in queue.children.values():
                applied.setdefault(child, limits.Had.of(child))
                pending.append(child)
    by_demand = any(_by_demand(queue) or (queue.parent is not None and _by_demand(queue.parent)) for queue in applied)
    if state.demands is None and by_demand:
        state.demands, state.demands_stale = {}, True
    if state.demands is not None and not state.demands_stale:
        for queue in applied:
            hold_demand(queue)
    return applied


def _applications_of(queue: Queue) -> list[Application]:
    """Return the applications, or the parts of them, in a queue and below it."""
    return [application for below in queue.walk() for application in below.applications.values()]


def look_again(state: State) -> None:
    """Let those look again who wait for something that may be more now."""
    state.masters_relieved.update(state.masters_waiting)
    for users in state.contended.values():
        users.looked = None  # what users may have may be more now
    state.passed_at = float("-inf")
    for ask in state.near_until:
        state.near_until[ask] = state.now  # the delays may be others now
        heappush(state.near_timers, (state.now, state.number(), ask))


def _find_oversized(state: State, application: Application) -> None:
    """Park the asks of an application that are larger than its leaf allows now."""
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
