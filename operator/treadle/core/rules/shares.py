"""Fair shares: Hadoop's ``ComputeFairShares`` for many groups of siblings at once.

For one resource type, siblings with weights w, minima m and maxima M share a total T. The share is
``min(max(w * R, m), M)`` for the ratio R at which the shares add up to T. R is found by doubling and 25 halvings; its
upper end is used, so that shares may add up to slightly more than T (three equal siblings of 10240 get 3414 each).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST_EXPONENT = 255
HALVINGS = 25
"""``ComputeFairShares.COMPUTE_FAIR_SHARES_ITERATIONS``."""
FINE = 50
"""Halvings that suffice for amounts in bytes. After 25 equal shares of 4 GiB are 64 bytes too large, and what holds exactly its share and one
pod more would seem to need that pod."""
COARSE = 1 << 20
"""Ratios up to which 25 halvings are as good."""


def fair_shares(
    total: int, weights: Sequence[float], minima: Sequence[int], maxima: Sequence[int], active: Sequence[bool] | None = None
) -> list[int]:
    """Return the shares of one group of siblings for one resource type, in its unit."""
    count = len(weights)
    shares = grouped_shares(
        np.array([total], dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.array(weights, dtype=np.float32).astype(np.float64),
        np.array(minima, dtype=np.int64),
        np.array(maxima, dtype=np.int64),
        np.ones(count, dtype=np.bool_) if active is None else np.array(active, dtype=np.bool_),
    )
    return [int(share) for share in shares]


def grouped_shares(
    totals: NDArray[np.int64],
    group: NDArray[np.int64],
    weights: NDArray[np.float64],
    minima: NDArray[np.int64],
    maxima: NDArray[np.int64],
    active: NDArray[np.bool_],
    halvings: int = HALVINGS,
) -> NDArray[np.int64]:
    """Return the share of every sibling; ``group[i]`` is the row in ``totals`` of what sibling i shares, in ascending order.

    A sibling with no maximum, or an inactive one, has a fixed share of 0; one without weight is fixed at its minimum.
    """
    groups = len(totals)
    fixed = (maxima <= 0) | ~active | (weights <= 0)
    shares = np.where((maxima > 0) & active & (weights <= 0), np.maximum(minima, 0), 0).astype(np.int64)
    taken = _Sums(group, groups).of(shares)
    free = np.flatnonzero(~fixed)
    if not len(free):
        return shares
    where = group[free]
    target = np.minimum(_Sums(where, groups).of(maxima[free]), np.maximum(0, totals - taken))
    search = _Search(where, weights[free], minima[free].astype(np.float64), maxima[free].astype(np.float64), target)
    search.double()
    coarse = search.high > COARSE
    search.halve(min(halvings, HALVINGS))
    search.refine(coarse, halvings - HALVINGS)
    shares[free] = search.at(search.high)
    return shares


class _Search:
    """The search for the ratio of each group; ``low`` is not enough, ``high`` is.

    ``where`` is each sibling's group, ascending.
    """

    def __init__(
        self,
        where: NDArray[np.int64],
        weights: NDArray[np.float64],
        minima: NDArray[np.float64],
        maxima: NDArray[np.float64],
        target: NDArray[np.int64],
    ) -> None:
        self.where, self.weights, self.minima, self.maxima, self.target = where, weights, minima, maxima, target
        self.low = np.zeros(len(target))
        self.high = np.ones(len(target))
        self.exact = np.zeros(len(target), dtype=np.bool_)
        self._sums = _Sums(where, len(target))

    def at(self, ratio: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return every sibling's share at its group's ratio."""
        return np.minimum(np.maximum(self.weights * ratio[self.where], self.minima), self.maxima).astype(np.int64)

    def double(self) -> None:
        """Find the smallest power of two that is enough: where Hadoop's doubling ends, found by halving the exponent."""
        low, high = np.full(len(self.target), -1), np.full(len(self.target), LARGEST_EXPONENT)
        while (unknown := high - low > 1).any():
            middle = (low + high) // 2
            enough = self._sums.of(self.at(np.exp2(middle))) >= self.target
            high = np.where(unknown & enough, middle, high)
            low = np.where(unknown & ~enough, middle, low)
        self.high = np.exp2(high)

    def halve(self, times: int) -> None:
        """Close in on the ratio; a group whose shares add up exactly is done."""
        for _ in range(times):
            middle = (self.low + self.high) / 2
            used = self._sums.of(self.at(middle))
            below = used < self.target
            self.low = np.where(below & ~self.exact, middle, self.low)
            self.high = np.where(~below & ~self.exact, middle, self.high)
            self.exact |= used == self.target
            if self.exact.all():
                break

    def refine(self, groups: NDArray[np.bool_], times: int) -> None:
        """Go on with some of the groups, unless they are exact already."""
        rows = np.flatnonzero(groups & ~self.exact)
        if times <= 0 or not len(rows):
            return
        number = np.full(len(self.target), -1)
        number[rows] = np.arange(len(rows))
        part = np.flatnonzero(number[self.where] >= 0)
        rest = _Search(number[self.where[part]], self.weights[part], self.minima[part], self.maxima[part], self.target[rows])
        rest.low, rest.high = self.low[rows], self.high[rows]
        rest.halve(times)
        self.high[rows] = rest.high


class _Sums:
    """Sums the values of each group, held at ``UNBOUNDED`` as Hadoop's saturating sums are held at the largest long."""

    def __init__(self, group: NDArray[np.int64], groups: int) -> None:
        self._starts = np.flatnonzero(np.diff(group, prepend=-1))
        self._present = group[self._starts]
        self._groups = groups

    def of(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(self._groups, dtype=np.int64)
        if not len(values):
            return sums
        sums[self._present] = np.add.reduceat(values, self._starts)
        if int(values.max()) > UNBOUNDED // len(values):  # the integers may have wrapped around: floats say where
            rough = np.zeros(self._groups)
            rough[self._present] = np.add.reduceat(values.astype(np.float64), self._starts)
            sums[rough >= UNBOUNDED] = UNBOUNDED
        return sums
