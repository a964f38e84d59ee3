"""A better answer for a set than the walk found: by the solver, if one is asked for (Medea, EuroSys 2018).

The walk goes first, and its answer stands unless the solver has one that is better and that all rules accept: more pods are placed, or as
many and less of their wishes is missed, or that too and more nodes keep room for a large pod. Whatever goes wrong, the walk's answer
stands, and it is counted why.

The solver runs while nothing else is decided. So its time is bounded for a set, and in the long run to a tenth of all time: ``Together.credit``
is what it may take now, at most what is allowed for one set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.together.statement import Stated, Unsayable, kin_of
from treadle.core.rules.constraints.formulas import TooLarge
from treadle.core.rules.constraints.program import Statement, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.state import State
    from treadle.core.kernel.together.memory import Together
    from treadle.core.kernel.together.site import Placement, Site
    from treadle.core.kernel.tree.members import Application

NOT_ASKED = "NotAsked"
"""No solver is asked for."""
MISSING = "Missing"
"""One is asked for and there is none."""
NOTHING_TO_GAIN = "NothingToGain"
"""The walk has placed all, misses no wish and leaves all room that there was for large pods."""
NO_TIME = "NoTime"
"""It has had its time for now."""
UNSAYABLE = "Unsayable"
"""A pod has a rule that a program cannot state."""
TOO_LARGE = "TooLarge"
"""The program would be too large."""
FAILED = "Failed"
"""The solver broke."""
TIMED_OUT = "TimedOut"
"""It found no answer in its time."""
NO_ANSWER = "NoAnswer"
"""It says that there is no answer."""
NO_BETTER = "NoBetter"
"""Its answer is no better than the walk's."""
NOT_ACCEPTED = "NotAccepted"
"""Its answer is one that the rules do not accept."""
BETTER = "Better"
"""Its answer is the one that is used."""

WORDS = {
    MISSING: "the walk alone tried it, since no solver is installed",
    NO_TIME: "the walk alone tried it, since the solver has had its time for now",
    UNSAYABLE: "the walk alone tried it, since the solver's program cannot state it",
    TOO_LARGE: "the walk alone tried it, since the solver's program would be too large",
    FAILED: "the walk alone tried it, since the solver failed",
    TIMED_OUT: "the walk alone tried it, since the solver found no answer in its time",
    NO_ANSWER: "the walk alone tried it, since the solver has no answer",
    NOT_ACCEPTED: "the walk alone tried it, since the rules do not accept the solver's answer",
    NO_BETTER: "the solver finds no place for more",
    BETTER: "the solver finds no place for more",
}
"""What is said to those that are left, beside why they are."""
LONGEST = 200
"""Characters of what a solver says that are kept."""
FINAL = frozenset({BETTER, NO_BETTER})
"""No more of the set can be placed than is."""
REFILL = 0.1
"""Seconds of solving a second."""

SOONEST = 0.1
"""Seconds after which a set is tried again at the soonest for which the solver had no time."""


def improve(state: State, application: Application, site: Site, rows: list[int]) -> str:
    """Put the solver's answer for a set in place of the walk's, which is on the site, if it is better; returns what came of it."""
    settings, solver, memory = state.scheduler.together, state.settings.solver, state.together
    if not settings.solver:
        return NOT_ASKED
    if solver is None or solver.problem:
        return MISSING
    if not rows:
        return NOTHING_TO_GAIN
    elapsed = max(0.0, state.now - memory.credit_at)
    memory.credit = min(settings.time_limit, memory.credit + REFILL * elapsed)
    memory.credit_at = state.now
    if memory.credit <= 0:
        if site.waiting():
            memory.again[application.whole.id] = state.now + SOONEST - memory.credit / REFILL
        return NO_TIME
    walked = site.clear()
    found, placed = _solved(state, application, site, rows, walked)
    if placed is not None and site.accepts(placed):
        return found
    site.restore(walked)
    return found if placed is None else NOT_ACCEPTED


def _solved(
    state: State, application: Application, site: Site, rows: list[int], walked: Sequence[Placement]
) -> tuple[str, list[Placement] | None]:
    """Return what came of the solver, and its answer if it is better than the walk's."""
    settings, solver, memory = state.scheduler.together, state.settings.solver, state.together
    assert solver is not None
    kin = kin_of(site.pods())
    number = {record: at for at, one in enumerate(kin) for record in one.records}
    column = {row: at for at, row in enumerate(rows)}
    before = [0] * len(kin)
    for _, record, _ in walked:
        before[number[record]] += 1
    try:
        stated = Stated(state, application, kin, rows, site.guards)
        items, ground = stated.items, stated.ground
        had = worth(items, ground, ((number[record], column[row]) for _, record, row in walked))
        if had == (sum(item.count for item in items), 0, 0):
            return NOTHING_TO_GAIN, None
        statement = Statement(items, ground, stated.ceilings, before, stated.limits)
    except Unsayable:
        return UNSAYABLE, None
    except TooLarge:
        return TOO_LARGE, None
    if not statement.columns:
        return NO_BETTER, None
    try:
        solution = solver.solve(statement.program, min(settings.time_limit, memory.credit))
        places = statement.read(solution.values) if solution.values else []
        memory.credit -= solution.seconds
    except Exception as error:  # noqa: BLE001 - whatever a solver raises, or answers
        memory.credit -= settings.time_limit
        return _broke(memory, f"{type(error).__name__}: {error}"), None
    if not solution.values:
        if solution.outcome == "stopped":
            return TIMED_OUT, None
        return NO_ANSWER if solution.outcome == "infeasible" else _broke(memory, solution.words), None
    if worth(items, ground, places) <= had:
        return NO_BETTER, None
    lines = [iter(one.records) for one in kin]
    return BETTER, [(kin[item].ask, next(lines[item]), rows[at]) for item, at in places]


def _broke(memory: Together, words: str) -> str:
    memory.failures += 1
    memory.words = words[:LONGEST]
    return FAILED
