"""Amounts of resources as people read them: four significant digits, whole cores, binary suffixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treadle.core.errors import InvalidSpec
from treadle.core.units.resources import amount, is_bytes

_SUFFIXES: Final = {1024: ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1000: ("", "k", "M", "G", "T", "P", "E")}
NONE: Final = "-"


def counted(resource: str, quantity: str) -> int | None:
    """Return a quantity in the unit that its resource is counted in; None for what is none, or out of range."""
    try:
        return amount(resource, quantity)
    except InvalidSpec:
        return None


def brief(resource: str, quantity: str) -> str:
    """Return a quantity with four significant digits at the most: cores, bytes with a binary suffix, others with a decimal one. What is no quantity is returned as it is."""
    value = counted(resource, quantity)
    if value is None:
        return quantity
    if resource == "cpu":
        return _digits(value / 1000)
    base = 1024 if is_bytes(resource) else 1000
    scaled, place = float(value), 0
    while round(abs(scaled), 0 if abs(scaled) >= 1000 else 1) >= base and place < len(_SUFFIXES[base]) - 1:
        scaled, place = scaled / base, place + 1
    return _digits(scaled) + _SUFFIXES[base][place]


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def amounts(found: Mapping[str, str] | None) -> str:
    """Return amounts by resource, those first that most queues are about; pods are left out."""
    return ", ".join(f"{name} {brief(name, text)}" for name, text in ordered(found)) or NONE


def ordered(found: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Return amounts with cpu and memory first, without pods."""
    first = {"cpu": 0, "memory": 1}
    return sorted(
        ((name, text) for name, text in (found or {}).items() if name != "pods"), key=lambda one: (first.get(one[0], 2), one)
    )


def part(used: Mapping[str, str] | None, share: Mapping[str, str] | None) -> float | None:
    """Return the largest part of a share that is used, over all resources but pods; None where there is no share."""
    parts = []
    for name, text in ordered(share):
        whole, mine = counted(name, text), counted(name, (used or {}).get(name, "0"))
        if whole and whole > 0 and mine is not None:
            parts.append(mine / whole)
    return max(parts, default=None)
