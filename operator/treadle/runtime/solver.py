"""HiGHS as the solver of integer and linear programs, where its Python package is installed (the extra ``solver``).

One thread and a fixed seed, so the same program has the same answer. Whole answers only: an objective counts when nothing better is
possible, and where the time is over before the first one is done there is no answer. The package is loaded with the first program.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from treadle.core.model.programs import LinearSolution, Solution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.model.programs import IntegerProgram, LinearProgram, Terms

PACKAGE = "highspy"
SMALLEST = 1e-3
"""Seconds below which nothing is begun."""


class Highs:
    """HiGHS, loaded when it is needed."""

    def __init__(self) -> None:
        self._problem: str | None = None

    @property
    def problem(self) -> str:
        """Why it cannot be used, empty if it can; found out once."""
        if self._problem is None:
            there = find_spec(PACKAGE) is not None
            self._problem = "" if there else f"the Python package {PACKAGE} is not installed (pip install 'treadle[solver]')"
        return self._problem

    def solve(self, program: IntegerProgram, seconds: float) -> Solution:
        """Solve a program within a time."""
        began = time.perf_counter()
        try:
            import highspy
        except ImportError as error:
            self._problem = f"the Python package {PACKAGE} cannot be loaded: {error}"
            return Solution("failed", seconds=time.perf_counter() - began, words=self._problem)
        status = highspy.HighsModelStatus
        rows = [(one.terms, one.least, one.most) for one in program.rows]
        values: tuple[int, ...] = ()
        for objective in program.objectives:
            left = seconds - (time.perf_counter() - began)
            if left < SMALLEST:
                return Solution("stopped", values, time.perf_counter() - began, f"no time was left of {seconds:.3g} s")
            model = _model(highspy, program.highest, rows, objective, left)
            if values:
                start = highspy.HighsSolution()
                start.col_value = list(map(float, values))
                model.setSolution(start)
            model.run()
            found = model.getModelStatus()
            took = time.perf_counter() - began
            if found == status.kOptimal:
                values = tuple(round(value) for value in model.getSolution().col_value)
                rows.append((objective, sum(values[column] * number for column, number in objective), None))
            elif found in {status.kTimeLimit, status.kIterationLimit, status.kSolutionLimit, status.kInterrupt}:
                return Solution("stopped", values, took, f"nothing was found within {seconds:.3g} s")
            elif found in {status.kInfeasible, status.kUnboundedOrInfeasible} and not values:
                return Solution("infeasible", seconds=took, words="the program has no answer")
            else:
                words = model.modelStatusToString(found)
                return Solution("failed", values, took, f"HiGHS says: {words}")
        return Solution("best", values, time.perf_counter() - began)

    def solve_linear(self, program: LinearProgram, seconds: float) -> LinearSolution:
        """Solve a linear program within a time."""
        try:
            import highspy
        except ImportError as error:
            self._problem = f"the Python package {PACKAGE} cannot be loaded: {error}"
            return LinearSolution("failed", words=self._problem)
        status = highspy.HighsModelStatus
        lp = highspy.HighsLp()
        rows = [(one.terms, one.least, one.most) for one in program.rows]
        _fill(highspy, lp, [highspy.kHighsInf] * program.columns, rows, program.costs)
        lp.sense_ = highspy.ObjSense.kMinimize
        model = _solver(highspy, seconds)
        model.passModel(lp)
        model.run()
        found = model.getModelStatus()
        if found == status.kOptimal:
            return LinearSolution("best", tuple(model.getSolution().col_value), model.getInfo().objective_function_value)
        if found in {status.kTimeLimit, status.kIterationLimit, status.kInterrupt}:
            return LinearSolution("stopped", words=f"nothing was found within {seconds:.3g} s")
        if found == status.kInfeasible:
            return LinearSolution("infeasible", words="the program has no answer")
        return LinearSolution("failed", words=f"HiGHS says: {model.modelStatusToString(found)}")


def _model(
    highspy: Any, highest: tuple[int, ...], rows: list[tuple[Terms, int | None, int | None]], objective: Terms, seconds: float
) -> Any:
    """Return a program with one objective."""
    lp = highspy.HighsLp()
    _fill(highspy, lp, highest, rows, objective)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(highest)
    lp.sense_ = highspy.ObjSense.kMaximize
    model = _solver(highspy, seconds)
    model.setOptionValue("presolve", "off")  # it takes a hundred times as long as what it spares: these programs are tight
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 0.999)  # objectives are whole numbers
    model.passModel(lp)
    return model


def _fill(
    highspy: Any,
    lp: Any,
    highest: Sequence[float],
    rows: Sequence[tuple[Sequence[tuple[int, float]], float | None, float | None]],
    objective: Sequence[tuple[int, float]],
) -> None:
    """State columns from 0 to what is highest, rows with their bounds, and an objective."""
    infinity = highspy.kHighsInf
    lp.num_col_, lp.num_row_ = len(highest), len(rows)
    costs = [0.0] * len(highest)
    for column, number in objective:
        costs[column] = float(number)
    lp.col_cost_ = costs
    lp.col_lower_ = [0.0] * len(highest)
    lp.col_upper_ = [float(one) for one in highest]
    lp.row_lower_ = [-infinity if least is None else float(least) for _, least, _ in rows]
    lp.row_upper_ = [infinity if most is None else float(most) for _, _, most in rows]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    starts = [0]
    for terms, _, _ in rows:
        starts.append(starts[-1] + len(terms))
    lp.a_matrix_.start_ = starts
    lp.a_matrix_.index_ = [column for terms, _, _ in rows for column, _ in terms]
    lp.a_matrix_.value_ = [float(number) for terms, _, _ in rows for _, number in terms]


def _solver(highspy: Any, seconds: float) -> Any:
    model = _quiet(highspy)
    model.setOptionValue("threads", 1)
    model.setOptionValue("random_seed", 0)
    model.setOptionValue("time_limit", seconds)
    return model


def _quiet(highspy: Any) -> Any:
    """Return a solver that prints nothing: its banner comes when it is made, with the callbacks, unless output is off by then."""

    class Quiet(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # noqa: N802 - its name is HiGHS'
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return Quiet()
