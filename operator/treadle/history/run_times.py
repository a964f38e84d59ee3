"""How long the pods of past runs ran, in the mean of a run: what is known of run times where nothing has ended yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.history.runs import FAILED, SUCCEEDED

if TYPE_CHECKING:
    from treadle.history.runs import Run
    from treadle.history.store import Store

MOST = 2_000
"""Runs that are read at the most: the newest."""
SHORT = 1.0
"""Seconds that may be missing at the beginning of a run's steps."""


def mean_seconds(run: Run) -> float | None:
    """Return for how long a pod of a run was on a node, in the mean.

    None where that is not known: the run is under way, its beginning or its end was not seen, or pods were deleted, which would have run longer.
    """
    if run.ended is None or run.outcome not in {SUCCEEDED, FAILED} or run.deleted or not run.pods or not run.steps:
        return None
    if run.steps[0].at > run.started + SHORT:
        return None
    until = [*(step.at for step in run.steps[1:]), run.ended]
    return sum(step.pods * (later - step.at) for step, later in zip(run.steps, until, strict=True)) / run.pods


def past(store: Store, since: float, before: float) -> list[tuple[str, str, float]]:
    """Return the application, the queue and the mean seconds of runs that began since a time and ended before another one, the oldest first.

    Raises what a store raises.
    """
    found = [
        (run.application, run.queue, mean)
        for run in store.runs(since=since, most=MOST)
        if (run.ended or before) < before and (mean := mean_seconds(run)) is not None
    ]
    return found[::-1]
