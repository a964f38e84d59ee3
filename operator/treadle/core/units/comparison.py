"""How amounts of several types are compared: by memory alone, or by the largest fraction of the cluster.

Hadoop's ``DefaultResourceCalculator`` and ``DominantResourceCalculator``.
"""

from collections.abc import Sequence

from treadle.core.units.amounts import f32, fits, quotient
from treadle.core.units.resources import MEMORY


def memory_only(total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> int:
    """Compare two amounts by their memory."""
    del total
    return (one[MEMORY] > other[MEMORY]) - (one[MEMORY] < other[MEMORY])


def memory_ratio(one: Sequence[int], other: Sequence[int]) -> float:
    """Return how many times the memory of ``other`` is in that of ``one``, in single precision; 0 for nothing of nothing."""
    if not one[MEMORY] and not other[MEMORY]:
        return 0.0
    return f32(quotient(f32(one[MEMORY]), f32(other[MEMORY])))


def dominant(
    total: Sequence[int], counted: Sequence[int], one: Sequence[int], other: Sequence[int], *, single: bool = False
) -> int:
    """Compare two amounts by their largest fractions of ``total``; where those tie by the next ones, unless ``single``.

    A type of which there is nothing in the cluster is passed over; if there is nothing at all, the amounts themselves are
    compared.
    """
    same = True
    parts: list[float] = []
    others: list[float] = []
    for position in counted:
        amount, other_amount, whole = one[position], other[position], total[position]
        if amount != other_amount:
            same = False
        if whole:
            parts.append(amount / whole)
            others.append(other_amount / whole)
    if same:
        return 0
    if not parts:
        mine, theirs = [one[position] for position in counted], [other[position] for position in counted]
        return fits(theirs, mine) - fits(mine, theirs)
    if single:
        high, other_high = max(0.0, *parts), max(0.0, *others)
        return (high > other_high) - (high < other_high)
    parts.sort(reverse=True)
    others.sort(reverse=True)
    return (parts > others) - (parts < others)
