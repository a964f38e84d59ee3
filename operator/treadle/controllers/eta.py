"""``status.eta`` of an Application, from a forecast."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from treadle.api import conditions as c
from treadle.api.common import MAX_MESSAGE, cut
from treadle.forecast.ranges import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from treadle.api.application import ApplicationSpec
    from treadle.forecast.ranges import Forecast, Range, Told

AT_RISK = 50
"""The per cent of futures from which on a deadline is at risk."""
OFF = "spec.{}: no forecasts are made by this scheduler (treadle run --eta)"
LATEST = 253_402_300_799.0
"""The last second that RFC 3339 can say."""


def written(told: Told, found: Forecast) -> dict[str, Any]:
    """Return what is told of an application as it is written in its status."""
    words = [told.note] if told.note else []
    if found.stopped:
        words.append(f"it was not looked further ahead than the bound of {found.stopped} allows")
    return {
        "firstPodStart": _range(told.first),
        "lastPodStart": _range(told.last),
        "end": _range(told.end),
        "confidence": CONFIDENCE,
        "deadlineRisk": told.risk,
        "note": cut("; ".join(words), MAX_MESSAGE) or None,
        "asOf": _time(found.at),
    }


def unmade(spec: ApplicationSpec) -> dict[str, Any] | None:
    """Return what is said where no forecasts are made: of whom wants one, that none is."""
    wants = ["expectedDuration"] * (spec.expected_duration is not None) + ["deadline"] * (spec.deadline is not None)
    return {"note": OFF.format(", spec.".join(wants))} if wants else None


def at_risk(
    deadline: str | None, eta: Mapping[str, Any] | None, previous: Iterable[Mapping[str, Any]], generation: int
) -> list[dict[str, Any]]:
    """Return the condition of a deadline of which something is known, or that was spoken of before."""
    risk = None if eta is None else eta.get("deadlineRisk")
    if deadline is not None and risk is not None:
        words = f"the application ends after {deadline} in {risk}% of the futures that were looked at"
        reason = c.PROBABLY_LATE if risk > AT_RISK else c.PROBABLY_IN_TIME
        return [c.condition(c.DEADLINE_AT_RISK, risk > AT_RISK, reason, words, generation)]
    if any(one.get("type") == c.DEADLINE_AT_RISK for one in previous):
        return [c.condition(c.DEADLINE_AT_RISK, status=False, reason=c.NOT_FORECAST, generation=generation)]
    return []


def _range(times: Range | None) -> dict[str, str | None] | None:
    if times is None:
        return None
    return {"earliest": _time(times.earliest), "median": _time(times.median), "latest": _time(times.latest)}


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(min(at, LATEST), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
