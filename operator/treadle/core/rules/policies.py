"""What a scheduling policy is: who among siblings is served first, what each one's share is, and what is left to ask for.

A policy is three things: ``compare`` orders siblings, ``shares`` divides what their queue has, ``headroom`` says what is left. A
policy of one's own is a class with a ``name`` and a ``compare``: whatever else it leaves out is as described here. ``register``
makes it known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any, Protocol

from treadle.core.errors import InvalidSpec
from treadle.core.rules.shares import fair_shares
from treadle.core.units.amounts import beyond, least, loosely_beyond
from treadle.core.units.comparison import memory_only
from treadle.core.units.resources import PODS, UNBOUNDED, Vector

Key = tuple[Any, ...]


class Schedulable(Protocol):
    """What a policy may look at; both queues and applications have it. ``minimum`` is None where there is none."""

    name: str
    start: float
    priority: int
    weight: float
    usage: Vector
    demand: Vector
    minimum: Vector | None


class Ranked(Schedulable, Protocol):
    """One that gets keys."""

    turn: tuple[float, str]
    """``(start, name)``, which breaks ties."""


class Sharer(Schedulable, Protocol):
    """One that gets a share."""

    @property
    def maximum(self) -> Vector | None:
        """The most it may get of each type; None where there is no limit."""
        ...


@dataclass(slots=True)
class Cluster:
    """What can be shared: totals, and for drf the types that count (not pods, and nothing the cluster has none of)."""

    total: Vector
    counted: tuple[int, ...] = field(default=())
    per: list[float] = field(default_factory=list)
    loose: bool = False
    """Whether differences of amounts stop at zero in memory and cpu only, as Hadoop's do."""

    @staticmethod
    def of(total: Sequence[int], *, every: bool = False) -> Cluster:
        """Describe a cluster by its totals, one for each resource type.

        With ``every`` it is done as in Hadoop: types of which there is nothing count, and differences are ``loose``.
        """
        counted = tuple(position for position, value in enumerate(total) if (every or value > 0) and position != PODS)
        per = [1.0 / value if value > 0 else 0.0 for value in total]
        return Cluster(list(total), counted, per, every)

    def over(self, one: Sequence[int], other: Sequence[int]) -> Vector:
        """Return what one amount has over another."""
        return loosely_beyond(one, other) if self.loose else beyond(one, other)


Ranker = Callable[[Ranked], Key]
"""Gives a sibling its key, which ends with the sibling itself. The smallest key is served first; names keep siblings apart."""
Compare = Callable[[Schedulable, Schedulable], int]
"""Compares two siblings: negative if the first is served first."""


class Policy(Protocol):
    """How the children of a queue share.

    Only ``name`` and ``compare`` have to be given. ``compare`` must be a total order but for siblings without weight.
    """

    name: str

    @property
    def children(self) -> frozenset[str] | None:
        """The names of the policies that child queues may have; None for a policy of leaf queues only."""
        return None

    def compare(self, cluster: Cluster) -> Compare:
        """Return the function that orders siblings while the cluster is this one."""
        ...

    def ranker(self, cluster: Cluster) -> Ranker:
        """Return the function that gives siblings that want something the keys that order them as ``compare`` does."""
        key = cmp_to_key(self.compare(cluster))
        return lambda of: (key(of), of)

    def counts(self, cluster: Cluster) -> tuple[int, ...]:
        """Return the resource types whose shares this policy distributes by weight."""
        return cluster.counted

    def shares(
        self, cluster: Cluster, total: Sequence[int], siblings: Sequence[Sharer], busy: Sequence[bool], before: Sequence[Vector]
    ) -> list[Vector]:
        """Return each sibling's share of ``total``.

        Those not ``busy`` get nothing; types that do not count stay as in ``before``.
        """
        result = [list(vector) for vector in before]
        for position in self.counts(cluster):
            minima = [0 if of.minimum is None else of.minimum[position] for of in siblings]
            maxima = [UNBOUNDED if of.maximum is None else of.maximum[position] for of in siblings]
            found = fair_shares(total[position], [of.weight for of in siblings], minima, maxima, busy)
            for vector, share in zip(result, found, strict=True):
                vector[position] = share
        return result

    def headroom(self, cluster: Cluster, share: Sequence[int], usage: Sequence[int], available: Sequence[int]) -> Vector:
        """Return what an application may still ask for: its queue's share and usage are given, and what limits and cluster leave."""
        del cluster
        left = [max(a - b, 0) for a, b in zip(share, usage, strict=True)]
        return least(left, available)

    def weigh(self, cluster: Cluster, one: Sequence[int], other: Sequence[int], *, single: bool = False) -> int:
        """Compare two amounts, by memory unless said otherwise. ``single``: by the one type that matters most."""
        del single
        return memory_only(cluster.total, one, other)


BUILT_IN: set[type[Policy]] = set()
"""The classes of policies whose keys look at demands as ``disciplines.fair`` knows they do; those of one's own may look at whatever they like."""
POLICIES: dict[str, Policy] = {}


def register(policy: Policy) -> None:
    """Make a policy known under its name. Raises ``InvalidSpec`` if another one has that name already."""
    known = POLICIES.setdefault(policy.name, policy)
    if known is not policy and type(known) is not type(policy):
        raise InvalidSpec(f"a scheduling policy {policy.name!r} is registered already; choose another name")


def policy_named(name: str) -> Policy:
    """Return a policy by name. Raises ``InvalidSpec`` with the known names."""
    policy = POLICIES.get(name)
    if policy is None:
        raise InvalidSpec(f"schedulingPolicy: {name!r} is not known; allowed are {', '.join(sorted(POLICIES))}")
    return policy
