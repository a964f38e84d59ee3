"""Amounts in an allocation file, in the three forms that Hadoop's ``FairSchedulerConfiguration.parseResourceConfigValue`` knows.

``1024 mb, 2 vcores``; ``50%`` or ``50% memory, 25% cpu``; ``memory-mb=1024, vcores=2`` or the same with percentages. A percentage
is of the cluster at the moment, never of the parent.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.convert.errors import AllocationError

MEMORY, VCORES = "memory-mb", "vcores"
UNBOUNDED = (1 << 63) - 1
_ALLOWED = "'1024 mb, 2 vcores', '50%', '50% memory, 25% cpu', 'memory-mb=1024, vcores=2' or 'memory-mb=50%, vcores=25%'"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts by resource name: ``absolute`` numbers, or ``percent`` of the cluster (0.5 is half); the other is None."""

    absolute: dict[str, int] | None = None
    percent: dict[str, float] | None = None

    def resolve(self, cluster: dict[str, int]) -> dict[str, int]:
        """Return the amounts in a cluster; percentages are truncated."""
        if self.absolute is not None:
            return {name: self.absolute.get(name, 0) for name in cluster}
        assert self.percent is not None
        return {name: int(total * self.percent.get(name, 0.0)) for name, total in cluster.items()}


def unbounded(types: Sequence[str]) -> Amounts:
    """Return what stands for no limit."""
    return Amounts(absolute=dict.fromkeys(types, UNBOUNDED))


def parse(text: str, types: Sequence[str], line: int, missing: int = UNBOUNDED, missing_cores: int = 0) -> Amounts:
    """Read an amount.

    ``types`` are all resource names; ``missing`` stands for a type that the newest form leaves out, ``missing_cores`` for vcores.

    In Hadoop what stands for no limit does not fit into the 32 bits of vcores: ``memory-mb=5120`` as a maximum leaves no vcores
    at all. Raises ``AllocationError`` with what Hadoop would throw.
    """
    value = text.strip()
    if not value:
        raise _refused(line, text, "is empty")
    if "=" in value:
        return _by_name(value, types, line, {**dict.fromkeys(types, missing), VCORES: missing_cores})
    if "%" in value:
        return _percentages(value.lower(), types, line)
    return _with_units(value.lower(), types, line)


def leaves_out_cores(text: str) -> bool:
    """Whether a maximum in the newest form means none of the vcores since it does not name them."""
    return "=" in text and "%" not in text and VCORES not in text


def _refused(line: int, text: str, why: str, cause: str = "") -> AllocationError:
    hadoop = "AllocationConfigurationException" + (f"/{cause}" if cause else "")
    return AllocationError(line, f"invalid resource definition {text!r}: {why}; allowed are {_ALLOWED}", hadoop)


def _by_name(value: str, types: Sequence[str], line: int, left_out: Mapping[str, int]) -> Amounts:
    percentages = "%" in value
    numbers: dict[str, int] = {}
    shares: dict[str, float] = {}
    for part in value.split(","):
        name, equals, amount = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not amount or "=" in amount:
            raise _refused(line, value, f"{part.strip()!r} is not NAME=VALUE")
        if name not in types:
            raise _refused(line, value, f"{name!r} is not a resource type ({', '.join(types)})", "ResourceNotFoundException")
        if percentages:
            shares[name] = _percentage(amount, line, value)
            continue
        try:
            numbers[name] = int(amount)
        except ValueError:
            raise _refused(line, value, f"{amount!r} is not a whole number", "NumberFormatException") from None
        if numbers[name] < 0:
            raise _refused(line, value, f"{name} is negative")
    if percentages:
        return Amounts(percent={name: shares.get(name, 1.0) for name in types})
    return Amounts(absolute={name: numbers.get(name, left_out[name]) for name in types})


def _percentage(text: str, line: int, value: str) -> float:
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)\s*%", text)
    if match is None:
        raise _refused(line, value, f"{text!r} is not a percentage")
    if match[1].startswith("-"):
        raise _refused(line, value, "a percentage is negative")
    return float(match[1]) / 100


def _percentages(value: str, types: Sequence[str], line: int) -> Amounts:
    if "," not in value:
        match = re.search(r"(-?\d+(?:\.\d+)?)\s*%", value)
        if match is None:
            raise _refused(line, value, "no percentage is found")
        if re.search(r"%\s*\S", value):
            raise _refused(line, value, "one resource's percentage needs the other's beside it")
        return Amounts(percent=dict.fromkeys(types, _percentage(match[0], line, value)))
    shares = {
        name: _found(value, r"(-?\d+(?:\.\d+)?)\s*%\s*" + word, word, line)
        for name, word in ((MEMORY, "memory"), (VCORES, "cpu"))
    }
    return Amounts(percent={name: shares.get(name, 0.0) / 100 for name in types})


def _with_units(value: str, types: Sequence[str], line: int) -> Amounts:
    numbers = {
        name: int(_found(value, r"(-?\d+(?:\.\d*)?)\s*" + word, word, line))
        for name, word in ((MEMORY, "mb"), (VCORES, "vcores"))
    }
    return Amounts(absolute={name: numbers.get(name, 0) for name in types})


def _found(value: str, pattern: str, word: str, line: int) -> float:
    match = re.search(pattern, value)
    if match is None:
        raise _refused(line, value, f"missing resource: {word}")
    number = float(match[1])
    if number < 0:
        raise _refused(line, value, f"{word} is negative")
    return number
