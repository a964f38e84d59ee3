"""What a change would bring: a core of its own, that has neither nodes nor pods, is told what there is, and then the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.changes.documents import object_of
from treadle.changes.edits import Json
from treadle.controllers.ledger import Ledger
from treadle.core.core import Core
from treadle.core.events import Event

Documents = Mapping[str, Mapping[str, Json]]
"""Documents by kind and name."""


def appearing(before: Documents, after: Documents, scheduler: str) -> list[str]:
    """Return, as sentences, what would not be in force as it is written that is now; what was wrong before does not keep anybody from mending something else.

    Neither by a scheduler that sees the change, nor by one that starts after it: a parent that is deleted stays for its children until then.
    """
    judge = _Judge(scheduler)
    known = judge.told(before, 1)
    found = {**_Judge(scheduler).told(after, 1), **judge.told(after, 2)}
    return [f"{where}: {why}" for where, why in sorted(found.items()) if known.get(where) != why]


class _Judge:
    """Tells a core what objects say, as the controllers tell the one that decides."""

    def __init__(self, scheduler: str) -> None:
        self._name = scheduler
        self._core = Core()
        self._told: list[Event] = []
        self._ledger = Ledger(scheduler, self._told.append)

    def told(self, documents: Documents, version: int) -> dict[str, str]:
        """Tell of all objects, and return what is not in force as it is written: by the path of a queue, or by ``Scheduler NAME``."""
        queues = documents.get("Queue", {})
        schedulers = [(name, one) for name, one in documents.get("Scheduler", {}).items() if name == self._name]
        self._ledger.listed("Scheduler", [_numbered("Scheduler", name, one, version) for name, one in schedulers])
        paths = sorted(queues, key=lambda path: (path.count("."), path))
        self._ledger.listed("Queue", [_numbered("Queue", path, queues[path], version) for path in paths])
        for event in self._told:
            self._core.handle(event, 0.0)
        self._told.clear()
        self._core.plan(0.0)
        return self._problems(paths)

    def _problems(self, paths: list[str]) -> dict[str, str]:
        found = {
            (entry.name if entry.kind == "Queue" else f"Scheduler {entry.name}"): "; ".join(entry.problems)
            for entry in self._ledger.entries.values()
            if entry.problems
        }
        view = self._core.view
        for path in paths:
            problem = view.problem(path)
            if problem is not None:
                found.setdefault(path, problem.message)
        for words in (view.discipline_problem, view.placement_problem):
            if words:
                found.setdefault(f"Scheduler {self._name}", words)
        return found


def _numbered(kind: str, name: str, document: Json, version: int) -> dict[str, Any]:
    """Return an object with what the ledger tells versions by."""
    body = object_of(kind, name, document)
    return {**body, "metadata": {**body["metadata"], "generation": version, "resourceVersion": str(version), "uid": name}}
