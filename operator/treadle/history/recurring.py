"""Which applications of a queue come again and again, and the Reservations that they should have: what is made by itself where a queue allows it. No store and no clock."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from treadle.api.identity import notes_of
from treadle.api.labels import MADE_FROM_HISTORY, MADE_REASONS
from treadle.api.quantities import seconds
from treadle.core.model.applications import family, name_pattern
from treadle.core.units.resources import amount
from treadle.history.proposing import NoProposal, Wishes, propose
from treadle.history.runs import SUCCEEDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from treadle.core.model.programs import LinearSolver
    from treadle.history.runs import Run

LEAST_RUNS = 5
"""Runs that succeeded from which on an application has a reservation made."""
OTHER = 0.1
"""By which part of what is needed an estimate has to differ before an object is written anew."""
LONGEST_NAME = 50
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of what is one application, the newest first: all of one name, or of names that differ in what they end with."""

    namespace: str
    family: str
    runs: tuple[Run, ...]

    @property
    def names(self) -> frozenset[str]:
        """The names that the runs had."""
        return frozenset(run.application.partition("/")[2] for run in self.runs)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names that a reservation for them claims."""
        if len(self.names) == 1:
            return tuple(self.names)
        rests = {
            name[len(self.family) :][:1] for name in self.names
        }  # what follows: nothing, or what parts the numbered end from it
        return tuple(f"{self.family}{rest}*" if rest else self.family for rest in sorted(rests))

    @property
    def name(self) -> str:
        """What their reservation is called: the last part of the family's name."""
        plain = _NOT_IN_NAMES.sub("-", self.family.rpartition("/")[2].lower()).strip("-")[:LONGEST_NAME].rstrip("-")
        return plain or "runs"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A Reservation that there should be, or why there should be none."""

    group: Group
    body: dict[str, Any] | None
    why: str


def groups(runs: Iterable[Run], exclude: Sequence[str] = ()) -> list[Group]:
    """Return runs, the newest first, by what is one application, without those whose ``namespace/name`` a pattern excludes."""
    patterns = [name_pattern(each) for each in exclude]
    found: dict[str, list[Run]] = {}
    for run in runs:
        if not any(each.fullmatch(run.application) for each in patterns):
            found.setdefault(family(run.application), []).append(run)
    return [Group(*identity.partition("/")[::2], tuple(line)) for identity, line in sorted(found.items())]


def wanted(group: Group, queue: str, solver: LinearSolver, now: float, wishes: Wishes) -> Wanted:
    """Return the Reservation for a group in a queue; the user is that of its newest run."""
    good = sum(run.outcome == SUCCEEDED for run in group.runs)
    if good < LEAST_RUNS:
        return Wanted(group, None, f"{good} runs have succeeded, and {LEAST_RUNS} are needed")
    asked = replace(wishes, name=group.name, namespace=group.namespace, queue=queue, applications=group.patterns)
    try:
        found = propose(group.runs, solver, now, asked)
    except NoProposal as error:
        return Wanted(group, None, str(error))
    body = found.body
    notes = {MADE_REASONS: " ".join(found.reasons), MADE_FROM_HISTORY: digest(body["spec"])}
    if user := group.runs[0].user:
        notes |= notes_of(user)
    body["metadata"] |= {"annotations": notes}
    return Wanted(group, body, "")


def digest(spec: Mapping[str, Any]) -> str:
    """Return a mark of a spec: an object that has another one was edited by somebody."""
    return sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def ours(raw: Mapping[str, Any]) -> bool:
    """Whether an object was made from the history."""
    return MADE_FROM_HISTORY in (raw["metadata"].get("annotations") or {})


def untouched(raw: Mapping[str, Any]) -> bool:
    """Whether an object is as it was made."""
    return (raw["metadata"].get("annotations") or {}).get(MADE_FROM_HISTORY) == digest(raw["spec"])


def claims(raw: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether a Reservation claims one of some names."""
    patterns = [name_pattern(each) for each in raw["spec"].get("applications") or ()]
    return any(each.fullmatch(name) for each in patterns for name in names)


def differs(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two specs differ by enough to write the later one: in when they come again, in the window's length, or in what is needed."""
    if any(before.get(field) != after.get(field) for field in ("queue", "recurrence", "timeZone", "applications", "reprovision")):
        return True
    if _apart(_window(before), _window(after)):
        return True
    one, other = _needed(before), _needed(after)
    return one.keys() != other.keys() or any(_apart(one[name], other[name]) for name in one)


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > OTHER * max(one, other)


def _window(spec: Mapping[str, Any]) -> float:
    arrival, deadline = (datetime.fromisoformat(spec[field]).timestamp() for field in ("arrival", "deadline"))
    return deadline - arrival


def _needed(spec: Mapping[str, Any]) -> dict[str, float]:
    """Return how much is needed for how long, in all, by resource type."""
    found: dict[str, float] = {}
    for one in spec["expression"]["requests"]:
        for name, text in one["demand"].items():
            found[name] = found.get(name, 0.0) + amount(name, text) * one["count"] * seconds(one["duration"])
    return found
