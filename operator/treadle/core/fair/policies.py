"""The policies fifo, fair and drf: who among siblings is served first.

Each turns a sibling (a queue or an application) into a key; the smallest key is served first. The order of the criteria is
that of Hadoop's ``FifoPolicy``, ``FairSharePolicy`` and ``DominantResourceFairnessPolicy``. The last criterion is the name, so
two siblings never tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.core.errors import InvalidSpec
from treadle.core.resources import MEMORY, PODS, Vector

Key = tuple[Any, ...]
INFINITE = float("inf")
NEEDY = -1.0
"""Starts the key of a sibling below its minimum: before every share, which is never negative."""


class Schedulable(Protocol):
    """What a policy may look at; both queues and applications have it. ``minimum`` is None where there is none."""

    name: str
    start: float
    priority: int
    weight: float
    usage: Vector
    demand: Vector
    minimum: Vector | None


@dataclass(slots=True)
class Cluster:
    """What can be shared: totals, and for drf the types that count (not pods, and nothing the cluster has none of)."""

    total: Vector
    counted: tuple[int, ...] = field(default=())
    per: list[float] = field(default_factory=list)

    @staticmethod
    def of(total: Sequence[int]) -> Cluster:
        """Describe a cluster by its totals, one for each resource type."""
        counted = tuple(position for position, value in enumerate(total) if value > 0 and position != PODS)
        per = [1.0 / value if value > 0 else 0.0 for value in total]
        return Cluster(list(total), counted, per)


Ranker = Callable[[Schedulable], Key]
"""Gives a sibling its key, which ends with the sibling itself. The smallest key is served first; names keep siblings apart."""


class Policy(Protocol):
    """How the children of a queue share. ``children`` names the policies that a child queue may have; None: no child queues."""

    name: str
    children: frozenset[str] | None

    def ranker(self, cluster: Cluster) -> Ranker:
        """Return the function that gives siblings their keys while the cluster is this one."""
        ...

    def counts(self, cluster: Cluster) -> tuple[int, ...]:
        """Return the resource types whose shares this policy distributes."""
        ...


def _over(value: float, weight: float) -> float:
    return value / weight if weight > 0 else (INFINITE if value > 0 else 0.0)


class Fifo:
    """First come, first served: higher priority, then the earlier start. For the applications of a leaf only."""

    name = "fifo"
    children: frozenset[str] | None = None

    def ranker(self, cluster: Cluster) -> Ranker:  # noqa: ARG002 - one protocol for all policies
        """Return a function that gives ``(-priority, start, name, sibling)``."""
        return lambda of: (-of.priority, of.start, of.name, of)

    def counts(self, cluster: Cluster) -> tuple[int, ...]:
        """Return every type: the first application has the whole share of its queue."""
        return cluster.counted


class Fair:
    """Fair sharing of memory: those below their minimum share first, then the least usage for its weight."""

    name = "fair"
    children: frozenset[str] | None = frozenset({"fair", "fifo"})

    def ranker(self, cluster: Cluster) -> Ranker:  # noqa: ARG002 - one protocol for all policies
        """Return a function that gives ``(not needy, usage over minimum, weightless, usage over weight, start, name, sibling)``."""
        return self._key

    @staticmethod
    def _key(of: Schedulable) -> Key:
        usage, weight = of.usage[MEMORY], of.weight
        needy, ratio = 1, 0.0
        if of.minimum is not None:
            minimum = of.minimum[MEMORY]
            if usage < minimum:
                needy, ratio = 0, usage / max(minimum, 1)
        return (needy, ratio, weight <= 0, usage / weight if weight > 0 else usage, of.start, of.name, of)

    def counts(self, cluster: Cluster) -> tuple[int, ...]:  # noqa: ARG002 - one protocol for all policies
        """Return memory alone."""
        return (MEMORY,)


class Drf:
    """Dominant resource fairness: the largest fraction of any one resource, for its weight, decides."""

    name = "drf"
    children: frozenset[str] | None = frozenset({"fair", "drf", "fifo"})

    def ranker(self, cluster: Cluster) -> Ranker:
        """Return a function that gives ``(shares over weight by dominance, start, name, sibling)``; a needy one's key starts with -1 and its shares of the minimum."""
        counted, per = cluster.counted, cluster.per

        def general(of: Schedulable) -> Key:
            usage, weight, minimum = of.usage, of.weight, of.minimum
            rows = sorted(((usage[position] * per[position], -position) for position in counted), reverse=True)
            if minimum is not None and rows and usage[-rows[0][1]] < minimum[-rows[0][1]]:
                return (NEEDY, *(_over(usage[-position], minimum[-position]) for _, position in rows), of.start, of.name, of)
            return (*(_over(share, weight) for share, _ in rows), of.start, of.name, of)

        if len(counted) != 2:
            return general
        one, other = counted
        per_one, per_other = per[one], per[other]

        def of_two(of: Schedulable) -> Key:
            """The same for a cluster of two types, by far the commonest, without making lists."""
            weight = of.weight
            if weight <= 0 or of.minimum is not None:
                return general(of)
            usage = of.usage
            high, low = usage[one] * per_one, usage[other] * per_other
            if weight != 1.0:
                high, low = high / weight, low / weight
            return (high, low, of.start, of.name, of) if high >= low else (low, high, of.start, of.name, of)

        return of_two

    def counts(self, cluster: Cluster) -> tuple[int, ...]:
        """Return every type that the cluster has, but pods."""
        return cluster.counted


POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Fifo(), Fair(), Drf())}


def policy_named(name: str) -> Policy:
    """Return a policy by name. Raises ``InvalidSpec`` with the known names."""
    policy = POLICIES.get(name)
    if policy is None:
        raise InvalidSpec(f"schedulingPolicy: {name!r} is not known; allowed are {', '.join(sorted(POLICIES))}")
    return policy
