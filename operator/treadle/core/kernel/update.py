"""The periodic pass that lets totals, limits and shares follow the cluster (FairScheduler's update thread)."""

from __future__ import annotations

from heapq import heappush
from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import OVER_LARGEST, oversized, requeue
from treadle.core.kernel.pods.device_charges import to_share
from treadle.core.kernel.tree.order import rank_anew, rekey_all
from treadle.core.kernel.tree.parked import renew_all
from treadle.core.rules.policies import Cluster
from treadle.core.units.resources import held

if TYPE_CHECKING:
    from collections.abc import Container

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.limits import Had
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.kernel.tree.tree import Settled

STEPS = 10
"""A cluster is followed at once when it has grown by such a part of itself."""


def sync_cluster(state: State) -> None:
    """Recompute what can be shared: allocatable less what foreign pods use.

    It is looked at once an interval, or at once if it has grown much.

    By a size of long ago queues that nodes have come for are at their limits, and where there was nothing all have equal shares
    whatever they hold: what others get meanwhile is not given back by itself. Hadoop follows every node; a cluster that grows a
    node at a time is followed in steps.
    """
    if not state.updates.cluster_changed:
        return
    state.widen()
    total = held(have - taken for have, taken in zip(state.nodes.total, state.nodes.foreign, strict=True))
    devices = [0] * len(total)
    for of_row in to_share(state).values():
        for position, value in of_row.items():
            devices[position] += value
    total = [have + max(0, more) for have, more in zip(total, devices, strict=True)]
    grown = any((now - before) * STEPS > before for now, before in zip(total, state.cluster.total, strict=True))
    if not grown and state.now < state.updates.at + state.discipline.limits.interval():
        return
    state.updates.cluster_changed = False
    state.updates.at = state.now
    if total != state.cluster.total or state.discipline.limits.outdated():
        state.cluster = Cluster.of(total)
        apply_limits(state)


def apply_limits(state: State, *, followed: bool = False) -> None:
    """Give every queue its limits, look again at what they blocked, and order everything anew.

    ``followed``: what queues are due was computed just now.
    """
    state.updates.resolved_types = len(state.types)
    state.discipline.limits.apply(followed=followed)
    for queue in state.tree.everywhere():
        if queue.blocked:
            state.relieved[queue] = None
    state.updates.limits_changed = state.plans.outdated = True
    look_again(state)
    for application in (one for whole in state.applications.values() for one in whole.everywhere()):
        application.limiting = tuple(queue for queue in application.chain if queue.limited)
    rekey_all(state)
    for application in state.applications.values():
        _find_oversized(state, application)


def apply_edits(state: State, settled: Settled) -> None:
    """Do what ``apply_limits`` does, for the queues that a settling changed alone; what comes of definitions is the same for all others."""
    apply_given(state, state.discipline.limits.edited(settled), settled.edited)


def apply_given(state: State, applied: dict[Queue, Had], edited: Container[Queue] = ()) -> None:
    """Look again at what the limits of some queues blocked, and order these queues anew, and what is below those that are ``edited``."""
    state.plans.outdated = True
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
        if were.max_running != queue.max_running or state.admission.running.further is not None:
            state.updates.limits_changed |= any(below.unadmitted for below in (queue.walk() if queue.children else (queue,)))
    look_again(state)


def _applications_of(queue: Queue) -> list[Application]:
    """Return the applications, or the parts of them, in a queue and below it."""
    return [application for below in queue.walk() for application in below.applications.values()]


def look_again(state: State) -> None:
    """Let those look again who wait for something that may be more now."""
    state.masters_relieved.update(state.masters_waiting)
    for users in state.contended.values():
        users.looked = None  # what users may have may be more now
    state.updates.demands_at = float("-inf")
    for ask in state.locality.until:
        state.locality.until[ask] = state.now  # the delays may be others now
        heappush(state.locality.timers, (state.now, state.number(), ask))


def _find_oversized(state: State, application: Application) -> None:
    """Park the asks of an application that are larger than its leaf allows now."""
    leaf = application.queue
    if leaf is not None and leaf.largest is not None:
        for ask in application.every_ask():
            too_large = oversized(leaf, ask.shape.charged) is not None
            if too_large and (ask.wait is None or ask.wait.reason != OVER_LARGEST):
                requeue(state, ask)
