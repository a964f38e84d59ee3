"""How much is used how often, where what is long ago counts little (Autopilot's and the vertical autoscaler's histograms).

Amounts fall into buckets that grow by a twentieth, so a percentile is right to a twentieth however large it is. A sample weighs half as much for each half-life that it is older
than another. Only buckets that something fell into are kept: a few dozen for one kind of pod.
"""

from __future__ import annotations

from math import ceil, exp2, log

GROWTH = 1.05
HALF_LIVES = 64.0
"""After so many half-lives weights are written anew, before their numbers become too large."""
NOTHING = 2.0**-40
"""What weighs less than this part of the newest sample is forgotten."""


class Histogram:
    """Weights by bucket. ``smallest`` is the end of the first bucket, in the unit of the amounts."""

    __slots__ = ("_reference", "began", "half_life", "smallest", "total", "weights")

    def __init__(self, smallest: int, half_life: float) -> None:
        self.smallest = smallest
        self.half_life = half_life
        self.weights: dict[int, float] = {}
        self.total = 0.0
        self.began = float("inf")
        """The time of the first amount."""
        self._reference: float | None = None

    def add(self, amount: int, at: float, weight: float = 1.0) -> None:
        """Count an amount that was used at a time, in seconds."""
        if self._reference is None:
            self._reference = at
        self.began = min(self.began, at)
        if at - self._reference > HALF_LIVES * self.half_life:
            self._renew(at)
        counted = weight * exp2((at - self._reference) / self.half_life)
        bucket = self.bucket(amount)
        self.weights[bucket] = self.weights.get(bucket, 0.0) + counted
        self.total += counted

    def percentile(self, parts: int) -> int:
        """Return an amount that is not exceeded in so many thousandths of the time, 0 where nothing is known: the end of its bucket."""
        if not self.weights:
            return 0
        wanted, so_far, bucket = self.total * parts / 1000, 0.0, 0
        for bucket in sorted(self.weights):
            so_far += self.weights[bucket]
            if so_far >= wanted:
                break
        return self.end(bucket)

    def weight(self, now: float) -> float:
        """Return how many samples of now all that is known is worth. It falls by a half with each half-life; before it was known it is worth no more."""
        if self._reference is None:
            return 0.0
        return self.total * exp2(min(self._reference - now, 0.0) / self.half_life)

    def bucket(self, amount: int) -> int:
        """Return the number of the bucket of an amount."""
        if amount <= self.smallest:
            return 0
        found = max(ceil(log(amount / self.smallest, GROWTH)), 1)
        while self.end(found) < amount:
            found += 1
        while found > 1 and self.end(found - 1) >= amount:
            found -= 1
        return found

    def end(self, bucket: int) -> int:
        """Return the largest amount of a bucket."""
        return ceil(self.smallest * GROWTH**bucket)

    def _renew(self, at: float) -> None:
        assert self._reference is not None
        factor = exp2((self._reference - at) / self.half_life)
        self._reference = at
        self.weights = {bucket: weight * factor for bucket, weight in self.weights.items() if weight * factor > NOTHING}
        self.total = sum(self.weights.values())
