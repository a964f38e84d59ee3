"""Checks of quantities, percentages and decimals.

A quantity is read by the core, so that what passes here is what it can count with; percentages and decimals are exact fractions.
Errors are ``ValueError`` with a sentence that says what is allowed; the caller adds the field and the value.
"""

import re
from fractions import Fraction
from typing import Final

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import UNBOUNDED, parse_quantity
from treadle.core.units.resources import amount as core_amount

_PERCENT: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?%", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?", re.ASCII)
DURATION: Final = "([0-9]{1,9}(ms|h|m|s))+"
DURATION_TEXT: Final = "must be a duration such as 30s, 15m, 1h30m or 500ms"
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
QUANTITY_TEXT: Final = "must be a quantity such as 500m, 4 or 16Gi"
QUANTITY_OR_PERCENT_TEXT: Final = "must be a quantity such as 500m, 4 or 16Gi, or a percentage such as 60%"
NEGATIVE_TEXT: Final = "must not be negative"
PERCENT_TEXT: Final = "a percentage must not be over 100%"


LONG_EXPONENT: Final = "[eE][-+]?[0-9]{3,}$"
"""What is absurd although Kubernetes takes it for a quantity."""
NAME_TEXT: Final = "must have names of resources such as cpu, memory or nvidia.com/gpu"
RANGE_TEXT: Final = f"is over what can be counted: at most {UNBOUNDED}, of cpu {UNBOUNDED}m"


def thousandths(text: str) -> int:
    """A quantity in thousandths of its base unit, rounded up, as the core reads it."""
    if text != text.strip() or not text.isascii() or re.search(LONG_EXPONENT, text):
        raise ValueError(QUANTITY_TEXT)
    try:
        return parse_quantity(text)
    except InvalidSpec:
        raise ValueError(QUANTITY_TEXT) from None


def is_percent(text: str) -> bool:
    """Whether the text means a percentage, well written or not."""
    return text.endswith("%")


def percent(text: str) -> Fraction:
    """A percentage as a fraction of one; ``60%`` is 3/5."""
    if _PERCENT.fullmatch(text) is None:
        raise ValueError(QUANTITY_OR_PERCENT_TEXT)
    return Fraction(text[:-1]) / 100


def decimal(text: str) -> Fraction:
    """A plain decimal: at most nine digits before and six after the point, no exponent."""
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError("must be a decimal number such as 1 or 2.5, with at most six digits after the point")
    return Fraction(text)


def seconds(text: str) -> float:
    """A duration in seconds; ``1m500ms`` is 60.5."""
    if re.fullmatch(DURATION, text) is None:
        raise ValueError(DURATION_TEXT)
    return sum(int(count) * _SECONDS[unit] for count, unit in re.findall("([0-9]+)(ms|h|m|s)", text))


def check_amount(text: str) -> None:
    """Refuse what is not a quantity or is negative."""
    thousandths(text)
    if text.startswith("-"):  # also -0, as the API server's rule has it
        raise ValueError(NEGATIVE_TEXT)


def check_range(resource: str, text: str) -> None:
    """Refuse more of a resource than the core can count."""
    try:
        core_amount(resource, text)
    except InvalidSpec:
        raise ValueError(f"{resource} {text!r} {RANGE_TEXT}") from None


def check_amount_or_percent(text: str) -> None:
    """Refuse what is neither a quantity nor a percentage up to 100%."""
    if not is_percent(text):
        try:
            check_amount(text)
        except ValueError as error:
            raise ValueError(QUANTITY_OR_PERCENT_TEXT if str(error) == QUANTITY_TEXT else str(error)) from None
        return
    if text.startswith("-"):
        raise ValueError(NEGATIVE_TEXT)
    if percent(text) > 1:
        raise ValueError(PERCENT_TEXT)
