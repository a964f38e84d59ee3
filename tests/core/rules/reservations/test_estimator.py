"""What a recurring job will need (``TestLpSolver``, and small programs whose optimum is known)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import CONTAINER, size
from treadle.core.model.programs import LinearProgram, LinearSolution
from treadle.core.model.reservations import Interpreter
from treadle.core.rules.reservations.estimator import (
    EstimatorSettings,
    InvalidHistory,
    NoAnswer,
    Prediction,
    objective,
    predict,
    program,
)
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.skylines import Skyline
from treadle.runtime.solver import Highs

needs_solver = pytest.mark.skipif(bool(Highs().problem), reason=Highs().problem)


def history(*runs: list[int]) -> dict[str, list[Skyline]]:
    """Runs by what they used in each five seconds."""
    return {
        f"r{number}": [Skyline("j", 0, CONTAINER, OverTime(2, [(5 * at, 5 * at + 5, size(one)) for at, one in enumerate(run)]))]
        for number, run in enumerate(runs)
    }


class Stopped:
    """A solver that finds nothing."""

    def solve_linear(self, _program: LinearProgram, _seconds: float) -> LinearSolution:
        return LinearSolution("stopped", words="nothing was found")


@needs_solver
@pytest.mark.parametrize(
    ("runs", "alpha", "counts", "cost"),
    [
        ([[10, 20, 30]], 0.1, [10, 20, 30], 0.0),
        ([[10, 20, 30], [20, 20, 10]], 0.1, [10, 20, 30], 1.010),
        ([[10, 20, 30], [20, 20, 10]], 0.9, [10, 20, 10], 1.5267),
        ([[10, 10], [20, 20], [30, 30]], 0.1, [30, 30], 2.0),
        ([[10, 10], [20, 20], [30, 30]], 0.5, [20, 20], 6.6778),
        ([[10, 10], [20, 20], [30, 30]], 0.9, [10, 10], 2.0389),
        ([[7]], 0.1, [7], 0.0),
    ],
)
def test_a_larger_alpha_reserves_less(runs: list[list[int]], alpha: float, counts: list[int], cost: float) -> None:
    settings = EstimatorSettings(alpha=alpha)
    found = predict(history(*runs), settings, Highs())
    assert list(found.counts) == counts
    assert objective(runs, found.counts, settings) == pytest.approx(cost, abs=1e-3)


@needs_solver
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(st.integers(1, 20), min_size=width, max_size=width), min_size=1, max_size=3)
    )
)
def test_the_objective_is_the_cost_of_the_programs_answer(used: list[list[int]]) -> None:
    settings = EstimatorSettings(alpha=0.3, beta=0.2)
    solution = Highs().solve_linear(program(used, settings), 10.0)
    assert solution.outcome == "best"
    assert objective(used, solution.values[: len(used[0])], settings) == pytest.approx(solution.cost, abs=1e-6)
    assert all(solution.cost <= objective(used, run, settings) + 1e-6 for run in used)


@pytest.mark.parametrize(
    ("given", "settings", "words"),
    [
        (None, EstimatorSettings(), "the history has no runs"),
        ({}, EstimatorSettings(), "the history has no runs"),
        (history([1, 2]), EstimatorSettings(least_runs=2), "the history has 1 runs, at least 2 are needed"),
        (history([1, 2]), EstimatorSettings(interval=0), "interval: 0 s is not above 0"),
        ({"r": []}, EstimatorSettings(), "run 'r' has no jobs"),
        (history([0, 0]), EstimatorSettings(), "no run has used a container"),
    ],
)
def test_a_history_that_tells_nothing_is_refused(
    given: dict[str, list[Skyline]] | None, settings: EstimatorSettings, words: str
) -> None:
    with pytest.raises(InvalidHistory, match=words):
        predict(given, settings, Stopped())


def test_a_solver_without_an_answer_is_told_of() -> None:
    with pytest.raises(NoAnswer, match="nothing was found"):
        predict(history([1, 2]), EstimatorSettings(), Stopped())


def test_a_prediction_becomes_a_reservation_that_recurs() -> None:
    found = Prediction(5, CONTAINER, [0, 3, 4, 0]).definition(1_000_000, 3_600_000)
    assert (found.arrival, found.deadline, found.period) == (1_005_000, 1_015_000, 3_600_000)
    assert [(one.count, one.duration) for one in found.requests] == [(3, 5000), (4, 5000)]
    assert found.interpreter is Interpreter.ORDER_NO_GAP
    assert Prediction(5, CONTAINER, [3, 0, 4]).definition(0).interpreter is Interpreter.ORDER
    assert [one.count for one in Prediction(5, CONTAINER, [3, 0, 4]).requests()] == [3, 0, 4]
