"""How much a recurring job will need, from what its runs used (Morpheus, OSDI 2016; ``LpSolver`` of YARN's resource estimator).

A linear program chooses a number of containers for each interval. It weighs what is reserved and not used against work that is left when the time is over: what a run lacks in
one interval is carried on and may be made up later. A term keeps it general: how much runs lack at each moment, on average, as a part of what they used. The
program is stated here; whoever wants an answer brings a solver. Its optima are often not unique, so what is to be compared is ``objective``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from treadle.core.errors import CoreError
from treadle.core.model.programs import LinearProgram, LinearRow, LinearSolver
from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.skylines import Skyline, counts, intervals_of, merged

HAIR = 1e-6
"""By how much less than a whole number of containers a solver may say and mean it."""


class InvalidHistory(CoreError):
    """Nothing can be predicted from a history (``InvalidInputException``); the message says why."""


class NoAnswer(CoreError):
    """The solver has found no answer; the message is what it says."""


@dataclass(frozen=True, slots=True)
class EstimatorSettings:
    """``interval`` is in seconds. A larger ``alpha`` reserves less, a larger ``beta`` lets runs lack less at each moment; fewer runs than ``least_runs`` are too few."""

    interval: int = 5
    alpha: float = 0.1
    beta: float = 0.1
    least_runs: int = 1


@dataclass(frozen=True, slots=True)
class Prediction:
    """How many containers of a size a job will have in each interval of some seconds."""

    interval: int
    container: Sequence[int]
    counts: Sequence[int]

    def over_time(self) -> OverTime:
        """Return what the job will have, in seconds since its start."""
        found = OverTime(len(self.container))
        for number, count in enumerate(self.counts):
            amount = [value * count for value in self.container]
            found.add(number * self.interval, (number + 1) * self.interval, amount)
        return found

    def requests(self) -> list[ReservationRequest]:
        """Return one request for each interval from the first container on to the last, which may be for none (``toRecurringRDL``). Durations are in the unit of the interval."""
        busy = [number for number, count in enumerate(self.counts) if count]
        wanted = self.counts[busy[0] : busy[-1] + 1] if busy else ()
        return [ReservationRequest(self.container, count, 1, self.interval) for count in wanted]

    def definition(self, start: int, period: int = 0) -> ReservationDefinition:
        """Return what is to be reserved for a run that starts at ``start``, and each ``period`` again, both in ms.

        All requests follow one another without a gap, which YARN's do not say; intervals without a container are left out, and then gaps are allowed.
        """
        requests = [ReservationRequest(one.demand, one.count, 1, one.duration * 1000) for one in self.requests()]
        interpreter = Interpreter.ORDER_NO_GAP if all(one.count for one in requests) else Interpreter.ORDER
        steps = self.over_time()
        arrival, deadline = (start + 1000 * (time or 0) for time in (steps.earliest, steps.latest))
        return ReservationDefinition(arrival, deadline, [one for one in requests if one.count], interpreter, str(period))


def runs_of(history: Mapping[str, Sequence[Skyline]] | None, settings: EstimatorSettings) -> list[Skyline]:
    """Return the runs of a history of jobs by run, each as one. Raises ``InvalidHistory``."""
    if not history:
        raise InvalidHistory("the history has no runs")
    if len(history) < settings.least_runs:
        raise InvalidHistory(f"the history has {len(history)} runs, at least {settings.least_runs} are needed")
    if settings.interval <= 0:
        raise InvalidHistory(f"interval: {settings.interval} s is not above 0")
    empty = next((name for name, jobs in history.items() if not jobs), None)
    if empty is not None:
        raise InvalidHistory(f"run {empty!r} has no jobs")
    return [merged(jobs) for jobs in history.values()]


def predict(
    history: Mapping[str, Sequence[Skyline]] | None, settings: EstimatorSettings, solver: LinearSolver, seconds: float = 60.0
) -> Prediction:
    """Return what the next run will need. Raises ``InvalidHistory`` and ``NoAnswer``."""
    runs = runs_of(history, settings)
    number = intervals_of(runs, settings.interval)
    used = [counts(run, settings.interval, number) for run in runs]
    if not any(any(one) for one in used):
        raise InvalidHistory("no run has used a container")
    solution = solver.solve_linear(program(used, settings), seconds)
    if solution.outcome != "best":
        raise NoAnswer(solution.words)
    return Prediction(settings.interval, runs[0].container, [floor(value + HAIR) for value in solution.values[:number]])


def program(used: Sequence[Sequence[int]], settings: EstimatorSettings) -> LinearProgram:
    """Return the linear program for what runs used by intervals, at least one of them something; its first columns are the containers of each interval."""
    runs, number = len(used), len(used[0])
    block = runs * number
    over, carried, lacking, general = number, number + block, number + 2 * block, number + 3 * block
    rows: list[LinearRow] = []
    parts: list[tuple[int, float]] = []
    for run, each in enumerate(used):
        total = sum(each)
        for at, count in enumerate(each):
            column = run * number + at
            rows.append(LinearRow(((over + column, 1.0), (at, -1.0)), least=-float(count)))
            rows.append(LinearRow(((lacking + column, 1.0), (at, 1.0)), least=float(count)))
            before = ((carried + column - 1, -1.0),) if at else ()
            rows.append(LinearRow(((carried + column, 1.0), *before, (at, 1.0)), least=float(count)))
            if total:
                parts.append((lacking + column, 1.0 / total))
    rows.append(LinearRow((*parts, (general, -float(runs))), most=0.0))
    costs = [(over + column, settings.alpha / runs) for column in range(block)]
    costs += [(carried + run * number + number - 1, (1.0 - settings.alpha) / runs) for run in range(runs)]
    costs.append((general, settings.beta))
    return LinearProgram(general + 1, tuple(rows), tuple(costs))


def objective(used: Sequence[Sequence[int]], chosen: Sequence[float], settings: EstimatorSettings) -> float:
    """Return the program's objective for some containers by interval, everything else at its best. Runs that used nothing lack nothing."""
    over = left = lacking = 0.0
    for run in used:
        carried = point = 0.0
        for count, have in zip(run, chosen, strict=True):
            over += max(0.0, have - count)
            carried = max(0.0, carried + count - have)
            point += max(0.0, count - have)
        left += carried
        lacking += point / sum(run) if any(run) else 0.0
    return (settings.alpha * over + (1.0 - settings.alpha) * left + settings.beta * lacking) / len(used)
