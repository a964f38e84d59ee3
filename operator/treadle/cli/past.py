"""What the history has of an application or a queue, asked of the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from treadle.cli.leader import Where, answer
from treadle.cli.tables import age, span

Json = Mapping[str, Any]
MOST_RUNS: Final = 3
MOST: Final = 500
NOTHING: Final[Json] = {"runs": [], "events": []}


@dataclass(frozen=True, slots=True)
class Past:
    """Runs and events as the REST tells them, the newest first."""

    runs: Sequence[Json]
    events: Sequence[Json]


def past_of(where: Where, days: float, **of: str) -> Past | None:
    """Return what the history has of an ``application`` or a ``queue``, nothing where none is kept; None where no scheduler answers."""
    runs = answer(where, "history/runs", NOTHING, **of, days=f"{days:g}", limit=str(MOST_RUNS))
    events = None if runs is None else answer(where, "history/events", NOTHING, **of, days=f"{days:g}", limit=str(MOST))
    return None if runs is None or events is None else Past(runs["runs"], events["events"])


def run_lines(runs: Sequence[Json], now: datetime, *, named: bool) -> Iterator[str]:
    """Yield what is told of runs; ``named``: with the application."""
    if runs:
        yield "its last runs:" if not named else "the last runs in it:"
    for one in runs:
        of = f"{one['application']}: " if named else ""
        waited = f"waited {span(one['started'] - one['submitted'])}"
        began = f"{age(when(one['started']), now)} ago"
        if one["ended"] is None:
            yield f"  {began} {of}{waited}, runs since, {one['pods']} pods so far"
            continue
        counts = ", ".join(f"{one[field]} {field}" for field in ("succeeded", "failed", "deleted") if one[field])
        yield f"  {began} {of}{waited}, ran {span(one['ended'] - one['started'])}, {one['outcome']} ({counts})"


def as_event(one: Json) -> Json:
    """Return an event of the history as the API server has them."""
    about = {"kind": one["kind"], "namespace": one["namespace"], "name": one["name"]}
    return {
        "metadata": {"namespace": one["namespace"]},
        "eventTime": when(one["at"]),
        "reason": one["reason"],
        "message": one["note"],
        "involvedObject": about,
    }


def when(at: float) -> str:
    """Return a time in seconds since 1970 as RFC 3339 has it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
