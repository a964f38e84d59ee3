"""Who is starved: applications below their fair share, and leaves below their minimum share, for longer than a timeout.

Hadoop's ``FSLeafQueue.updateStarvedApps`` and ``FSAppAttempt.fairShareStarvation``. A starved application carries two amounts:
what it lacks to the part of its fair share that the leaf's threshold names, and what it is to get of what its leaf lacks to the
minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from treadle.core.rules.policies import Cluster, Policy, Schedulable
from treadle.core.units.amounts import f32, least, minus, plus, scaled
from treadle.core.units.resources import CPU, MEMORY, Vector


class Hungry(Schedulable, Protocol):
    """An application that may be starved. Times are in seconds of the caller's clock.

    ``share_met_at`` is when it was last seen at its share, ``next_check`` before when it is not looked at again since it was just
    helped.
    """

    fair_share: Vector
    share_met_at: float
    next_check: float
    short_of_share: Vector
    short_of_minimum: Vector


class Leaf(Protocol):
    """A leaf queue with the preemption settings in force for it; None is a timeout that never ends."""

    policy: Policy
    minimum: Vector | None
    demand: Vector
    usage: Vector
    fair_share_threshold: float
    fair_share_timeout: float | None
    min_share_timeout: float | None
    minimum_met_at: float


def worth_looking(cluster: Cluster, allocated: Sequence[int], threshold: float) -> bool:
    """Whether the cluster is used enough for preemption: memory or cpu, whichever is used more, over ``threshold``."""
    if not cluster.total[MEMORY] or not cluster.total[CPU]:
        return False
    used = max(f32(f32(allocated[at]) / f32(cluster.total[at])) for at in (MEMORY, CPU))
    return f32(threshold) < used


def wants(application: Schedulable) -> bool:
    """Whether an application asked for more than it has, as of the last update."""
    return application.usage != application.demand


def below_share(policy: Policy, cluster: Cluster, usage: Sequence[int], share: Sequence[int]) -> bool:
    """Whether a usage is below a share by the one type that matters most to the policy."""
    return policy.weigh(cluster, usage, share, single=True) < 0


def is_starved(policy: Policy, cluster: Cluster, application: Hungry) -> bool:
    """Whether an application is below its whole fair share now, or carries a part of its leaf's lack of minimum share."""
    return below_share(policy, cluster, application.usage, application.fair_share) or any(application.short_of_minimum)


def short_of_share(application: Hungry, leaf: Leaf, cluster: Cluster, now: float) -> Vector:
    """Return, and note, what an application lacks to the threshold of its fair share since the timeout or longer; zeros if nothing."""
    threshold = scaled(application.fair_share, f32(leaf.fair_share_threshold))
    wanted = least(threshold, application.demand)
    starved = below_share(leaf.policy, cluster, application.usage, wanted)
    if not starved:
        application.share_met_at = now
    if starved and leaf.fair_share_timeout is not None and now - application.share_met_at >= leaf.fair_share_timeout:
        application.short_of_share = cluster.over(wanted, application.usage)
    else:
        application.short_of_share = [0] * len(wanted)
    return application.short_of_share


def short_of_minimum(leaf: Leaf, cluster: Cluster, now: float) -> Vector:
    """Return what a leaf lacks to its minimum share, or to its demand if that is less, since the timeout or longer; zeros if nothing."""
    minimum = leaf.minimum if leaf.minimum is not None else [0] * len(leaf.usage)
    lack = cluster.over(least(minimum, leaf.demand), leaf.usage)
    if not any(lack):
        leaf.minimum_met_at = now
    if leaf.min_share_timeout is None or now - leaf.minimum_met_at < leaf.min_share_timeout:
        return [0] * len(lack)
    return lack


def find_starved(
    leaf: Leaf, candidates: Iterable[Hungry], cluster: Cluster, now: float, *, remainder: bool = True
) -> Iterator[Hungry]:
    """Yield who of a leaf is starved, each at the moment when Hadoop notes it, before the amounts of the next are known; one may come twice.

    ``candidates`` want more and are due for a check, in the leaf's order. The first that is not short of its share ends the
    search. One that needs more than is left of the leaf's lack of minimum is noted with that rest; with ``remainder``, as in
    Hadoop, with what its need has over that rest, which may be more than the leaf is owed.
    """
    lacking = [0] * len(leaf.usage)
    candidates = list(candidates)
    for application in candidates:
        short = short_of_share(application, leaf, cluster, now)
        if not any(short):
            break
        yield application
        lacking = plus(lacking, short)
    left = cluster.over(short_of_minimum(leaf, cluster, now), lacking)
    for application in candidates:
        if not any(left):
            application.short_of_minimum = [0] * len(left)
            continue
        need = cluster.over(minus(application.demand, application.usage), application.short_of_share)
        if leaf.policy.weigh(cluster, need, left) > 0:
            need, left = cluster.over(need, left) if remainder else least(need, left), [0] * len(left)
        else:
            left = cluster.over(left, need)
        application.short_of_minimum = need
        yield application


def starvation(application: Hungry) -> Vector:
    """Return all that an application lacks."""
    return plus(application.short_of_share, application.short_of_minimum)
