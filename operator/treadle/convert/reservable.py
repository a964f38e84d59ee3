"""How a queue takes reservations: the settings of both schedulers as one block, with a line for each that does not carry over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treadle.convert.capacity_file import PREFIX, Properties
from treadle.convert.texts import milliseconds

SYSTEM: Final = "yarn.resourcemanager.reservation-system."
_CLASSES: Final = {
    "agent": {"AlignedPlannerWithGreedy": "Aligned", "GreedyReservationAgent": "Greedy"},
    "policy": {"CapacityOverTimePolicy": "CapacityOverTime", "NoOverCommitPolicy": "NoOverCommit"},
    "planner": {"SimpleCapacityReplanner": ""},
}
"""Hadoop's classes by what they are for, and what they are called here; empty where there is one of them only."""
_TIMES: Final = {
    "reservation-window": ("window", 600_000, 2_592_000_000),
    "reservation-enforcement-window": ("enforcementWindow", 0, 2_764_800_000),
}
_PARTS: Final = {"instantaneous-max-capacity": "instantaneousMaxCapacity", "average-capacity": "averageCapacity"}
CARRIED: Final = frozenset(
    {
        "reservable",
        "reservation-agent",
        "reservation-policy",
        "reservation-planner",
        "reservation-move-on-expiry",
        *_TIMES,
        *_PARTS,
    }
)
"""The properties of a reservable queue that carry over, or have a line of their own."""
CARRIED_OF_ALL: Final = frozenset(
    f"{SYSTEM}{name}" for name in ("enable", "max-periodicity", "favor-early-allocation", "smoothness-factor")
)


def named(kind: str, text: str, where: str, notes: list[str]) -> dict[str, str]:
    """Return what a class is called here as a field; one that is not Hadoop's own is left out with a line."""
    found = _CLASSES[kind].get(text.strip().rpartition(".")[2])
    if found is None:
        notes.append(f"{where}: is left out; {text.strip()} is not one of {', '.join(_CLASSES[kind])}")
    return {kind: found} if found else {}


def block(properties: Properties, path: str, notes: list[str]) -> dict[str, Any] | None:
    """Return the block of a queue of the CapacityScheduler by its path there, None if it takes no reservations. Raises ``CapacityFileError``."""
    prefix = f"{PREFIX}{path}."
    if not properties.flag(f"{prefix}reservable", default=False):
        return None
    found: dict[str, Any] = {}
    for kind in _CLASSES:
        text = properties.text(f"{prefix}reservation-{kind}")
        if text is not None:
            found |= named(kind, text, f"{prefix}reservation-{kind}", notes)
    for name, (field, least, most) in _TIMES.items():
        time = properties.maybe(prefix + name)
        if time is not None and least <= time <= most:
            found[field] = milliseconds(int(time))
        elif time is not None:
            notes.append(f"{prefix}{name}: is left out; {time:g} ms is not between {least} and {most}")
    for name, field in _PARTS.items():
        part = properties.maybe(prefix + name)
        if part is not None:
            found[field] = max(0, min(100, round(part)))
            if found[field] != part:
                notes.append(f"{prefix}{name}: {part:g} becomes {found[field]}; it is a whole percentage")
    move = properties.maybe_flag(f"{prefix}reservation-move-on-expiry")
    if move is not None:
        found["moveOnExpiry"] = move
    return found | _of_all(properties, notes)


def _of_all(properties: Properties, notes: list[str]) -> dict[str, Any]:
    """Return what Hadoop says of all reservable queues at once."""
    found: dict[str, Any] = {}
    period = properties.maybe(f"{SYSTEM}max-periodicity")
    if period is not None and 600_000 <= period <= 2_764_800_000:
        found["maximumPeriod"] = milliseconds(int(period))
    elif period is not None and period > 0:
        notes.append(f"{SYSTEM}max-periodicity: is left out; {period:g} ms is not between 600000 and 2764800000")
    early = properties.maybe_flag(f"{SYSTEM}favor-early-allocation")
    if early is not None:
        found["favorEarlyAllocation"] = early
    smooth = properties.maybe_whole(f"{SYSTEM}smoothness-factor")
    if smooth is not None and 1 <= smooth <= 100:
        found["smoothness"] = smooth
    elif smooth is not None:
        notes.append(f"{SYSTEM}smoothness-factor: is left out; {smooth} is not between 1 and 100")
    return found


def is_on(values: Mapping[str, str]) -> bool:
    """Whether Hadoop's reservation system is switched on."""
    return values.get(f"{SYSTEM}enable", "false").strip().lower() == "true"
