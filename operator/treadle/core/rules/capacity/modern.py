"""Capacities of every kind beside each other, type by type (Hadoop's ``CapacitySchedulerQueueCapacityHandler``, legacy mode off).

In each type, absolute amounts are served first, then percentages of what these left, then weights of what both left. A child
never gets more than what is left (a leaf of a managed parent that does not get all gets nothing), and without memory it gets
nothing of other types. What is over-promised is cut, with a warning instead of a refusal.
"""

from __future__ import annotations

from math import floor, isfinite, isinf, nan

from treadle.core.model.capacity import Kind, Portion
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import quotient
from treadle.core.units.resources import MEMORY, PODS

KINDS = (Kind.ABSOLUTE, Kind.PERCENT, Kind.WEIGHT)


def update(root: CapacityQueue) -> None:
    """Compute the root and its children; those below follow level by level."""
    for partition in root.configured:
        share = root.own(partition)
        share.minimum, share.maximum = list(root.context.of(partition)), list(root.context.of(partition))
        share.absolute = 1.0
        if share.weight == 1.0:
            share.normalized_weight = 1.0
    update_children(root)


def portion(queue: CapacityQueue, partition: str, position: int, *, maximum: bool = False) -> Portion | None:
    """Return what is configured for one type of a partition; ``None`` if that is nothing."""
    if queue.parent is None:
        return Portion(Kind.PERCENT, 100.0)
    given = queue.imposed.get(partition, queue.spec.partitions.get(partition))
    if given is None:
        return None
    capacity = given.maximum if maximum else given.guaranteed
    if capacity.uniform is not None:
        return capacity.uniform
    name = queue.context.types.names[position]
    if capacity.written_by_type and capacity.types:
        return capacity.types.get(name, Portion(Kind.ABSOLUTE, 0.0))
    return None


class _Level:
    """The children of one queue while their amounts are computed, for one partition and one type."""

    def __init__(self, parent: CapacityQueue, partition: str, position: int) -> None:
        self.parent, self.partition, self.position = parent, partition, position
        self.total = float(parent.context.of(partition)[position])
        self.due = float(parent.share(partition).minimum[position])
        self.overall = self.batch = self.due
        self.children = [child for child in parent.children if partition in child.configured]
        self.given = [portion(child, partition, position) for child in self.children]
        amounts = sum(int(one.value) for one in self.given if one is not None and one.kind is Kind.ABSOLUTE)
        self.weights = sum(one.value for one in self.given if one is not None and one.kind is Kind.WEIGHT)
        numerator = parent.context.single(self.due) if self.due < amounts else parent.context.single(amounts)
        scaled = amounts and parent.entitlements is None
        self.ratio = parent.context.single(quotient(numerator, parent.context.single(amounts))) if scaled else 1.0

    def run(self) -> None:
        """Serve the kinds one after the other."""
        for kind in KINDS:
            used = 0.0
            for child, given in zip(self.children, self.given, strict=True):
                if given is not None and given.kind is kind:
                    amount = self._serve(child, given)
                    used += amount
                    self.overall -= amount
            self.batch -= used

    def _minimum(self, given: Portion) -> float:
        left = quotient(self.batch, self.due)
        if given.kind is Kind.ABSOLUTE:
            return self.ratio * left * given.value
        part = quotient(self.due, self.total)
        if given.kind is Kind.PERCENT:
            return self.total * (part * left * given.value / 100.0)
        weight = given.value / self.weights if self.weights else nan
        return self.batch if weight == 1.0 else self.total * (part * left * weight)

    def _maximum(self, given: Portion | None) -> float:
        if given is None or given.kind is Kind.ABSOLUTE:
            return 0.0 if given is None else given.value
        part = quotient(float(self.parent.share(self.partition).maximum[self.position]), self.total)
        return self.total * (part * given.value / 100.0)

    def _serve(self, child: CapacityQueue, given: Portion) -> float:
        share = child.own(self.partition)
        most_given = portion(child, self.partition, self.position, maximum=True)
        minimum = rounded(self._minimum(given), given)
        maximum = rounded(self._maximum(most_given), most_given)
        above = float(self.parent.share(self.partition).maximum[self.position])
        if self.position != MEMORY and not share.minimum[MEMORY]:
            minimum = 0.0
        maximum = above if maximum == 0 else min(maximum, above)
        minimum = min(minimum, maximum) if maximum < minimum else minimum
        if minimum > self.overall:
            minimum = 0.0 if self.parent.entitlements is not None else self.overall
        whole = self.parent.context.calculator.whole
        share.minimum[self.position], share.maximum[self.position] = whole(minimum), whole(maximum)
        return minimum


def rounded(value: float, given: Portion | None) -> float:
    """Return an amount in whole units: weights to the nearest, others down."""
    if not isfinite(value):
        return value
    return float(floor(value + 0.5) if given is not None and given.kind is Kind.WEIGHT else floor(value))


def update_children(parent: CapacityQueue) -> None:
    """Compute the amounts of the children of a queue."""
    for child in parent.children:
        for partition in child.configured:
            child.own(partition)
    for position in range(len(parent.context.types)):
        if position != PODS:
            for partition in parent.configured:
                _Level(parent, partition, position).run()


def update_parts(queue: CapacityQueue) -> None:
    """Compute the parts of the parent and of the partitions from the amounts of a queue."""
    assert queue.parent is not None
    for partition in queue.configured:
        calculator, share, above = queue.context.calculator, queue.own(partition), queue.parent.share(partition)
        total = queue.context.of(partition)
        part = calculator.divide(total, share.minimum, above.minimum)
        share.capacity = 0.0 if isinf(part) else part
        part = calculator.divide(total, share.maximum, above.maximum)
        share.maximum_capacity = 0.0 if isinf(part) else part
        for name, each in queue.shares.items():
            over = queue.parent.share(name)
            each.absolute = queue.context.single(each.capacity * over.absolute)
            if each.maximum_capacity > 0:
                each.absolute_maximum = queue.context.single(each.maximum_capacity * over.absolute_maximum)
