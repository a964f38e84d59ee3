"""Hadoop's own update pass: demands from the bottom up, then instantaneous and steady fair shares from the top down.

The shares that FairScheduler decides by (``FSQueue.update``, ``ComputeFairShares``). Unlike the shares that are shown to users
they are not held at what is demanded; a queue without a runnable application has none; under fifo the first application is given
the queue's whole share; and what a policy does not distribute stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p
from typing import Protocol

from treadle.core.rules.policies import Cluster, Policy, Sharer
from treadle.core.units.amounts import add_to, f32, least
from treadle.core.units.resources import CPU, MEMORY, Vector


class Runner(Sharer, Protocol):
    """An application as the pass sees it."""

    fair_share: Vector

    def outstanding(self) -> Vector:
        """Return the sum of what it still asks for, as a list of the caller's own."""
        ...


class Holder(Sharer, Protocol):
    """A queue as the pass sees it. ``running_below`` counts the runnable applications of it and of all queues below."""

    policy: Policy
    fair_share: Vector
    steady_share: Vector
    running_below: int

    @property
    def parental(self) -> bool:
        """Whether it is for child queues."""
        ...

    @property
    def below(self) -> Sequence[Holder]:
        """The child queues, in the order in which they were made."""
        ...

    @property
    def runnable(self) -> Sequence[Runner]:
        """A leaf's applications that may run."""
        ...

    @property
    def waiting(self) -> Sequence[Runner]:
        """A leaf's applications that may not run yet."""
        ...


def update_demands(queue: Holder, cluster: Cluster, *, size_based_weight: bool) -> None:
    """Recompute the demands of a queue and all below it, held at each one's maximum.

    A parent hands up memory and cpu only (``FSParentQueue.getDemand``). Weights of applications follow their demand if so wanted.
    """
    total = [0] * len(cluster.total)
    for child in queue.below:
        update_demands(child, cluster, size_based_weight=size_based_weight)
        add_to(total, child.demand)
    for application in (*queue.runnable, *queue.waiting):
        application.demand = application.outstanding()
        add_to(application.demand, application.usage)
        if size_based_weight:
            application.weight = f32(log1p(application.demand[MEMORY]) / log(2))
        add_to(total, application.demand)
    if queue.maximum is not None:
        total = least(total, queue.maximum)
    if queue.parental:
        total = [value if position in {MEMORY, CPU} else 0 for position, value in enumerate(total)]
    queue.demand = total


def update_instant_shares(queue: Holder, cluster: Cluster, share: Sequence[int]) -> None:
    """Give a queue its share and distribute it below: to active child queues, or to a leaf's runnable applications."""
    queue.fair_share = list(share)
    children = queue.below
    if queue.parental:
        busy = [child.running_below > 0 for child in children]
        found = queue.policy.shares(cluster, share, children, busy, [child.fair_share for child in children])
        for child, its in zip(children, found, strict=True):
            update_instant_shares(child, cluster, its)
        return
    running = queue.runnable
    before = [application.fair_share for application in running]
    for application, its in zip(
        running, queue.policy.shares(cluster, share, running, [True] * len(running), before), strict=True
    ):
        application.fair_share = its


def update_steady_shares(queue: Holder, cluster: Cluster) -> None:
    """Distribute a queue's steady share below, as if all were busy; applications have none. The caller sets the root's."""
    children = queue.below
    if not children or queue.policy.name == "fifo":
        return
    before = [child.steady_share for child in children]
    found = queue.policy.shares(cluster, queue.steady_share, children, [True] * len(children), before)
    for child, its in zip(children, found, strict=True):
        child.steady_share = its
        update_steady_shares(child, cluster)
