"""Integer and linear programs as plain data, and what solves them: the core states a program, whoever runs it brings a solver along.

``Settings.solver`` is the solver, None where there is none. It may be slow or wrong: what it answers is checked by the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Terms = tuple[tuple[int, int], ...]
"""A sum of columns, each times a whole number: (column, number)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A sum that must be at least ``least`` and at most ``most``; None: it has no such bound."""

    terms: Terms
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class IntegerProgram:
    """Columns are whole numbers from 0 to ``highest``. Of all that satisfy the rows those are wanted for which the first objective is greatest, then the second, and so on."""

    highest: tuple[int, ...]
    rows: tuple[Row, ...]
    objectives: tuple[Terms, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """What a solver found. ``values`` are those of the columns, empty where it found none; ``seconds`` is the time that it took.

    ``best``: they are the best for all objectives. ``stopped``: the time was over first; where there are values they are the best
    for the objectives that it came to. ``infeasible``: there are none. ``failed``: it broke, and ``words`` say how.
    """

    outcome: Literal["best", "stopped", "infeasible", "failed"]
    values: tuple[int, ...] = ()
    seconds: float = 0.0
    words: str = ""


class Solver(Protocol):
    """What solves integer programs. The same program has the same answer, as far as the time is enough."""

    @property
    def problem(self) -> str:
        """Why it cannot be used, empty if it can."""

    def solve(self, program: IntegerProgram, seconds: float, /) -> Solution:
        """Solve a program within a time."""


@dataclass(frozen=True, slots=True)
class LinearRow:
    """A sum of columns, each times a number, that must be at least ``least`` and at most ``most``; None: it has no such bound."""

    terms: tuple[tuple[int, float], ...]
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Columns are real numbers from 0 on. Of all that satisfy the rows those are wanted for which ``costs``, a sum like those of rows, is least."""

    columns: int
    rows: tuple[LinearRow, ...]
    costs: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """What a solver found; ``outcome`` and the rest are as of ``Solution``, and ``values`` are empty unless they are the best."""

    outcome: Literal["best", "stopped", "infeasible", "failed"]
    values: tuple[float, ...] = ()
    cost: float = 0.0
    words: str = ""


class LinearSolver(Protocol):
    """What solves linear programs."""

    def solve_linear(self, program: LinearProgram, seconds: float, /) -> LinearSolution:
        """Solve a program within a time."""
