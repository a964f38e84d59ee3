"""Fair shares: Hadoop's ``ComputeFairShares`` for many groups of siblings at once.

For one resource type, siblings with weights w, minima m and maxima M share a total T. The share is
``min(max(w * R, m), M)`` for the ratio R at which the shares add up to T. R is found by doubling and 25 halvings; its
upper end is used, so that shares may add up to slightly more than T (three equal siblings of 10240 get 3414 each).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

LARGEST_EXPONENT = 255
HALVINGS = 25
"""``ComputeFairShares.COMPUTE_FAIR_SHARES_ITERATIONS``."""


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
    where, weight = group[free], weights[free]
    sums = _Sums(where, groups)
    low_bound, high_bound = minima[free].astype(np.float64), maxima[free].astype(np.float64)
    target = np.minimum(sums.of(maxima[free]), np.maximum(0, totals - taken))

    def at(ratio: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.minimum(np.maximum(weight * ratio[where], low_bound), high_bound).astype(np.int64)

    high = _doubled(lambda ratio: sums.of(at(ratio)) >= target, groups)
    low = np.zeros(groups)
    exact = np.zeros(groups, dtype=np.bool_)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        used = sums.of(at(middle))
        below = used < target
        low = np.where(below & ~exact, middle, low)
        high = np.where(~below & ~exact, middle, high)
        exact |= used == target
        if exact.all():
            break
    shares[free] = at(high)
    return shares


def _doubled(enough: Callable[[NDArray[np.float64]], NDArray[np.bool_]], groups: int) -> NDArray[np.float64]:
    """Return for each group the smallest power of two that is enough: where Hadoop's doubling ends, found by halving the exponent."""
    low, high = np.full(groups, -1), np.full(groups, LARGEST_EXPONENT)
    while (open_ := high - low > 1).any():
        middle = (low + high) // 2
        found = enough(np.exp2(middle))
        high = np.where(open_ & found, middle, high)
        low = np.where(open_ & ~found, middle, low)
    result: NDArray[np.float64] = np.exp2(high)
    return result


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
