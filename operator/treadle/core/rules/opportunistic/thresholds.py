"""How far a node may be used beyond what is requested there, and when it is used too much (YARN's over-allocation, YARN-1011).

Below its **allocation threshold** a node takes opportunistic pods, whatever its pods request; at it or above it takes none. Above its **preemption threshold**
opportunistic pods have to go until it is below again. The wider the gap between the two, the fewer pods end in vain and the more stays idle.

All is by resource type. A type without thresholds (pods, devices) is never over-allocated: of it opportunistic pods get what nobody requests.
Parts are in thousandths of what a node has, so that amounts stay whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treadle.core.model.opportunistic import WHOLE, NodePolicy, PressureThreshold, Threshold
from treadle.core.units.amounts import beyond
from treadle.core.units.resources import ResourceTypes, Vector

Used = Sequence[int | None]
"""What is used of each type; None where nobody knows, which is as good as all."""


@dataclass(frozen=True, slots=True)
class OverAllocation:
    """Thresholds by position of their type; opportunistic pods may be given ``most`` of a node in sum, whatever they use."""

    thresholds: Mapping[int, Threshold] = field(default_factory=dict)
    most: int = WHOLE
    pressure: Sequence[PressureThreshold] = ()

    @classmethod
    def of(cls, policy: NodePolicy, types: ResourceTypes) -> OverAllocation:
        """Return a policy by positions."""
        return cls({types.position(name): threshold for name, threshold in policy.thresholds}, policy.most, policy.pressure)


def part(parts: int, amount: int) -> int:
    """Return so many thousandths of an amount, rounded down."""
    return parts * amount // WHOLE


def unallocated(size: Sequence[int], guaranteed: Sequence[int], opportunistic: Sequence[int]) -> Vector:
    """Return what no pod requests or was given: the room where nothing is known of usage (``AllocationBasedResourceUtilizationTracker``)."""
    return beyond(beyond(size, guaranteed), opportunistic)


def room(
    policy: OverAllocation, size: Sequence[int], guaranteed: Sequence[int], opportunistic: Sequence[int], used: Used
) -> Vector:
    """Return what opportunistic pods may be given on a node beside those that have ``opportunistic`` already.

    ``used`` is the last sample and what was placed since. A node that is at the allocation threshold of any type has no room at all.
    """
    free = unallocated(size, guaranteed, opportunistic)
    for position, threshold in policy.thresholds.items():
        have = used[position]
        below = 0 if have is None else part(threshold.allocation, size[position]) - have
        if below <= 0:
            return [0] * len(free)
        free[position] = max(min(below, part(policy.most, size[position]) - opportunistic[position]), 0)
    return free


def over(policy: OverAllocation, size: Sequence[int], used: Used) -> bool:
    """Whether a node is above the preemption threshold of any type."""
    pairs = ((used[position], part(one.preemption, size[position])) for position, one in policy.thresholds.items())
    return any(have is not None and have > most for have, most in pairs)


@dataclass(slots=True)
class Overload:
    """How long a node has been over its preemption thresholds (``SnapshotBasedOverAllocationPreemptionPolicy``)."""

    over: dict[int, int] = field(default_factory=dict)
    """Samples in a row over the threshold, by type."""
    last: float | None = None
    patient: bool = True
    """Whether a row begins anew with each time that something has to be freed, as in YARN; else it goes on until a sample is below, so that what was not enough is made up for at once."""

    def look(self, policy: OverAllocation, size: Sequence[int], used: Used, at: float, going: Sequence[int] = ()) -> Vector:
        """Return what has to be freed, by the sample of time ``at``, beside what ``going`` pods will free that have been asked to go.

        ``used`` is what was measured, without what was placed since: nobody goes for a guess, and what nobody knows ends a row. A sample counts once.
        """
        lacking = [0] * len(size)
        if self.last is not None and at <= self.last:
            return lacking
        self.last = at
        for position, threshold in policy.thresholds.items():
            have = used[position]
            excess = 0 if have is None else have - part(threshold.preemption, size[position])
            count = self.over.get(position, 0) + 1 if excess > 0 else 0
            if count > threshold.borne:
                lacking[position] = max(excess - (going[position] if going else 0), 0)
                count = 0 if self.patient else threshold.borne
            self.over[position] = count
        return lacking
