"""Minimum and maximum of queues, resolved against the cluster, and the check at every placement.

The maximum in force is never below the minimum (``effMax`` of FairScheduler), and each ancestor's own maximum holds as well.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.core.kernel.tree.members import Queue
from treadle.core.model import Limit
from treadle.core.rules.policies import Ranker
from treadle.core.units.resources import UNBOUNDED, Demand, ResourceTypes, Vector


class Had(NamedTuple):
    """What a queue had before its limits were resolved again, as far as others depend on it."""

    limited: bool
    largest: Vector | None
    max_running: int
    rank: Ranker

    @classmethod
    def of(cls, queue: Queue) -> Had:
        """Return what a queue has now."""
        return cls(queue.limited, queue.largest, queue.max_running, queue.rank)


def resolve(queue: Queue, total: Vector, types: ResourceTypes, default: dict[str, Limit] | None = None) -> None:
    """Turn the limits of a definition into vectors for a cluster of ``total``; ``default`` is the maximum of one that names none.

    A queue that a placement rule made has the maximum that its parent gives such children (``maxChildResources``) before the
    default.
    """
    queue.minimum = _vector(queue.spec.minimum, total, types, 0) if queue.spec.minimum else None
    own: dict[str, Limit] | None = queue.spec.maximum or None
    if queue.dynamic and queue.parent is not None:
        own = queue.parent.spec.max_child
    maximum = _vector(own if own is not None else default or {}, total, types, UNBOUNDED)
    if queue.minimum is not None:
        maximum = [max(pair) for pair in zip(maximum, queue.minimum, strict=True)]
    queue.maximum = maximum
    queue.limited = any(value < UNBOUNDED for value in maximum)
    source = own if own is not None else default or {}
    queue.zero = tuple(
        position
        for position, name in enumerate(types.names)
        if not maximum[position] and name in source and not (source[name].percent or source[name].value)
    )


def resolve_largest(queue: Queue, total: Vector, types: ResourceTypes) -> None:
    """Resolve the most that one pod may have in a queue (``maxContainerAllocation``): its own limit, else the nearest one above."""
    if queue.spec.max_container:
        queue.largest = _vector(queue.spec.max_container, total, types, UNBOUNDED)
    else:
        queue.largest = queue.parent.largest if queue.parent is not None else None


def _vector(limits: dict[str, Limit], total: Vector, types: ResourceTypes, default: int) -> Vector:
    vector = [default] * types.width
    for name, limit in limits.items():
        position = types.index.get(name)
        if position is not None:
            vector[position] = limit.resolve(total[position])
    return vector


def exceeded(chain: tuple[Queue, ...], demand: Demand) -> tuple[Queue, int] | None:
    """Return the first queue up the chain whose maximum a placement would break and the resource type, or None."""
    for queue in chain:
        usage, maximum = queue.usage, queue.maximum
        for position, value in demand:
            if usage[position] + value > maximum[position]:
                return queue, position
    return None
