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
    same, more, less, nothing = True, False, False, True
    for position in counted:
        amount, other_amount = one[position], other[position]
        if total[position]:
            nothing = False
            if amount > other_amount:
                more, same = True, False
            elif amount < other_amount:
                less, same = True, False
        elif amount != other_amount:
            same = False
    if same:
        return 0
    if nothing:
        mine, theirs = [one[position] for position in counted], [other[position] for position in counted]
        return fits(theirs, mine) - fits(mine, theirs)
    if not single and not (more and less):
        return more - less  # of no type less and of some more: so it is with the fractions in their order
    parts = [one[position] / total[position] for position in counted if total[position]]
    others = [other[position] / total[position] for position in counted if total[position]]
    if single:
        high, other_high = max(0.0, *parts), max(0.0, *others)
        return (high > other_high) - (high < other_high)
    parts.sort(reverse=True)
    others.sort(reverse=True)
    return (parts > others) - (parts < others)
