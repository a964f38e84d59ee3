"""When tasks of a node's pods wait for too long (the kernel's pressure stall information), whatever is used.

Pressure is a mean over ten seconds, so it is still high when what caused it is gone: one pod goes at a time, and the next one not before those are over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treadle.core.model.opportunistic import PressureThreshold

Waiting = Mapping[tuple[str, str], int]
"""How long tasks waited, in thousandths of the time, by the resource and of whom it tells (Some, Full)."""
MEAN = 10.0
"""Seconds over which pressure is a mean."""


def shut(thresholds: Sequence[PressureThreshold], waiting: Waiting) -> PressureThreshold | None:
    """Return the first threshold at which a node takes no opportunistic pods, None if it takes some. What nobody knows is too much."""
    return next((one for one in thresholds if waiting.get((one.resource, one.kind), one.allocation) >= one.allocation), None)


@dataclass(slots=True)
class Strain:
    """For how long tasks of a node have waited for too long."""

    over: dict[PressureThreshold, int] = field(default_factory=dict)
    """Samples in a row over the preemption threshold."""
    quiet: float = float("-inf")
    """Until when nobody goes: what went shows in no sample before."""

    def wait(self, at: float) -> None:
        """Take note that a pod goes at a time: what it gives back shows when the mean is over."""
        self.quiet = at + MEAN

    def look(
        self, thresholds: Sequence[PressureThreshold], waiting: Waiting, at: float, *, going: bool
    ) -> PressureThreshold | None:
        """Return the threshold for which a pod has to go by a sample of time ``at``, None for none; ``going`` is whether one goes already.

        Nobody goes for what is not known.
        """
        if going:
            self.wait(at)
        found = None
        for one in thresholds:
            count = self.over.get(one, 0) + 1 if waiting.get((one.resource, one.kind), 0) > one.preemption else 0
            self.over[one] = count
            if found is None and count > one.borne and at >= self.quiet:
                found = one
        self.over = {one: self.over[one] for one in thresholds}
        return found
