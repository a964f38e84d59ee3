"""The update pass: demand from the bottom up, then fair shares from the top down, a level of the tree at a time.

The pass of Hadoop's ``FairScheduler.update``. Two shares are kept: the steady fair share of every queue as if all were busy,
and the fair share of those that have something to run. The latter is held at what its owner demands, so that it says what
can be had at present: what one does not want is shared by the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.fair.shares import grouped_shares
from treadle.core.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.fair.policies import Cluster
    from treadle.core.tree.application import Application
    from treadle.core.tree.queue import Queue

    Child = Queue | Application


def update_demand(queue: Queue, width: int) -> None:
    """Recompute what a queue and all below it hold and want: pending, counts, and the demand, held at each queue's maximum."""
    total = [0] * width
    pending = [0] * width
    running = accepted = pods = 0
    for child in queue.children.values():
        update_demand(child, width)
        running, accepted, pods = running + child.running, accepted + child.accepted, pods + child.waiting_pods
        for position in range(width):
            total[position] += child.demand[position]
            pending[position] += child.pending[position]
    for application in queue.applications.values():
        if application.allocated:
            running += 1
        else:
            accepted += 1
        if not application.asks:
            application.demand = list(application.usage)
        else:
            waiting = application.pending_demand(width)
            pods += application.pending
            application.demand = [used + more for used, more in zip(application.usage, waiting, strict=True)]
            for position, value in enumerate(waiting):
                pending[position] += value
        for position, value in enumerate(application.demand):
            total[position] += value
    queue.pending, queue.running, queue.accepted, queue.waiting_pods = pending, running, accepted, pods
    queue.demand = [min(value, most) for value, most in zip(total, queue.maximum, strict=True)]


def update_shares(root: Queue, cluster: Cluster) -> None:
    """Recompute the steady and the present fair share of every queue, and of every application; demands are current."""
    root.steady_share = list(cluster.total)
    root.fair_share = [0] * len(cluster.total)
    for position in cluster.counted:
        root.fair_share[position] = min(cluster.total[position], root.demand[position])
    level = [root]
    while level:
        groups = [(queue, children) for queue in level if (children := queue.members())]
        _distribute(groups, cluster, steady=False)
        below = [(queue, list(queue.children.values())) for queue in level if queue.children]
        _distribute(below, cluster, steady=True)
        level = [child for _, children in below for child in children]


def _distribute(groups: Sequence[tuple[Queue, Sequence[Child]]], cluster: Cluster, *, steady: bool) -> None:
    """Share what each queue of a level has among its children, one resource type after the other over all of them."""
    width = len(cluster.total)
    for _, children in groups:
        for child in children:
            if steady:
                child.steady_share = [0] * width  # type: ignore[union-attr] # only queues have a steady share
            else:
                child.fair_share = [0] * width
    ranked = [(queue, children) for queue, children in groups if queue.policy.name != "fifo"]
    if not steady:
        for queue, children in groups:
            if queue.policy.name == "fifo":
                _first_come(queue, children)
    for position in range(width):
        counting = [(queue, children) for queue, children in ranked if position in queue.policy.counts(cluster)]
        members = [child for _, children in counting for child in children]
        if not members:
            continue
        shares = grouped_shares(
            np.array([(queue.steady_share if steady else queue.fair_share)[position] for queue, _ in counting], dtype=np.int64),
            np.repeat(np.arange(len(counting)), [len(children) for _, children in counting]),
            np.array([child.weight for child in members], dtype=np.float32).astype(np.float64),
            np.array([_minimum(child, position, steady=steady) for child in members], dtype=np.int64),
            np.array([_most(child, position, steady=steady) for child in members], dtype=np.int64),
            np.ones(len(members), dtype=np.bool_),
        )
        for child, share in zip(members, shares.tolist(), strict=True):
            if steady:
                child.steady_share[position] = share  # type: ignore[union-attr] # only queues have a steady share
            else:
                child.fair_share[position] = share


def _minimum(child: Child, position: int, *, steady: bool) -> int:
    if child.minimum is None:
        return 0
    return child.minimum[position] if steady else min(child.minimum[position], child.demand[position])


def _most(child: Child, position: int, *, steady: bool) -> int:
    most = UNBOUNDED if child.maximum is None else child.maximum[position]
    return most if steady else min(most, child.demand[position])


def _first_come(queue: Queue, children: Sequence[Child]) -> None:
    """Give each application in order what it demands of what its predecessors leave."""
    left = list(queue.fair_share)
    for child in sorted(children, key=lambda child: (-child.priority, child.start, child.name)):
        child.fair_share = [min(rest, wanted) for rest, wanted in zip(left, child.demand, strict=True)]
        left = [rest - share for rest, share in zip(left, child.fair_share, strict=True)]
