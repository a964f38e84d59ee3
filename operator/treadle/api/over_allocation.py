"""What a node says itself of how far it may be over-allocated, in the words of the Scheduler's settings."""

from typing import Final

from treadle.core.model.opportunistic import FULL, SOME, NodeWord, PressureThreshold, Threshold

MOST: Final = 1000
"""Characters of what a node may say."""
PERCENT: Final = 10
"""A percent in thousandths."""
MAXIMUM: Final = "maximumPercent"
MOST_MAXIMUM: Final = 1000
_ALLOCATION, _PREEMPTION, _BORNE, _OF = "allocationPercent", "preemptionPercent", "borneSamples", "of"
_TYPES: Final = ("cpu", "memory")
_GROUPS: Final = (*_TYPES, *(f"pressure.{name}" for name in _TYPES))
_BOUNDS: Final = {MAXIMUM: MOST_MAXIMUM} | {
    f"{name}.{field}": 100 for name in _GROUPS for field in (_ALLOCATION, _PREEMPTION, _BORNE)
}
_WORDS: Final = {f"pressure.{name}.{_OF}": (SOME, FULL) for name in _TYPES}


def over_allocation_of(text: str) -> NodeWord:
    """Return what a node says, from ``cpu.allocationPercent=40,cpu.preemptionPercent=60,pressure.memory.of=Some,…,maximumPercent=50``. Raises ``ValueError``."""
    if len(text) > MOST:
        raise ValueError(f"{text[:60]!r} is too long: {len(text)} characters; at most {MOST} are allowed")
    found: dict[str, int] = {}
    words: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (one.strip() for one in part.partition("="))
        if name not in _BOUNDS and name not in _WORDS:
            raise ValueError(f"{part.strip()[:60]!r} is no FIELD=NUMBER; allowed fields are {', '.join((*_BOUNDS, *_WORDS))}")
        if name in found or name in words:
            raise ValueError(f"{name} stands there twice")
        if name in _WORDS:
            if value not in _WORDS[name]:
                raise ValueError(f"{name}: {value[:40]!r} is not allowed; it is {' or '.join(_WORDS[name])}")
            words[name] = value
            continue
        if not (value.isascii() and value.isdigit() and len(value) <= 4 and int(value) <= _BOUNDS[name]):
            raise ValueError(f"{name}: {value[:40]!r} is not allowed; it is a whole number from 0 to {_BOUNDS[name]}")
        found[name] = int(value)
    said = {name: _threshold(name, found) for name in _GROUPS if any(key.startswith(f"{name}.") for key in (*found, *words))}
    pressure = tuple(
        PressureThreshold(name, words.get(f"pressure.{name}.{_OF}", SOME), one.allocation, one.preemption, one.borne)
        for name in _TYPES
        if (one := said.get(f"pressure.{name}")) is not None
    )
    thresholds = tuple((name, said[name]) for name in _TYPES if name in said)
    return NodeWord(thresholds, found[MAXIMUM] * PERCENT if MAXIMUM in found else None, pressure)


def _threshold(name: str, found: dict[str, int]) -> Threshold:
    allocation, preemption = found.get(f"{name}.{_ALLOCATION}"), found.get(f"{name}.{_PREEMPTION}")
    if allocation is None or preemption is None:
        raise ValueError(f"{name}: {_ALLOCATION} and {_PREEMPTION} are required together")
    if allocation > preemption:
        raise ValueError(f"{name}.{_PREEMPTION}: {preemption} is less than {_ALLOCATION}, {allocation}; it must be at least that")
    return Threshold(allocation * PERCENT, preemption * PERCENT, found.get(f"{name}.{_BORNE}", 0))
