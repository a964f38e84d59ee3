"""How the CapacityScheduler counts: by memory alone, or by all types (Hadoop's ``DefaultResourceCalculator`` and ``DominantResourceCalculator``).

Vectors are dense lists of integers of one length; ``counted`` are the positions that take part. Ratios are in single precision,
as Java's are. The calculator by memory forgets the other types in what it computes: one core wherever there is memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import ceil, inf, isnan
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.units.amounts import f32, quotient
from treadle.core.units.comparison import dominant, memory_only, memory_ratio
from treadle.core.units.resources import CPU, MEMORY, Vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = (1 << 63) - 1
EXACT = 1 << 53
"""Whole numbers below this are floats without rounding."""
HAIR = 1e-3
"""What amounts are rounded up by where fractions are precise: far less than the least unit, far more than what is lost by rounding."""


def whole(value: float) -> int:
    """Return a number without its fraction, as a Java cast gives it: nothing for NaN, the largest number for infinities."""
    if isnan(value):
        return 0
    if value in {inf, -inf}:
        return MANY if value > 0 else -MANY
    return int(value)


def nearly(value: float) -> int:
    """Return a number without its fraction, where a hair below a whole number counts as it."""
    return -nearly(-value) if value < 0 else whole(value + HAIR)


def up(value: int, step: int) -> int:
    """Return a value raised to a multiple of a step; nothing for a step of nothing."""
    return -(-value // step) * step if step else 0


def down(value: int, step: int) -> int:
    """Return a value lowered to a multiple of a step."""
    return whole_quotient(value, step) * step


def whole_quotient(value: int, by: int) -> int:
    """Return the quotient without its fraction, also below zero."""
    return -(-value // by) if value < 0 else value // by


class Calculator(ABC):
    """What both calculators can do. ``total`` is what the cluster, or a partition, has.

    ``single`` rounds a fraction to the precision that is kept, ``whole`` makes an amount of it (``CapacitySettings.precise``).
    """

    def __init__(self, width: int, counted: Sequence[int], *, precise: bool = False) -> None:
        self.width = width
        self.counted = tuple(counted)
        self.single: Callable[[float], float] = float if precise else f32
        self.whole: Callable[[float], int] = nearly if precise else whole
        self.slack = HAIR if precise else 0.0

    @property
    def deciding(self) -> frozenset[int]:
        """The positions of the types by which it compares."""
        return frozenset(self.counted)

    def times(self, one: Sequence[int], by: float) -> Vector:
        """Return the product, without fractions."""
        return [self.whole(value * by) for value in one]

    @abstractmethod
    def compare(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> int:
        """Compare two amounts: negative, zero or positive."""

    @abstractmethod
    def ratio(self, one: Sequence[int], other: Sequence[int]) -> float:
        """Return how many times ``other`` is in ``one``."""

    def ratios(self, values: NDArray[np.int64], other: Sequence[int]) -> list[float]:
        """Return how many times ``other`` is in each of some amounts, (amounts, types): the same floats as one by one."""
        return [self.ratio(one, other) for one in values.tolist()]

    @abstractmethod
    def divide(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> float:
        """Return the ratio of the two as parts of ``total``."""

    @abstractmethod
    def fits(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether ``one`` fits into ``other``."""

    @abstractmethod
    def containers(self, room: Sequence[int], demand: Sequence[int]) -> int:
        """Return how many containers of a size are in some room."""

    @abstractmethod
    def share_up(self, one: Sequence[int], among: float) -> Vector:
        """Return a part of ``one`` for each of some, rounded up; nothing if there are none."""

    @abstractmethod
    def share_up_whole(self, one: Sequence[int], among: int) -> Vector:
        """Return the same for a whole number, without the rounding of single precision."""

    @abstractmethod
    def times_up(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the product, raised to multiples of ``step``."""

    @abstractmethod
    def times_each_up(self, one: Sequence[int], by: Sequence[float], step: Sequence[int]) -> Vector:
        """Return the product of each type by its own factor, raised to multiples of ``step``, without the rounding of single precision."""

    @abstractmethod
    def times_down(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the product, lowered to multiples of ``step``."""

    @abstractmethod
    def round_up(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return ``one`` raised to multiples of ``step``."""

    @abstractmethod
    def round_down(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return ``one`` lowered to multiples of ``step``."""

    @abstractmethod
    def normal(self, one: Sequence[int], least: Sequence[int], most: Sequence[int], step: Sequence[int]) -> Vector:
        """Return a demand as it is counted: at least ``least``, in multiples of ``step``, at most ``most``."""

    @abstractmethod
    def any_above_zero(self, one: Sequence[int]) -> bool:
        """Whether there is something of a type that matters."""

    @abstractmethod
    def any_used_up(self, one: Sequence[int]) -> bool:
        """Whether a type that matters is used up."""

    def as_much(self, wanted: Sequence[int], room: Sequence[int]) -> Vector:
        """Return the largest part of what is wanted that the room is enough for, all types cut alike: whole containers stay whole."""
        types = [at for at in self.deciding if at < len(wanted) and wanted[at] > 0]
        part = min((max(room[at], 0) / wanted[at] for at in types), default=0.0)
        return self.times(wanted, min(part, 1.0))

    def more(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether ``one`` is more than ``other``."""
        return self.compare(total, one, other) > 0

    def less(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether ``one`` is less than ``other``."""
        return self.compare(total, one, other) < 0

    def smaller(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> Vector:
        """Return the smaller of two; the first if they are the same."""
        return list(one if self.compare(total, one, other) <= 0 else other)

    def larger(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> Vector:
        """Return the larger of two; the first if they are the same."""
        return list(one if self.compare(total, one, other) >= 0 else other)

    def positive(self, total: Sequence[int], one: Sequence[int]) -> bool:
        """Whether an amount is more than nothing."""
        return self.compare(total, one, [0] * self.width) > 0


class MemoryOnly(Calculator):
    """Memory decides."""

    @property
    def deciding(self) -> frozenset[int]:
        """Memory alone."""
        return frozenset({MEMORY})

    def _ratio(self, one: Sequence[int], other: Sequence[int]) -> float:
        if self.single is f32:
            return memory_ratio(one, other)
        return quotient(one[MEMORY], other[MEMORY]) if one[MEMORY] or other[MEMORY] else 0.0

    def _of(self, memory: int) -> Vector:
        result = [0] * self.width
        result[MEMORY] = memory
        result[CPU] = 1 if memory > 0 else 0
        return result

    def compare(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> int:
        """Compare memory."""
        return memory_only(total, one, other)

    def ratio(self, one: Sequence[int], other: Sequence[int]) -> float:
        """Return the ratio of memory."""
        return self._ratio(one, other)

    def divide(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> float:
        """Return the ratio of memory."""
        del total
        return self._ratio(one, other)

    def fits(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether the memory fits."""
        return one[MEMORY] <= other[MEMORY]

    def containers(self, room: Sequence[int], demand: Sequence[int]) -> int:
        """Return how many containers the memory is enough for."""
        return whole_quotient(room[MEMORY], demand[MEMORY])

    def share_up(self, one: Sequence[int], among: float) -> Vector:
        """Return a part of the memory."""
        return self._of(ceil(self.single(self.single(one[MEMORY]) / self.single(among))) if among else 0)

    def share_up_whole(self, one: Sequence[int], among: int) -> Vector:
        """Return a part of the memory."""
        return self._of(-(-one[MEMORY] // among))

    def times_up(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the product of the memory, rounded half up before it is raised."""
        return self._of(up(self.whole(one[MEMORY] * by + 0.5), step[MEMORY]))

    def times_each_up(self, one: Sequence[int], by: Sequence[float], step: Sequence[int]) -> Vector:
        """Return the product of the memory."""
        return self.times_up(one, by[MEMORY], step)

    def times_down(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the product of the memory."""
        return self._of(down(self.whole(one[MEMORY] * by), step[MEMORY]))

    def round_up(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return the memory raised."""
        return self._of(up(one[MEMORY], step[MEMORY]))

    def round_down(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return the memory lowered."""
        return self._of(down(one[MEMORY], step[MEMORY]))

    def normal(self, one: Sequence[int], least: Sequence[int], most: Sequence[int], step: Sequence[int]) -> Vector:
        """Return the memory as it is counted."""
        by = step if step[MEMORY] else least
        return self._of(min(up(max(one[MEMORY], least[MEMORY]), by[MEMORY]), most[MEMORY]))

    def any_above_zero(self, one: Sequence[int]) -> bool:
        """Whether there is memory."""
        return one[MEMORY] > 0

    def any_used_up(self, one: Sequence[int]) -> bool:
        """Whether there is no memory."""
        return one[MEMORY] <= 0


class AllTypes(Calculator):
    """The largest part of the cluster decides; types of which the cluster has nothing are passed over."""

    def compare(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> int:
        """Compare the largest parts, then the next ones."""
        return dominant(total, self.counted, one, other)

    def ratio(self, one: Sequence[int], other: Sequence[int]) -> float:
        """Return the largest ratio of any type."""
        result = 0.0
        for position in self.counted:
            if one[position] or other[position]:
                result = max(result, self.single(quotient(self.single(one[position]), self.single(other[position]))))
        return result

    def ratios(self, values: NDArray[np.int64], other: Sequence[int]) -> list[float]:
        """Return the largest ratio of any type for each."""
        known = [at for at in self.counted if other[at]]
        exact = self.single is float and not values[:, [at for at in self.counted if not other[at]]].any()
        if not exact or max([abs(int(values.max(initial=0))), abs(int(values.min(initial=0))), *other]) >= EXACT:
            return super().ratios(values, other)
        found = np.zeros(len(values))
        for at in known:
            np.maximum(found, values[:, at] / float(other[at]), out=found)
        return list(found.tolist())

    def divide(self, total: Sequence[int], one: Sequence[int], other: Sequence[int]) -> float:
        """Return the ratio of the largest parts."""
        mine = max([0.0, *(one[position] / total[position] for position in self.counted if total[position])])
        theirs = max([0.0, *(other[position] / total[position] for position in self.counted if total[position])])
        return self.single(quotient(mine, theirs))

    def fits(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Whether every type fits."""
        return all(one[position] <= other[position] for position in self.counted)

    def containers(self, room: Sequence[int], demand: Sequence[int]) -> int:
        """Return how many containers every type is enough for."""
        return min((whole_quotient(room[at], demand[at]) for at in self.counted if demand[at]), default=(1 << 31) - 1)

    def share_up(self, one: Sequence[int], among: float) -> Vector:
        """Return a part of each type."""
        return [ceil(self.single(self.single(value) / self.single(among))) if among else 0 for value in one]

    def share_up_whole(self, one: Sequence[int], among: int) -> Vector:
        """Return a part of each type."""
        return [-(-value // among) for value in one]

    def times_up(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the products, raised."""
        raised = [whole(float(ceil(self.single(value * by) - self.slack))) for value in one]
        return [up(value, step[at]) if step[at] else value for at, value in enumerate(raised)]

    def times_each_up(self, one: Sequence[int], by: Sequence[float], step: Sequence[int]) -> Vector:
        """Return the products, raised."""
        found = [0] * self.width
        for at in self.counted:
            found[at] = up(ceil(one[at] * by[at] - self.slack), step[at])
        return found

    def times_down(self, one: Sequence[int], by: float, step: Sequence[int]) -> Vector:
        """Return the products, lowered."""
        return self.round_down(self.times(one, by), step)

    def round_up(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return each type raised."""
        return [up(value, step[at]) if step[at] else value for at, value in enumerate(one)]

    def round_down(self, one: Sequence[int], step: Sequence[int]) -> Vector:
        """Return each type lowered."""
        return [down(value, step[at]) if step[at] else value for at, value in enumerate(one)]

    def normal(self, one: Sequence[int], least: Sequence[int], most: Sequence[int], step: Sequence[int]) -> Vector:
        """Return each type as it is counted."""
        raised = [max(value, least[at]) for at, value in enumerate(one)]
        return [min(up(value, step[at]) if step[at] else value, most[at]) for at, value in enumerate(raised)]

    def any_above_zero(self, one: Sequence[int]) -> bool:
        """Whether there is something of any type."""
        return any(one[position] > 0 for position in self.counted)

    def any_used_up(self, one: Sequence[int]) -> bool:
        """Whether any type is used up."""
        return any(one[position] <= 0 for position in self.counted)
