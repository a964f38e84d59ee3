"""The keys by which the live order serves queues and applications: the comparisons of ``rules.capacity.ordering`` as tuples.

A key ends with what it ranks, and ties are broken before that, so that keys are totally ordered.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, log1p
from typing import TYPE_CHECKING, Any

from treadle.core.rules.capacity.ordering import BY_PRIORITY, FAIR, natural
from treadle.core.units.resources import MEMORY

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.rules.policies import Key

FEW_MIB = 1 << 20


class QueueRank:
    """What ranks a queue among its siblings in one partition, apart from its usage.

    ``totals`` is the size of the partition by type, ``due`` the part of it that the queue is guaranteed, 1 if it is guaranteed
    nothing; ``after`` breaks ties. The arithmetic is that of ``Calculator.divide``, so that what is equal there is equal here.
    """

    __slots__ = ("after", "due", "group", "priority", "totals")

    def __init__(self, capacity: CapacityQueue, partition: str, number: tuple[bool, int]) -> None:
        context, share = capacity.context, capacity.share(partition)
        total = context.of(partition)
        guaranteed = context.calculator.larger(total, share.minimum, context.least)
        real = [at for at in sorted(context.calculator.deciding) if total[at]]
        due = max((guaranteed[at] / total[at] for at in real), default=1.0) if share.absolute > 0 else 1.0
        self.totals = tuple((at, total[at]) for at in real)
        self.due = due or 1.0
        self.group = (not capacity.may_use(partition), share.absolute <= 0)
        self.priority = capacity.priority
        own = natural(share.configured_minimum)
        self.after = (tuple(-value for value in own), -share.absolute if not any(own) else 0.0, number, capacity.path)


def queues_by_use(parent: CapacityQueue) -> Callable[[Queue], Key]:
    """Return the ranker of a parent's children: who has used the least part of what it is due, or by priority within that."""
    if parent.order == BY_PRIORITY:

        def rank(child: Queue) -> Key:
            queue_rank: Any = child.queue_rank
            usage, used = child.usage, 0.0
            for at, total in queue_rank.totals:
                used = max(used, usage[at] / total)
            used /= queue_rank.due
            return (queue_rank.group, used >= 1.0, -queue_rank.priority, used, queue_rank.after, child)
    else:

        def rank(child: Queue) -> Key:
            queue_rank: Any = child.queue_rank
            usage, used = child.usage, 0.0
            for at, total in queue_rank.totals:
                part = usage[at] / total
                if part > used:  # noqa: PLR1730 - the hottest comparison of all
                    used = part
            return (queue_rank.group, used / queue_rank.due, queue_rank.after, child)

    return rank


def applications_of(leaf: CapacityQueue) -> Callable[[Application], Key]:
    """Return the ranker of a leaf's applications: the urgent and the first, or who has the least memory."""
    default, ceiling = leaf.default_application_priority, leaf.context.settings.max_priority
    if leaf.spec.order == FAIR:
        sized = leaf.spec.size_based_weight

        def rank(application: Application) -> Key:
            memory = float(application.usage[MEMORY])
            if sized and memory:
                demand = sum(dict(ask.shape.demand).get(MEMORY, 0) * len(ask.pods) for ask in application.asks.values())
                memory /= max(log1p((memory + demand) / FEW_MIB) / log(2.0), 1e-9)
            return (memory, application.start, application.id, application)
    else:

        def rank(application: Application) -> Key:
            priority = application.priority or default
            return (-priority if priority < ceiling else -ceiling, application.start, application.id, application)

    return rank
