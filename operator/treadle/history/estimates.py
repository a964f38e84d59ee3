"""Estimates of what an application's next run needs, from the runs of the history, as the resource estimator makes them (Morpheus, OSDI 2016). Everything here blocks."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.rules.reservations.estimator import EstimatorSettings, InvalidHistory, Prediction, predict
from treadle.history.proposing import MOST_RUNS
from treadle.history.runs import SUCCEEDED
from treadle.history.skylines import MOST_INTERVALS, asked, container_of, interval_for, length_of, skyline_of
from treadle.history.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.model.programs import LinearSolver
    from treadle.history.runs import Run

MOST_LISTED = 1000
"""Runs that are listed at most, those that began last."""
MOST_READ = 10_000
"""Runs that are read at most, to find those."""
KEPT = 256
"""Estimates that are kept: those that were asked for last."""
ALL = "*"
SECONDS = 20.0
"""How long the solver may take."""


class Estimate(NamedTuple):
    """What the next run needs, in containers of a size (cpu in thousandths, memory in bytes)."""

    prediction: Prediction
    container: dict[str, int]


class Estimates:
    """Reads the history in a store. An estimate is kept until the runs that it was made from are others."""

    def __init__(self, url: str, solver: LinearSolver) -> None:
        self._url, self._solver = url, solver
        self._kept: OrderedDict[str, tuple[tuple[tuple[str, float], ...], Estimate]] = OrderedDict()
        self._solving = Lock()

    def runs(self, pattern: str, started: float | None = None) -> list[Run]:
        """Return the runs that are over of an application, by which ``*`` stands for any letters, the newest first; of one time of beginning, to the ms, if that is said.

        Raises ``NoHistory``, ``OtherVersion``, ``SQLAlchemyError`` and ``OSError``.
        """
        with closing(Store(self._url)) as store:
            store.check_there()
            since = 0.0 if started is None else started - 1.0
            found = [run for run in store.runs(pattern, "", since, MOST_READ) if run.ended is not None]
        if started is not None:
            found = [run for run in found if abs(run.started - started) < 0.0006]
        return found[:MOST_LISTED]

    def delete(self, application: str, started: float) -> bool:
        """Delete a run that is over; returns whether there was one."""
        with closing(Store(self._url)) as store:
            store.check_there()
            return store.delete_run(application, started)

    def kept(self, pattern: str) -> Estimate | None:
        """Return the estimate that was made last, None if none is kept."""
        found = self._kept.get(pattern)
        return None if found is None else found[1]

    def estimate(self, pattern: str) -> Estimate:
        """Return what the next run needs, by the newest runs that succeeded and requested something.

        Raises ``InvalidHistory`` where there is none and ``NoAnswer`` where the solver has none, and what ``runs`` does.
        """
        runs = [run for run in self.runs(pattern) if run.outcome == SUCCEEDED and any(asked(step.amounts) for step in run.steps)][
            :MOST_RUNS
        ]
        if not runs:
            raise InvalidHistory("the history has no runs that succeeded and requested something")
        made_from = tuple((run.application, run.started) for run in runs)
        with self._solving:
            known = self._kept.get(pattern)
            if known is not None and known[0] == made_from:
                return known[1]
            found = _solved(runs[::-1], self._solver)
            self._kept[pattern] = made_from, found
            self._kept.move_to_end(pattern)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


def _solved(runs: Sequence[Run], solver: LinearSolver) -> Estimate:
    longest = max(length_of(run) for run in runs)
    interval = interval_for(longest)
    if interval * MOST_INTERVALS < longest:
        raise InvalidHistory(f"a run took {longest:.0f} s, which are more than {MOST_INTERVALS} intervals of {interval} s")
    container = container_of(runs[-1])
    history = {str(number): [skyline_of(run, container)] for number, run in enumerate(runs)}
    return Estimate(predict(history, EstimatorSettings(interval), solver, SECONDS), container)
