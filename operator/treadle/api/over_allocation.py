"""What a node says itself of how far it may be over-allocated, in the words of the Scheduler's settings."""

from typing import Final

from treadle.core.model.opportunistic import NodeWord, Threshold

MOST: Final = 1000
"""Characters of what a node may say."""
PERCENT: Final = 10
"""A percent in thousandths."""
MAXIMUM: Final = "maximumPercent"
MOST_MAXIMUM: Final = 1000
_ALLOCATION, _PREEMPTION, _BORNE = "allocationPercent", "preemptionPercent", "borneSamples"
_TYPES: Final = ("cpu", "memory")
_BOUNDS: Final = {MAXIMUM: MOST_MAXIMUM} | {
    f"{name}.{field}": 100 for name in _TYPES for field in (_ALLOCATION, _PREEMPTION, _BORNE)
}


def over_allocation_of(text: str) -> NodeWord:
    """Return what a node says, from ``cpu.allocationPercent=40,cpu.preemptionPercent=60,maximumPercent=50``. Raises ``ValueError``."""
    if len(text) > MOST:
        raise ValueError(f"{text[:60]!r} is too long: {len(text)} characters; at most {MOST} are allowed")
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = (one.strip() for one in part.partition("="))
        if name not in _BOUNDS:
            raise ValueError(f"{part.strip()[:60]!r} is no FIELD=NUMBER; allowed fields are {', '.join(_BOUNDS)}")
        if name in found:
            raise ValueError(f"{name} stands there twice")
        if not (value.isascii() and value.isdigit() and len(value) <= 4 and int(value) <= _BOUNDS[name]):
            raise ValueError(f"{name}: {value[:40]!r} is not allowed; it is a whole number from 0 to {_BOUNDS[name]}")
        found[name] = int(value)
    thresholds = tuple((name, _threshold(name, found)) for name in _TYPES if any(key.startswith(f"{name}.") for key in found))
    return NodeWord(thresholds, found[MAXIMUM] * PERCENT if MAXIMUM in found else None)


def _threshold(name: str, found: dict[str, int]) -> Threshold:
    allocation, preemption = found.get(f"{name}.{_ALLOCATION}"), found.get(f"{name}.{_PREEMPTION}")
    if allocation is None or preemption is None:
        raise ValueError(f"{name}: {_ALLOCATION} and {_PREEMPTION} are required together")
    if allocation > preemption:
        raise ValueError(f"{name}.{_PREEMPTION}: {preemption} is less than {_ALLOCATION}, {allocation}; it must be at least that")
    return Threshold(allocation * PERCENT, preemption * PERCENT, found.get(f"{name}.{_BORNE}", 0))
