"""How long the queues at nodes may be, from how long they are (Hadoop's ``QueueLimitCalculator``).

The limit is the mean over the nodes that still take something plus so many standard deviations, between a least and a most. It follows the load: where all
queues grow the limit grows, and a queue far beyond the others has to give up what is over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, sqrt

from treadle.core.units.amounts import f32


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """Between what a limit stays (``queue-limit-stdev``, ``min-queue-length``, ``max-queue-length`` or the same in milliseconds of waiting)."""

    deviations: float = 1.0
    least: int = 5
    most: int = 15


@dataclass(slots=True)
class QueueLimit:
    """The limit, from what queues were when they were last looked at. Mean and deviation are whole numbers, as Hadoop has them."""

    bounds: QueueBounds
    mean: int = 0
    deviation: int = 0

    def update(self, values: Sequence[int]) -> None:
        """Look at the queues of the nodes that take something. Where there is none, what was known stays."""
        if not values:
            return
        self.mean = int(sum(values) / len(values))
        squares = sum((value - self.mean) ** 2 for value in values)
        self.deviation = floor(sqrt(f32(squares / f32(len(values)))) + 0.5)

    def limit(self) -> int:
        """Return the limit."""
        wanted = int(f32(self.mean + f32(f32(self.bounds.deviations) * self.deviation)))
        return min(max(wanted, self.bounds.least), self.bounds.most)
