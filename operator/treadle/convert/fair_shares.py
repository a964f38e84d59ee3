"""Fair weights as capacities of siblings, as Hadoop's fs2cs makes them (``WeightToWeightConverter``, ``WeightToPercentConverter``).

A weight stays a weight, or becomes a percentage with three digits after the point. Percentages of siblings are exactly 100.000
together: what rounding left over goes to the largest. Unlike in Hadoop the sum of the weights is not cut to a whole number
before, which makes 50% and 100% of the weights 0.5 and 1.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

MOST_WEIGHT: Final = 10000
_HUNDRED: Final = Decimal("100.000")
_STEP: Final = Decimal("0.001")


def percentages(weights: Mapping[str, str]) -> dict[str, Decimal]:
    """Return the percentages of siblings by name: 100.000 together, or all nothing if all weights are."""
    given = {name: Decimal(weight) for name, weight in weights.items()}
    total = sum(given.values(), Decimal(0))
    if len(given) == 1:
        return dict.fromkeys(given, _HUNDRED)
    if not total:
        return dict.fromkeys(given, Decimal("0.000"))
    found = {name: (weight * 100 / total).quantize(_STEP, ROUND_HALF_UP) for name, weight in given.items()}
    largest = max(found, key=lambda name: found[name])
    found[largest] += _HUNDRED - sum(found.values(), Decimal(0))
    return found


def bounded(weights: Mapping[str, str]) -> dict[str, Decimal]:
    """Return the weights of siblings, made smaller together if one is over what a capacity may be."""
    given = {name: Decimal(weight) for name, weight in weights.items()}
    largest = max(given.values(), default=Decimal(0))
    if largest <= MOST_WEIGHT:
        return given
    return {name: (weight * MOST_WEIGHT / largest).quantize(Decimal("0.000001")) for name, weight in given.items()}


def below(percents: Sequence[Decimal | None]) -> Decimal | None:
    """Return what percentages of the cluster are of each other: of the last in the one before it that has one, at most 100."""
    said = [percent for percent in percents if percent is not None]
    if not percents or percents[-1] is None:
        return None
    above = said[-2] if len(said) > 1 else Decimal(100)
    return Decimal(100) if not above else min(Decimal(100), (said[-1] * 100 / above).quantize(Decimal("0.000001")))
