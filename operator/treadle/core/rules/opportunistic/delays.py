"""How long it takes until what is used too much is not any more."""

from __future__ import annotations

from dataclasses import dataclass, field

BOUNDS = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0)
"""Seconds: the upper ends of what is counted apart."""


@dataclass(slots=True)
class Delays:
    """Times in seconds: how many, their sum, and how many were at most each of ``BOUNDS``."""

    count: int = 0
    total: float = 0.0
    within: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))

    def add(self, seconds: float) -> None:
        """Count a time; one that would be negative, since a clock was put back, is none."""
        seconds = max(seconds, 0.0)
        self.count += 1
        self.total += seconds
        for at, bound in enumerate(BOUNDS):
            if seconds <= bound:
                self.within[at] += 1
