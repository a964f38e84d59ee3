"""A Reservation for what an application does again and again, from its runs (Morpheus, OSDI 2016).

How much it needs over time is the resource estimator's (``core.rules.reservations.estimator``); when it comes again is its rhythm; its deadline is by when nearly all runs had ended. No store and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

from treadle.core.rules.reservations.estimator import EstimatorSettings, InvalidHistory, NoAnswer, predict
from treadle.core.units.resources import format_amount
from treadle.history.rhythm import DAY, HOUR, LEAST, MINUTE, Rhythm, rhythm
from treadle.history.runs import SUCCEEDED
from treadle.history.skylines import MOST_INTERVALS, asked, container_of, interval_for, length_of, skyline_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    from treadle.core.model.programs import LinearSolver
    from treadle.history.runs import Run

MOST_RUNS = 40
"""The newest runs, which the estimate is made from: the program grows with them."""
IN_TIME = 0.95
"""The part of the runs that had ended by the deadline."""


class NoProposal(Exception):
    """Nothing can be proposed from these runs; the message says why."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for beside the runs: empty is what the runs say.

    ``name`` and ``namespace`` are the object's, ``applications`` are the names that it claims, ``zone`` is in which its times are the same each day, ``interval`` is in seconds. ``reprovision``: runs that lag are to be promised more.
    """

    name: str = ""
    namespace: str = ""
    queue: str = ""
    applications: tuple[str, ...] = ()
    zone: ZoneInfo | None = None
    interval: int = 0
    reprovision: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A Reservation as it would be applied, and in whole sentences what it was made from."""

    body: dict[str, Any]
    reasons: tuple[str, ...]


def propose(runs: Sequence[Run], solver: LinearSolver, now: float, wishes: Wishes) -> Proposal:
    """Return a Reservation for the next run and all that follow. Raises ``NoProposal``."""
    good = sorted((run for run in runs if run.outcome == SUCCEEDED and run.ended is not None), key=lambda run: run.submitted)
    if not good:
        raise NoProposal(f"of {len(runs)} runs none has succeeded" if runs else "the history has no such runs")
    found = _rhythm(good, wishes.zone)
    recent = [run for run in good[-MOST_RUNS:] if any(asked(step.amounts) for step in run.steps)]
    if not recent:
        raise NoProposal("its pods requested nothing")
    container = container_of(recent[-1])
    longest = max(length_of(run) for run in recent)
    interval = wishes.interval or interval_for(longest)
    if interval * MOST_INTERVALS < longest:
        raise NoProposal(
            f"interval: a run took {_duration(longest)}, which are more than {MOST_INTERVALS} intervals of {_duration(interval)}"
        )
    history = {str(number): [skyline_of(run, container)] for number, run in enumerate(recent)}
    try:
        prediction = predict(history, EstimatorSettings(interval), solver)
    except (InvalidHistory, NoAnswer) as error:
        raise NoProposal(str(error)) from error
    requests = _requests(prediction.counts, container, interval)
    if not requests:
        raise NoProposal("what runs used has so little in common that the estimate is nothing")
    needed = sum(length for _, length in requests)
    late = sorted((run.ended or 0) - found.nearest(run.submitted) for run in recent)
    usual = ceil(late[ceil(IN_TIME * len(late)) - 1] / MINUTE) * MINUTE
    if needed > found.apart:
        raise NoProposal(f"runs take {_duration(needed)}, and begin every {_duration(found.apart)}: they would overlap")
    window = max(needed, min(usual, found.apart))
    arrival = found.next(now)
    run = good[-1]
    namespace, _, name = run.application.partition("/")
    has_gaps = needed < sum(interval for _ in _trimmed(prediction.counts))
    spec = {
        "queue": wishes.queue or _plan_of(run.queue),
        "arrival": _moment(arrival),
        "deadline": _moment(arrival + window),
        "applications": list(wishes.applications or (name,)),
        "recurrence": found.recurrence,
        **({"timeZone": found.zone.key} if found.zone is not None and found.period == DAY else {}),
        **({"reprovision": True} if wishes.reprovision else {}),
        "expression": {"interpreter": "Order" if has_gaps else "OrderNoGap", "requests": [one for one, _ in requests]},
    }
    body = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": wishes.name or name, "namespace": wishes.namespace or namespace},
        "spec": spec,
    }
    return Proposal(body, _reasons(good, recent, found, usual, window))


def _plan_of(queue: str) -> str:
    """Return the queue that takes reservations, where this is the one below it that is for all else."""
    above, _, name = queue.rpartition(".")
    return above if name == f"{above.rpartition('.')[2]}-default" else queue


def _rhythm(runs: Sequence[Run], zone: ZoneInfo | None) -> Rhythm:
    starts = [run.submitted for run in runs]
    found = rhythm(starts, zone)
    if found is not None:
        return found
    if len(runs) < LEAST:
        raise NoProposal(f"{len(runs)} runs have succeeded, and {LEAST} are needed to say when they come again")
    gaps = sorted(after - before for before, after in pairwise(starts))
    raise NoProposal(
        f"no period is found in the beginnings of {len(runs)} runs, which are between {_duration(gaps[0])} and {_duration(gaps[-1])} apart; "
        "looked for are periods that divide a day, from 10m on, and days of the week (of which two weeks have to be known)"
    )


def _trimmed(counts: Sequence[int]) -> Sequence[int]:
    busy = [at for at, count in enumerate(counts) if count]
    return counts[busy[0] : busy[-1] + 1] if busy else ()


def _requests(counts: Sequence[int], container: Mapping[str, int], interval: int) -> list[tuple[dict[str, Any], int]]:
    """Return the requests, and how many seconds each lasts: as many containers at once as an interval has, intervals of the same number as one request."""
    demand = {name: format_amount(name, value) for name, value in sorted(container.items())}
    found = []
    for count, group in groupby(_trimmed(counts)):
        length = interval * len(list(group))
        if count:
            request = {"demand": dict(demand), "count": count, "concurrency": count, "duration": _duration(length)}
            found.append((request, length))
    return found


def _reasons(good: Sequence[Run], recent: Sequence[Run], found: Rhythm, usual: int, window: float) -> tuple[str, ...]:
    first, last = _moment(good[0].submitted), _moment(good[-1].submitted)
    lines = [f"It is made from {len(good)} runs that succeeded, submitted from {first} until {last}."]
    if len(recent) < len(good):
        lines.append(f"What they need is estimated from the newest {len(recent)} that requested something.")
    part = round(100 * IN_TIME)
    lines.append(f"{part}% of the runs had ended {_duration(usual)} after the time of their recurrence.")
    if window < usual:
        lines.append(f"The window is shorter: the next one begins {_duration(window)} after it.")
    elif window > usual:
        lines.append(f"The window is longer: what is reserved takes {_duration(window)}.")
    cycle = "168h" if found.period == DAY and len(found.days) < 7 else ""
    if cycle:
        lines.append(f"The queue has to have spec.reservations.maximumPeriod {cycle} or a multiple of it.")
    return tuple(lines)


def _duration(seconds: float) -> str:
    hours, rest = divmod(round(seconds), HOUR)
    minutes, left = divmod(rest, MINUTE)
    parts = [f"{value}{unit}" for value, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if value]
    return "".join(parts) or "0s"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
