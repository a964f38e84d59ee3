"""Cases of the resource estimator: what runs used by intervals, what is predicted, and the reservation for it.

Optima are not unique, so a prediction is as good as Hadoop's if the program's objective is not worse, both in whole containers. HiGHS solves the programs.
"""

from __future__ import annotations

from typing import Any

import pytest

from treadle.core.rules.reservations.estimator import EstimatorSettings, InvalidHistory, objective, predict, runs_of
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.skylines import Skyline, counts, intervals_of
from treadle.runtime.solver import Highs

CONF = {
    "timeInterval": ("interval", int),
    "solver.lp.alpha": ("alpha", float),
    "solver.lp.beta": ("beta", float),
    "solver.lp.minJobRuns": ("least_runs", int),
}
NOTHING_USED = "ArrayIndexOutOfBoundsException"
"""How Hadoop fails where nothing was used."""
END = (1 << 63) - 1


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "estimator"


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer with whether it is as good as Hadoop's instead of the containers, which also make the prediction and the requests."""
    if "error" in found:
        return found
    cleaned = {name: found[name] for name in ("discrete", "reservation")}
    cleaned["as_good"] = found.get("as_good", True)
    requests = [[concurrency, duration, size] for _, concurrency, duration, size in found["reservation"]["requests"]]
    return cleaned | {"reservation": found["reservation"] | {"requests": requests}}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    solver = Highs()
    if solver.problem:
        pytest.skip(solver.problem)
    settings = EstimatorSettings(**{CONF[name][0]: CONF[name][1](value) for name, value in case.get("conf", {}).items()})
    history = {run["run"]: [skyline(job) for job in run["jobs"]] for run in case["history"]} if "history" in case else None
    try:
        found = predict(history, settings, solver)
    except InvalidHistory as error:
        return {"error": NOTHING_USED if "has used" in str(error) else "InvalidInputException"}
    runs = runs_of(history, settings)
    used = [counts(run, settings.interval, intervals_of(runs, settings.interval)) for run in runs]
    ours, theirs = objective(used, found.counts, settings), case["expect"].get("objective_at_answer")
    steps = found.over_time()
    return {
        "discrete": used,
        "as_good": theirs is None or ours <= theirs + 1e-6,
        "objective": ours,
        "containers": list(found.counts),
        "reservation": {
            "arrival": steps.earliest,
            "deadline": steps.latest,
            "type": "R_ALL",
            "recurrence": "0",
            "queue": "resourceestimator",
            "requests": [[one.count, one.concurrency, one.duration, list(one.demand)] for one in found.requests()],
        },
    }


def skyline(job: dict[str, Any]) -> Skyline:
    used = OverTime(len(job["spec"]))
    for start, end, count in job["skyline"]:
        used.add(start, end, [value * count for value in job["spec"]])
    return Skyline(job.get("id", "job"), job.get("submit", 0), job["spec"], used)
