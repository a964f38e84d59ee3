"""What a job used from its start on, and what several runs of it used by intervals (``ResourceSkyline`` and ``SolverPreprocessor`` of the resource estimator)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.units.resources import MEMORY


@dataclass(frozen=True, slots=True)
class Skyline:
    """What a job used: ``used`` in seconds since it was submitted, in containers of the size ``container``. ``submitted`` is in ms."""

    job: str
    submitted: int
    container: Sequence[int]
    used: OverTime


def merged(jobs: Sequence[Skyline]) -> Skyline:
    """Return the jobs of one run as one: each as many whole seconds later as it was submitted later, counted in containers of the first."""
    first = min(one.submitted for one in jobs)
    used = OverTime(len(jobs[0].container))
    for one in jobs:
        later = (one.submitted - first) // 1000
        for start, end, amount in one.used.intervals():
            used.add(start + later, end + later, amount)
    return Skyline(jobs[0].job, jobs[0].submitted, jobs[0].container, used)


def intervals_of(runs: Sequence[Skyline], interval: int) -> int:
    """Return how many intervals of some seconds the longest run takes from its start on."""
    return max((-(-(one.used.latest or 0) // interval) for one in runs), default=0)


def counts(run: Skyline, interval: int, number: int) -> list[int]:
    """Return the most containers that a run had in each of its first intervals, by memory."""
    size = run.container[MEMORY]
    return [
        max((value[MEMORY] for _, _, value in run.used.segments(start, start + interval)), default=0) // size
        for start in range(0, number * interval, interval)
    ]
