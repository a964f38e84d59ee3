"""What would become of Queues and a Scheduler: told to a core of its own, that has neither nodes nor pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.controllers.ledger import Ledger
from treadle.core.core import Core
from treadle.core.events import Event

Json = Mapping[str, Any]


def problems(scheduler: Json | None, queues: Mapping[str, Json], name: str) -> dict[str, str]:
    """Return what would not be in force as it is written, and why: by the path of a queue, or by ``Scheduler NAME``. ``queues`` are whole objects by path."""
    core = Core()
    told: list[Event] = []
    ledger = Ledger(name, told.append)
    if scheduler is not None:
        ledger.seen("Scheduler", scheduler)
    for path in sorted(queues, key=lambda path: (path.count("."), path)):
        ledger.seen("Queue", queues[path])
    for event in told:
        core.handle(event, 0.0)
    core.plan(0.0)
    found = {
        (entry.name if entry.kind == "Queue" else f"Scheduler {entry.name}"): "; ".join(entry.problems)
        for entry in ledger.entries.values()
        if entry.problems
    }
    view = core.view
    for path in queues:
        problem = view.problem(path)
        if problem is not None:
            found.setdefault(path, problem.message)
    for problem_of_all in (view.discipline_problem, view.placement_problem):
        if problem_of_all:
            found.setdefault(f"Scheduler {name}", problem_of_all)
    return found


def appearing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return, as sentences, the problems that a change brings; what was wrong before does not keep anybody from mending something else."""
    return [f"{where}: {why}" for where, why in sorted(after.items()) if before.get(where) != why]
