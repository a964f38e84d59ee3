"""What Hadoop refuses in definitions of queues (``AbstractParentQueue.setChildQueues`` in legacy mode, ``CapacitySchedulerConfiguration``)."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.core.errors import InvalidSpec
from treadle.core.model.capacity import Capacity, Kind
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import add_to, f32
from treadle.core.units.resources import Vector

PRECISION = f32(0.0005)
WEIGHT, ABSOLUTE, PERCENT = "weight", "absolute", "percent"
MOST_WEIGHT = 10000.0


class Refused(InvalidSpec):
    """Definitions that cannot be in force; ``hadoop`` is the exception that Hadoop throws."""

    def __init__(self, hadoop: str, message: str) -> None:
        self.hadoop = hadoop
        super().__init__(message)


def kind_of(queues: Sequence[CapacityQueue], partitions: Sequence[str], where: str) -> str:
    """Return how queues say their capacities, and refuse a mixture."""
    shares = [queue.share(partition) for queue in queues for partition in partitions]
    weight = any(share.weight >= 0 for queue in queues for name, share in queue.shares.items() if name in partitions)
    absolute = any(any(share.configured_minimum) for share in shares)
    percent = any(share.capacity > 0 for share in shares if not any(share.configured_minimum))
    if absolute:
        percent = _percent_after_absolute(queues, partitions)
    if queues and queues[0].parent is not None and weight + absolute + percent > 1:
        raise Refused("IOException", f"{where}: percentages, weights and absolute resources are mixed among the child queues")
    return WEIGHT if weight or not queues else ABSOLUTE if absolute else PERCENT


def _percent_after_absolute(queues: Sequence[CapacityQueue], partitions: Sequence[str]) -> bool:
    """Hadoop forgets a percentage when an absolute queue follows it."""
    percent = False
    for queue in queues:
        for partition in partitions:
            share = queue.share(partition)
            percent = percent or share.capacity > 0
            if any(share.configured_minimum):
                percent = False
    return percent


def check_children(parent: CapacityQueue, children: Sequence[CapacityQueue]) -> None:
    """Refuse children whose capacities do not make sense together. Without legacy mode anything goes."""
    if not parent.context.settings.legacy or parent.context.lenient:
        return
    partitions = list(parent.shares)
    below, above = kind_of(children, partitions, parent.path), kind_of([parent], partitions, parent.path)
    if ABSOLUTE in {below, above}:
        if below != above and parent.parent is not None:
            raise Refused("IOException", f"{parent.path}: absolute resources must be used by a queue and its children alike")
        _check_amounts(parent, children, partitions)
    if below == PERCENT:
        for partition in partitions:
            _check_sum(parent, children, partition, of_percent=above == PERCENT)


def _check_amounts(parent: CapacityQueue, children: Sequence[CapacityQueue], partitions: Sequence[str]) -> None:
    context = parent.context
    for partition in partitions:
        total = context.none()
        for child in children:
            add_to(total, child.share(partition).configured_minimum)
        own = parent.share(partition).configured_minimum
        if any(own) and context.calculator.less(context.of(partition), own, total):
            raise Refused("IOException", f"{parent.path}: the children have more absolute resources than the queue")


def _check_sum(parent: CapacityQueue, children: Sequence[CapacityQueue], partition: str, *, of_percent: bool) -> None:
    total = 0.0
    for child in children:
        total = f32(total + child.share(partition).capacity)
    own = abs(parent.share(partition).capacity)
    allowed = parent.allow_zero_sum
    where = f"{parent.path}: capacity: the children's sum{f' in partition {partition}' if partition else ''} is {total * 100:g}%"
    if abs(f32(1.0 - total)) > PRECISION:
        if abs(total) > PRECISION:
            raise Refused("IOException", f"{where}; it must be 0 or 100")
        if of_percent and own > PRECISION and not allowed:
            raise Refused("IOException", f"{where}, but the queue has capacity (allow-zero-capacity-sum)")
    elif of_percent and own <= 0 and not allowed:
        raise Refused("IOException", f"{where}, but the queue has none")


def check_maximum(queue: CapacityQueue, amount: Vector, most: Vector, why: str) -> None:
    """Refuse an absolute amount that is over another one, if that was said at all."""
    if any(most) and queue.context.calculator.more(queue.context.total, amount, most):
        raise Refused("IllegalArgumentException", f"{queue.path}: {why} ({amount} over {most})")


def check_no_weight(path: str, maximum: Capacity) -> None:
    """Refuse a maximum that is, or has among its types, a weight: what one may have at most is no matter of one's siblings."""
    portions = (maximum.uniform, *maximum.types.values())
    weight = next((one.value for one in portions if one is not None and one.kind is Kind.WEIGHT), None)
    if weight is not None:
        words = f"{path}: maximum-capacity: {weight:g}w is a weight; allowed are percentages and amounts"
        raise Refused("IllegalArgumentException", words)


def check_weights(path: str, weight: float) -> float:
    """Refuse a weight that is out of range."""
    if (weight < -1e-6 and abs(weight + 1) > 1e-6) or weight > MOST_WEIGHT:
        raise Refused("IllegalArgumentException", f"{path}: capacity: weight {weight} is not between 0 and {MOST_WEIGHT:g}")
    return f32(weight)


def same_kind(queue: CapacityQueue, kind: str, other: str, partition: str) -> None:
    """Refuse percentages in one partition and absolute resources in another."""
    if kind != other and queue.parent is not None and queue.context.settings.legacy:
        raise Refused(
            "IllegalArgumentException",
            f"{queue.path}: capacity: either percentages or absolute resources; partition {partition} differs",
        )
