"""From counters of processor time to what is used: the difference of two readings by the time between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

MOST = 2.0**62
"""What is more is not believed."""


class Reading(NamedTuple):
    """Seconds of processor time so far, at a time in seconds."""

    total: float
    at: float


class Rates:
    """The last reading of each counter.

    Where a counter went back, or its last reading is older than ``longest`` seconds, it begins anew: a mean over minutes tells little of now. So it does where the last
    reading lies in the future and the next one is earlier, since the clock was set right.
    """

    def __init__(self, longest: float) -> None:
        self.longest = longest
        self._last: dict[Hashable, Reading] = {}

    def take(self, key: Hashable, total: float, at: float, now: float) -> tuple[int, float] | None:
        """Take a reading and return (milli-units, window in seconds), or None where there is nothing to compare with, or more is used than can be believed.

        Times are finite, and ``now`` is by our clock.
        """
        before = self._last.get(key)
        if before is not None and (at == before.at or at < before.at <= now):
            return None  # the same reading once more, or one that is late
        self._last[key] = Reading(total, at)
        if before is None or total < before.total or not 0 < at - before.at <= self.longest:
            return None
        rate = (total - before.total) / (at - before.at) * 1000
        return (round(rate), at - before.at) if rate < MOST else None

    def keep(self, keys: Iterable[Hashable]) -> None:
        """Forget all others."""
        self._last = {key: self._last[key] for key in keys if key in self._last}
