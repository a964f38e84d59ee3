"""From several futures to what is told: for each application that waits when it starts and ends, as a range."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from random import Random
from typing import TYPE_CHECKING

from treadle.core.events import ApplicationSeen, PodSeen
from treadle.forecast.durations import Curves, Drawn
from treadle.forecast.forward import Bounds, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from treadle.core.events import Event
    from treadle.core.model import Settings
    from treadle.forecast.arrivals import Arrived
    from treadle.forecast.durations import Ended
    from treadle.forecast.forward import Future, Prospect

SCENARIOS = 20
"""Futures that are looked at where run times vary."""
CONFIDENCE = 80
"""The per cent of futures that lie in a range: without the tenth that is earliest, and the tenth that is latest."""


@dataclass(frozen=True, slots=True)
class Range:
    """Times in seconds since 1970; None: not within the horizon."""

    earliest: float | None
    median: float | None
    latest: float | None


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of an application that waits. A range is None where nothing can be said; ``note`` says why."""

    application: str
    queue: str
    waiting: int
    first: Range | None
    last: Range | None
    end: Range | None
    note: str = ""
    risk: int | None = None
    """The per cent of futures in which it ends after its deadline; None where it has none, or its end is not known."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is told of all, at a time in seconds since 1970, after so many futures."""

    at: float
    horizon: float
    scenarios: int
    applications: dict[str, Told]
    stopped: str = ""


def forecast(
    facts: Sequence[Event],
    settings: Settings,
    now: float,
    ended: Ended,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    scenarios: int = SCENARIOS,
    over: Callable[[], bool] = lambda: False,
    arrived: Arrived | None = None,
) -> Forecast:
    """Look at several futures, at one where nothing is left to chance, at fewer where ``over`` says so, and return what is told.

    The same facts have the same answer where ``over`` never says so.
    """
    declared = {
        fact.application.id: fact.application.duration
        for fact in facts
        if isinstance(fact, ApplicationSeen) and fact.application.duration
    }
    deadlines = {
        fact.application.id: fact.application.deadline
        for fact in facts
        if isinstance(fact, ApplicationSeen) and fact.application.deadline is not None
    }
    arrivals = arrived is not None and arrived.foretells(now + settings.epoch)
    curves = Curves(ended, _running(facts, now + settings.epoch), now + settings.epoch)
    futures: list[Future] = []
    for number in range(scenarios):
        drawn = Drawn(ended, declared, Random(number), curves)  # noqa: S311 - the same every time
        arriving = () if arrived is None else arrived.drawn(now + settings.epoch, Random(-1 - number))  # noqa: S311
        future = run(facts, settings, now, drawn, bounds, over, deadlines, arriving)
        if future.stopped == "time" and futures:
            break  # it was not looked at to its end
        futures.append(future)
        if over() or not (drawn.varied or arrivals):
            break
    names = dict.fromkeys(
        name for future in futures for name, one in future.applications.items() if one.waiting or one.unready or name in deadlines
    )
    told = {
        name: _told(
            name,
            [(one, future) for future in futures if (one := future.applications.get(name)) is not None],
            settings.epoch,
            deadlines.get(name),
        )
        for name in names
    }
    stopped = next((one.stopped for one in futures if one.stopped in {"decisions", "passes", "time"}), "")
    return Forecast(now + settings.epoch, bounds.horizon, len(futures), told, stopped)


def _running(facts: Sequence[Event], now: float) -> Iterator[tuple[str, str, float]]:
    """Yield the applications, queues and ages of pods that run at a time in seconds since 1970."""
    for fact in facts:
        if isinstance(fact, PodSeen) and (pod := fact.pod).node and pod.started and pod.application:
            yield pod.application, pod.held_in or pod.queue, max(0.0, now - pod.started)


def _told(name: str, found: list[tuple[Prospect, Future]], epoch: float, deadline: float | None) -> Told:
    seen = [one for one, _ in found]
    some, count = seen[0], len(seen)
    unsure = sum(one.unknown > 0 for one in seen) > count / 2
    waits = some.waiting > 0
    late = None if deadline is None or unsure else [_late(one, future, deadline - epoch) for one, future in found]
    return Told(
        name,
        some.queue,
        some.waiting,
        _range([one.first for one in seen], epoch) if waits else None,
        _range([one.last for one in seen], epoch) if waits else None,
        None if unsure else _range([one.end for one in seen], epoch),
        _note(seen, [future for _, future in found]),
        None if late is None or None in late else round(100 * sum(map(bool, late)) / count),
    )


def _late(one: Prospect, future: Future, deadline: float) -> bool | None:
    """Whether an application ends after a time by the core's clock; None where that was not found out."""
    if one.end is not None:
        return one.end > deadline
    return True if future.until >= deadline and not one.unknown else None


def _note(seen: list[Prospect], futures: list[Future]) -> str:
    words: list[str] = []
    some = seen[0]
    if some.unready:
        words.append(f"{some.unready} of its pods may not start yet (gated, being deleted, or not understood)")
    stuck = next((one for one in seen if one.left), None)
    if stuck is not None:
        how = sum(one.left > 0 for one in seen)
        share = "" if how == len(seen) else f" in {how} of {len(seen)} futures"
        words.append(f"{stuck.left} of its pods do not start within what was looked at{share}: {stuck.why[0]}: {stuck.why[1]}")
    if any(one.unknown for one in seen):
        words.append(f"how long {max(one.unknown for one in seen)} of its pods run is not known")
    elsewhere = max((one.unknown for one in futures), default=0)
    if elsewhere:
        words.append(
            f"{elsewhere} pods on nodes, its own included, run for a time that is not known, and are taken to go on: room may come earlier"
        )
    return "; ".join(words)


def _range(times: list[float | None], epoch: float) -> Range | None:
    if all(one is None for one in times):
        return None
    found = sorted(inf if one is None else one + epoch for one in times)

    def quantile(part: float) -> float | None:
        value = found[max(0, ceil(part * len(found)) - 1)]
        return None if value == inf else value

    return Range(quantile(0.1), quantile(0.5), quantile(0.9))
