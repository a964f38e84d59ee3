"""Exact reading of Kubernetes quantities, percentages and decimals, for checks only.

The grammar is apimachinery's (``resource.ParseQuantity``): a decimal with a binary suffix, a decimal suffix or an exponent.
Values are fractions, so comparing ``10`` with ``9500m`` or ``1Gi`` with ``1G`` never rounds. Errors are ``ValueError`` with a
sentence that says what is allowed; the caller adds the field and the value.
"""

import re
from fractions import Fraction
from typing import Final

_NUMBER: Final = r"([0-9]{1,32}(?:\.[0-9]{0,32})?|\.[0-9]{1,32})"
_QUANTITY: Final = re.compile(rf"([+-]?){_NUMBER}(?:([KMGTPE]i|[numkMGTPE]?)|[eE]([+-]?[0-9]{{1,2}}))", re.ASCII)
_PERCENT: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?%", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?", re.ASCII)
_SUFFIX: Final = {
    **{suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Fraction(10) ** power for suffix, power in (("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6))},
    **{suffix: Fraction(10) ** power for suffix, power in (("G", 9), ("T", 12), ("P", 15), ("E", 18))},
}
_LARGEST: Final = Fraction(2**63 - 1)

QUANTITY_TEXT: Final = "must be a quantity such as 500m, 4 or 16Gi"
QUANTITY_OR_PERCENT_TEXT: Final = "must be a quantity such as 500m, 4 or 16Gi, or a percentage such as 60%"
NEGATIVE_TEXT: Final = "must not be negative"
PERCENT_TEXT: Final = "a percentage must not be over 100%"


def amount(text: str) -> Fraction:
    """A quantity in base units (cores, bytes, pieces)."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(QUANTITY_TEXT)
    sign, number, suffix, exponent = found.groups()
    value = Fraction(number if number[-1] != "." else number + "0")
    value *= Fraction(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""]
    return -value if sign == "-" else value


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


def check_amount(text: str) -> None:
    """Refuse what is not a quantity, is negative, or does not fit 63 bits in base units."""
    value = amount(text)
    if value < 0:
        raise ValueError(NEGATIVE_TEXT)
    if value > _LARGEST:
        raise ValueError("must not be over 9223372036854775807 base units")


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


def over(minimum: str, maximum: str) -> bool:
    """Whether a minimum is over a maximum; a percentage and a quantity cannot be compared without a cluster, so they are not."""
    if is_percent(minimum) != is_percent(maximum):
        return False
    read = percent if is_percent(minimum) else amount
    return read(minimum) > read(maximum)
