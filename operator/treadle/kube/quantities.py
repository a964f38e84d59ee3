"""Kubernetes' quantities as exact numbers: integers, or fractions where one is none."""

import re
from decimal import Decimal
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,9})?")
_SUFFIXES = {
    **{f"{letter}i": Fraction(1024 ** (power + 1)) for power, letter in enumerate("KMGTPE")},
    **{letter: Fraction(1000 ** (power + 1)) for power, letter in enumerate("kMGTPE")},
    **{letter: Fraction(1, 1000 ** (power + 1)) for power, letter in enumerate("mun")},
}
_LARGEST_EXPONENT = 30
_NANO = 1_000_000_000


def exact(text: str | float) -> int | Fraction:
    """Return the number that a quantity is, rounded up to billionths as the API does. ``ValueError`` if it is none."""
    found = _FORM.fullmatch(str(text))
    if found is None or len(found[1]) > 64:
        raise ValueError(f"not a quantity: {str(text)[:64]!r}")
    suffix = found[2] or ""
    if suffix[:1] in {"e", "E"} and len(suffix) > 1:
        if abs(int(suffix[1:])) > _LARGEST_EXPONENT:
            raise ValueError(f"not a quantity: {str(text)[:64]!r}")
        scale = Fraction(10) ** int(suffix[1:])
    else:
        scale = _SUFFIXES.get(suffix, Fraction(1))
    number = Fraction(Decimal(found[1])) * scale
    number = Fraction(-((-number * _NANO).__floor__()), _NANO)
    return int(number) if number.denominator == 1 else number


def text_of(amount: int | Fraction) -> str:
    """Return an amount as a quantity."""
    for suffix, scale in (("", 1), ("m", 1000), ("u", 1_000_000), ("n", _NANO)):
        scaled = Fraction(amount) * scale
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    return str(int(amount))
