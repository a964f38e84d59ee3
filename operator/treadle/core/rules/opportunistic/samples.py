"""What a node uses, by a sample that is always late.

A sample tells of a window that has passed. Pods that were placed since then, and those that have not run through a whole window yet, are not in it, so what they ask for is
added until one tells of them: between two samples a node is never filled twice. A sample that is missing or old says nothing, and a node of which nothing is known
takes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from treadle.core.units.amounts import add_to
from treadle.core.units.resources import Vector

OLD = 60.0
"""Seconds after which a sample says nothing any more, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was used of each type that was measured, by position, in the ``window`` of seconds before ``at``."""

    used: Mapping[int, int]
    at: float
    window: float = 0.0

    @property
    def since(self) -> float:
        """When its window began."""
        return self.at - self.window


@dataclass(slots=True)
class Pending:
    """A pod that no sample tells of; ``started`` is None until it runs."""

    demand: Sequence[int]
    started: float | None = None


@dataclass(slots=True)
class NodeUsage:
    """The last sample of a node and the pods that it does not tell of.

    ``warm_up`` is how many seconds a pod takes until it uses what it will: only then a sample tells of it.
    """

    old_after: float = OLD
    warm_up: float = 0.0
    sample: Sample | None = None
    pending: dict[Hashable, Pending] = field(default_factory=dict)

    def place(self, pod: Hashable, demand: Sequence[int]) -> None:
        """A pod was placed here, whether opportunistic or not."""
        self.pending[pod] = Pending(demand)

    def start(self, pod: Hashable, at: float) -> None:
        """A pod that was placed here runs since a time."""
        if pod in self.pending and self.pending[pod].started is None:
            self.pending[pod].started = at

    def leave(self, pod: Hashable) -> None:
        """A pod is gone. What it used stays in the last sample until there is another."""
        self.pending.pop(pod, None)

    def take(self, sample: Sample, now: float) -> bool:
        """Take a sample, and return whether it is news. One from the future, by another clock, is as old as its arrival."""
        if sample.at > now:
            sample = Sample(sample.used, now, sample.window)
        if self.sample is not None and sample.at <= self.sample.at:
            return False
        self.sample = sample
        self.pending = {pod: one for pod, one in self.pending.items() if not self._told(one, sample)}
        return True

    def is_old(self, now: float) -> bool:
        """Whether nothing is known of what the node uses now."""
        return self.sample is None or now - self.sample.at > self.old_after

    def old_at(self) -> float | None:
        """Return when the sample will be old: until then the answers follow from what is told alone."""
        return None if self.sample is None else self.sample.at + self.old_after

    def measured(self, now: float, types: int) -> list[int | None]:
        """Return what was used of each of so many types by the sample alone, None where nobody knows: what preemption goes by."""
        if self.sample is None or self.is_old(now):
            return [None] * types
        return [self.sample.used.get(position) for position in range(types)]

    def used(self, now: float, types: int) -> list[int | None]:
        """Return what is used of each of so many types and will be by the pods that the sample does not tell of: what placement goes by."""
        pairs = zip(self.measured(now, types), self.placed_since(types), strict=True)
        return [None if have is None else have + more for have, more in pairs]

    def placed_since(self, types: int) -> Vector:
        """Return what the pods ask for that the sample does not tell of."""
        total = [0] * types
        for one in self.pending.values():
            add_to(total, one.demand)
        return total

    def _told(self, pending: Pending, sample: Sample) -> bool:
        return pending.started is not None and sample.since >= pending.started + self.warm_up
