"""The limit on what application masters of a leaf may hold together (``maxAMShare``, Hadoop's ``FSLeafQueue.canRunAppAM``)."""

from collections.abc import Sequence

from treadle.core.units.amounts import f32, fits, plus, scaled_up
from treadle.core.units.resources import Vector

NO_LIMIT = -1.0


def master_limit(fair_share: Sequence[int], available: Sequence[int], maximum: Sequence[int], share: float) -> Vector:
    """Return what masters may hold: the part ``share`` of the leaf's fair share, rounded up.

    Of a type that the leaf has no share of, it is the same part of what the cluster has available, at most the leaf's maximum.
    """
    base = [own or min(left, most) for own, left, most in zip(fair_share, available, maximum, strict=True)]
    return scaled_up(base, f32(share))


def may_start(held: Sequence[int], demand: Sequence[int], limit: Sequence[int], share: float) -> bool:
    """Whether one more master fits beside what masters of the leaf hold already. A ``share`` of -1 means no limit."""
    return abs(share - NO_LIMIT) < 0.0001 or fits(plus(held, demand), limit)
