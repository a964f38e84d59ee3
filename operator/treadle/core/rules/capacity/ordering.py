"""Who comes first: among siblings by their used part of what they are due, among applications by the order of their leaf.

Hadoop's ``PriorityUtilizationQueueOrderingPolicy`` and ``policy.*OrderingPolicy``. A fair leaf ranks an application by the usage
that it had when it was last given something or gave something back; others keep their rank.
"""

from __future__ import annotations

from functools import cmp_to_key
from math import log, log1p

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.units.amounts import sign
from treadle.core.units.resources import MEMORY, PODS, Vector

BY_PRIORITY = "priority-utilization"
FAIR = "fair"
EXCLUSIVE = "fifo-with-partitions"


def by_part(one: float, other: float, priority: int, other_priority: int) -> int:
    """Compare two that have used a part of what they are due: by priority if both or neither have all of it, else the one that has less."""
    if priority != other_priority and (one < 1.0) == (other < 1.0):
        return (other_priority > priority) - (other_priority < priority)
    return (one > other) - (one < other)


def natural(vector: Vector) -> tuple[int, ...]:
    """Return the key by which amounts are compared without a cluster: type after type."""
    return tuple(value for position, value in enumerate(vector) if position != PODS)


def siblings(parent: CapacityQueue, partition: str) -> list[CapacityQueue]:
    """Return the child queues in the order in which they are served with a node of a partition."""
    by_priority = parent.order == BY_PRIORITY
    seen = [(child, child.share(partition)) for child in parent.children]
    keyed = [
        (child, child.may_use(partition), share.absolute, share.used_capacity, share.absolute_used, share.configured_minimum)
        for child, share in seen
    ]

    def compare(
        one: tuple[CapacityQueue, bool, float, float, float, Vector],
        other: tuple[CapacityQueue, bool, float, float, float, Vector],
    ) -> int:
        if partition != DEFAULT and one[1] != other[1]:
            return -1 if one[1] else 1
        if (one[2] > 0) != (other[2] > 0):
            return -1 if one[2] > 0 else 1
        at = 4 if one[2] == 0 and other[2] == 0 else 3
        first, second = (one[4], other[4]) if at == 4 else (one[3], other[3])
        result = by_part(first, second, one[0].priority if by_priority else 0, other[0].priority if by_priority else 0)
        if result:
            return result
        if any(one[5]) or any(other[5]):
            mine, theirs = natural(one[5]), natural(other[5])
            return (theirs > mine) - (theirs < mine)
        return sign(other[2] - one[2])

    return [each[0] for each in sorted(keyed, key=cmp_to_key(compare))]


def first_come(application: CapacityApplication) -> tuple[int, int]:
    """Return the key of fifo: the urgent first, then in the order of submission."""
    return -application.priority, application.order


def rank_anew(leaf: CapacityQueue, application: CapacityApplication) -> None:
    """Note that an application's usage changed, so that a fair leaf ranks it anew."""
    if leaf.spec.order == FAIR:
        leaf.unsorted[application.name] = application


def _refresh(leaf: CapacityQueue) -> None:
    for application in leaf.unsorted.values():
        if leaf.context.as_hadoop and application not in leaf.active:
            leaf.active.append(application)
        application.ranked_usage = application.usage.all_used()[MEMORY]
        application.ranked_pending = application.usage.all_pending()[MEMORY]
    leaf.unsorted.clear()


def _magnitude(leaf: CapacityQueue, application: CapacityApplication) -> float:
    usage = float(application.ranked_usage)
    if leaf.spec.size_based_weight and usage:
        weight = log1p(application.ranked_usage + application.ranked_pending) / log(2.0)
        if weight:
            return usage / weight
    return usage


def fairness(leaf: CapacityQueue, application: CapacityApplication) -> tuple[float, float, int, int]:
    """Return the key of a fair leaf: the one with the least first; of those with the same, first come first."""
    demand = application.ranked_usage + application.ranked_pending
    return _magnitude(leaf, application), application.start, int(demand == 0), application.order


def in_order(leaf: CapacityQueue, partition: str | None = None) -> list[CapacityApplication]:
    """Return the active applications in the order in which they are served with a node of a partition (``None``: all of them)."""
    if leaf.spec.order == FAIR:
        _refresh(leaf)
        return sorted(leaf.active, key=lambda each: fairness(leaf, each))
    found = leaf.active
    if leaf.spec.order == EXCLUSIVE and partition is not None:
        enforced = leaf.spec.enforced_partitions
        here = partition if partition in enforced else DEFAULT
        found = [each for each in found if (each.partition if each.partition in enforced else DEFAULT) == here]
    return sorted(found, key=first_come)


def for_preemption(leaf: CapacityQueue) -> list[CapacityApplication]:
    """Return the active applications, those first that are to give back first."""
    return list(reversed(in_order(leaf)))
