"""The shares of the update pass, from the top down, a level of the tree at a time.

The pass of Hadoop's ``FairScheduler.update``. Three shares are kept: the steady fair share of every queue as if all were busy;
the instantaneous one of those that are and of their applications, which preemption goes by; and the fair share of every queue
that is shown, which is also held at what it demands, so that it says what can be had at present: what one does not want is
shared by the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from treadle.core.rules.policies import Policy
from treadle.core.rules.shares import FINE, grouped_shares
from treadle.core.units.amounts import least
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.rules.policies import Cluster

    Child: TypeAlias = Queue | Application


class _Share(NamedTuple):
    """A kind of share: where it is kept, whether it is held at the demand, and whether only those who may run have one."""

    attribute: str
    held: bool = False
    busy: bool = False


STEADY = _Share("steady_share")
PRESENT = _Share("fair_share", held=True)
INSTANT = _Share("instant_share", busy=True)


def update_shares(root: Queue, cluster: Cluster) -> None:
    """Recompute the steady and the present fair share of every queue; demands are current."""
    root.steady_share = list(cluster.total)
    root.fair_share = [0] * len(cluster.total)
    for position in cluster.counted:
        root.fair_share[position] = min(cluster.total[position], root.demand[position])
    _descend(root, cluster, PRESENT)
    _descend(root, cluster, STEADY)


def update_steady_share(queue: Queue, cluster: Cluster) -> None:
    """Recompute the steady fair share of one queue, those above it and their siblings."""
    above = list(reversed(queue.chain))
    above[0].steady_share = list(cluster.total)
    for parent in above[:-1]:
        _share_out([parent], cluster, STEADY)


def update_instant_shares(root: Queue, cluster: Cluster) -> None:
    """Recompute Hadoop's instantaneous fair shares, which preemption and the limit on masters go by; counts are current.

    They are not held at the demand: the share of a busy queue says what is owed, however little is asked for.
    """
    root.instant_share = list(cluster.total)
    _descend(root, cluster, INSTANT)


def _descend(root: Queue, cluster: Cluster, kind: _Share) -> None:
    level = [root]
    while level:
        _share_out(level, cluster, kind)
        level = [child for queue in level for child in queue.children.values()]


def _share_out(level: Sequence[Queue], cluster: Cluster, kind: _Share) -> None:
    """Share what each queue of a level has among its children."""
    groups: list[tuple[Queue, Sequence[Child]]] = []
    for queue in level:
        children: Sequence[Child] = queue.members() if kind is INSTANT else list(queue.children.values())
        if children and queue.policy.name == "fifo":
            _first_come(queue, children, len(cluster.total))
        elif children and type(queue.policy).shares is not Policy.shares:
            _by_its_own(queue, children, cluster, kind)
        elif children:
            groups.append((queue, children))
    if groups:
        _distribute(groups, cluster, kind)


def _by_its_own(queue: Queue, children: Sequence[Child], cluster: Cluster, kind: _Share) -> None:
    """Let a policy that shares in a way of its own do so."""
    nothing = [[0] * len(cluster.total) for _ in children]
    busy = [child.busy if kind.busy else True for child in children]
    found = queue.policy.shares(cluster, getattr(queue, kind.attribute), children, busy, nothing)
    for child, share in zip(children, found, strict=True):
        setattr(child, kind.attribute, least(share, child.demand) if kind.held else list(share))


def _distribute(groups: Sequence[tuple[Queue, Sequence[Child]]], cluster: Cluster, kind: _Share) -> None:
    """Share what each queue of a level has among its children: all queues and all resource types in one search."""
    count = len(groups)
    types = sorted({position for queue, _ in groups for position in queue.policy.counts(cluster)})
    width = len(types)
    members = [child for _, children in groups for child in children]
    group = np.repeat(np.arange(count), [len(children) for _, children in groups])
    minima = np.zeros((len(members), width), dtype=np.int64)
    maxima = np.full((len(members), width), UNBOUNDED, dtype=np.int64)
    for row, child in enumerate(members):
        if child.minimum is not None:
            minima[row] = [child.minimum[position] for position in types]
        if child.maximum is not None:
            maxima[row] = [child.maximum[position] for position in types]
    if kind.held:
        demand = np.array([child.demand for child in members], dtype=np.int64)[:, types]
        np.minimum(minima, demand, out=minima)
        np.minimum(maxima, demand, out=maxima)
    counts = np.zeros((count, width), dtype=np.bool_)
    for row, (queue, _) in enumerate(groups):
        counts[row] = [position in queue.policy.counts(cluster) for position in types]
    maxima[~counts[group]] = 0  # nothing of what the policy does not distribute
    active = np.array([child.busy for child in members], dtype=np.bool_) if kind.busy else np.ones(len(members), dtype=np.bool_)
    totals = np.array([getattr(queue, kind.attribute) for queue, _ in groups], dtype=np.int64)[:, types]
    shares = grouped_shares(
        totals.T.ravel(),
        (np.arange(width)[:, None] * count + group).ravel(),
        np.tile(np.array([child.weight for child in members], dtype=np.float32).astype(np.float64), width),
        minima.T.ravel(),
        maxima.T.ravel(),
        np.tile(active, width),
        FINE,
    )
    found = np.zeros((len(members), len(cluster.total)), dtype=np.int64)
    found[:, types] = shares.reshape(width, len(members)).T
    for child, share in zip(members, found.tolist(), strict=True):
        setattr(child, kind.attribute, share)


def _first_come(queue: Queue, children: Sequence[Child], width: int) -> None:
    """Give the first application all, as Hadoop does."""
    total = list(queue.instant_share)
    for child in sorted(children, key=lambda child: (-child.priority, child.start, child.name)):
        child.instant_share = share = total if child.busy else [0] * width
        total = [rest - its for rest, its in zip(total, share, strict=True)]
