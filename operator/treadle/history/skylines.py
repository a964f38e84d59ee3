"""What runs used over time, in containers of one size, as the resource estimator reads it (``ResourceSkyline``). No store and no clock."""

from __future__ import annotations

from math import ceil, gcd
from typing import TYPE_CHECKING

from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.skylines import Skyline
from treadle.core.units.resources import MEMORY
from treadle.history.rhythm import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.history.runs import Run

INTERVALS = (10, 15, 30, MINUTE, 120, 300, 600, 900, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY)
"""Seconds of an interval that a run is cut into: the shortest that makes no more intervals than an expression may have requests."""
MOST_INTERVALS = 64
_MIB = 1 << 20


def asked(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the amounts that are more than nothing."""
    return {name: value for name, value in amounts.items() if value > 0}


def length_of(run: Run) -> float:
    """Return the seconds that a run took."""
    return (run.ended or run.started) - run.started


def interval_for(seconds: float) -> int:
    """Return the seconds of an interval where the longest run took so many."""
    return next((each for each in INTERVALS if each * MOST_INTERVALS >= seconds), INTERVALS[-1])


def _whole(name: str) -> bool:
    """Whether a resource comes in whole things."""
    return name not in {"cpu", "memory", "ephemeral-storage"} and not name.startswith("hugepages-")


def container_of(run: Run) -> dict[str, int]:
    """Return the size of the containers that are reserved: a pod's, in the mean, when the run had the most; where it has devices, as many parts as these can be divided into."""
    most = max(run.steps, key=lambda step: (step.amounts.get("memory", 0), step.amounts.get("cpu", 0), step.pods))
    peak = {name: max(step.amounts.get(name, 0) for step in run.steps) for step in run.steps for name in step.amounts}
    amounts = asked({**peak, **{name: value for name, value in most.amounts.items() if value}})
    parts = gcd(*(value for name, value in amounts.items() if _whole(name))) or max(1, most.pods)
    sizes = {name: ceil(value / parts) for name, value in amounts.items()}
    return {name: ceil(value / _MIB) * _MIB if name == "memory" else value for name, value in sizes.items()}


def skyline_of(run: Run, container: Mapping[str, int]) -> Skyline:
    """Return what a run used as a number of containers over time."""
    size = [0] * (MEMORY + 1)
    size[MEMORY] = 1
    used = OverTime(len(size))
    ends = [*(step.at for step in run.steps[1:]), run.ended or run.started]
    for step, until in zip(run.steps, ends, strict=True):
        count = max((ceil(step.amounts.get(name, 0) / value) for name, value in container.items()), default=0)
        start, end = round(step.at - run.started), round(until - run.started)
        if count and end > start:
            used.add(start, end, [value * count for value in size])
    return Skyline(run.application, round(run.submitted * 1000), size, used)
