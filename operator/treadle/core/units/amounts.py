"""Arithmetic on vectors as Hadoop's ``Resources`` does it: every type, truncated where a fraction arises, float32 where Java has a float.

Vectors are dense lists of integers, one for each resource type; all of one cluster have the same length.
"""

from collections.abc import Sequence
from math import ceil, isnan
from struct import Struct

from treadle.core.units.resources import CPU, MEMORY, Vector

_FLOAT = Struct("f")
_packed, _unpacked = _FLOAT.pack, _FLOAT.unpack
_EXACT = 1 << 24


def f32(value: float) -> float:
    """Return a number rounded to single precision, as Java's ``float`` holds it."""
    if isinstance(value, int) and -_EXACT <= value <= _EXACT:
        return float(value)
    result: float = _unpacked(_packed(value))[0]
    return result


def quotient(one: float, other: float) -> float:
    """Return ``one / other`` by IEEE rules: dividing by zero gives an infinity, or NaN for zero by zero."""
    if other:
        return one / other
    if not one or isnan(one):
        return float("nan")
    return float("inf") if one > 0 else float("-inf")


def sign(value: float) -> int:
    """Return -1, 0 or 1; NaN counts as 0, which is what a Java cast of its signum gives."""
    return (value > 0) - (value < 0)


def fits(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether no type of ``one`` is larger than in ``other``."""
    return all(a <= b for a, b in zip(one, other, strict=True))


def plus(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return the sum."""
    return [a + b for a, b in zip(one, other, strict=True)]


def minus(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return the difference, negative where ``other`` is larger."""
    return [a - b for a, b in zip(one, other, strict=True)]


def beyond(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return what ``one`` has over ``other``, zero where it has not more."""
    return [max(a - b, 0) for a, b in zip(one, other, strict=True)]


def loosely_beyond(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return the same as Hadoop's ``subtractFromNonNegative``: only memory and cpu stop at zero, other types go below."""
    result = [a - b for a, b in zip(one, other, strict=True)]
    for position in (MEMORY, CPU):
        result[position] = max(result[position], 0)
    return result


def least(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return the smaller of each type."""
    return [min(a, b) for a, b in zip(one, other, strict=True)]


def most(one: Sequence[int], other: Sequence[int]) -> Vector:
    """Return the larger of each type."""
    return [max(a, b) for a, b in zip(one, other, strict=True)]


def scaled(one: Sequence[int], by: float) -> Vector:
    """Return the product, truncated."""
    return [int(a * by) for a in one]


def scaled_up(one: Sequence[int], by: float) -> Vector:
    """Return the product, rounded up."""
    return [ceil(a * by) for a in one]


def add_to(one: Vector, other: Sequence[int]) -> None:
    """Add in place."""
    for position, value in enumerate(other):
        one[position] += value


def take_from(one: Vector, other: Sequence[int]) -> None:
    """Subtract in place."""
    for position, value in enumerate(other):
        one[position] -= value
