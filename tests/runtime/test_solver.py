"""HiGHS behind the seam of the core: small programs, no time, no answer, and no package."""

from __future__ import annotations

import sys

import pytest

from treadle.core.model.programs import IntegerProgram, LinearProgram, LinearRow, Row
from treadle.runtime.solver import Highs

KNAPSACK = IntegerProgram((1, 1, 1), (Row(((0, 3), (1, 4), (2, 5)), most=8),), (((0, 4), (1, 5), (2, 6)),))


def test_the_best_answer_is_found() -> None:
    solution = Highs().solve(KNAPSACK, 5.0)

    assert solution.outcome == "best"
    assert solution.values == (1, 0, 1)
    assert 0 < solution.seconds < 5


def test_of_the_best_for_the_first_objective_the_best_for_the_second_is_found() -> None:
    program = IntegerProgram((2, 2), (Row(((0, 1), (1, 1)), most=2),), (((0, 1), (1, 1)), ((1, -1),)))

    assert Highs().solve(program, 5.0).values == (2, 0)
    assert Highs().solve(IntegerProgram(program.highest, program.rows, (program.objectives[0], ())), 5.0).outcome == "best"


def test_a_program_that_cannot_be_satisfied_has_no_answer() -> None:
    solution = Highs().solve(IntegerProgram((1,), (Row(((0, 1),), least=2),), (((0, 1),),)), 5.0)

    assert solution.outcome == "infeasible"
    assert solution.values == ()


def test_a_row_without_columns_that_asks_for_something_has_no_answer_either() -> None:
    assert Highs().solve(IntegerProgram((1,), (Row((), least=2),), (((0, 1),),)), 5.0).outcome == "infeasible"


def test_without_time_there_is_no_answer() -> None:
    solution = Highs().solve(KNAPSACK, 0.0)

    assert solution.outcome == "stopped"
    assert solution.values == ()


def test_without_its_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.runtime.solver.find_spec", lambda _: None)

    assert Highs().problem == "the Python package highspy is not installed (pip install 'treadle[solver]')"


def test_a_package_that_cannot_be_loaded_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    solver = Highs()
    solution = solver.solve(KNAPSACK, 5.0)

    assert solution.outcome == "failed"
    assert "cannot be loaded" in solution.words
    assert "cannot be loaded" in solver.problem


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert Highs().solve(KNAPSACK, 5.0).outcome == "best"

    assert capfd.readouterr() == ("", "")


def test_the_least_cost_of_a_linear_program_is_found() -> None:
    rows = (LinearRow(((0, 1.0), (1, 2.0)), least=4.0), LinearRow(((0, 1.0),), most=1.0))
    solution = Highs().solve_linear(LinearProgram(2, rows, ((0, 1.0), (1, 3.0))), 5.0)

    assert solution.outcome == "best"
    assert solution.values == pytest.approx((1.0, 1.5))
    assert solution.cost == pytest.approx(5.5)


def test_a_linear_program_that_cannot_be_satisfied_has_no_answer() -> None:
    assert Highs().solve_linear(LinearProgram(1, (LinearRow(((0, 1.0),), most=-1.0),), ()), 5.0).outcome == "infeasible"


def test_without_its_package_no_linear_program_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    solution = Highs().solve_linear(LinearProgram(1, (), ()), 5.0)

    assert solution.outcome == "failed"
    assert "cannot be loaded" in solution.words
