"""What the status of a Reservation keeps of decisions, written and read: it is the only place where promises outlast the scheduler."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from treadle.api.common import cut
from treadle.api.quantities import seconds
from treadle.api.reservation import ReservationStatus
from treadle.core.errors import InvalidSpec
from treadle.core.model.reservations import KEPT, Alternative, Decision, Promise, Steps, partition_of, within
from treadle.core.units.resources import amount, format_amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from treadle.api.reservation import ReservedInterval
    from treadle.core.views.reservations import ReservationFigures

READY = "Ready"
_MOST_USER = 256


def rfc3339(time: int) -> str:
    """Return a time in ms since the epoch as objects have it."""
    whole, thousandths = divmod(time, 1000)
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{thousandths:03}Z" if thousandths else f"{text}Z"


def milliseconds(text: str) -> int:
    """Return a time of an object in ms since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def duration(time: int) -> str:
    """Return a length of time in ms as objects have it."""
    found, rest = "", time
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, rest = divmod(rest, size)
        found += f"{count}{unit}" if count else ""
    return found or "0s"


def status_of(figures: ReservationFigures | None) -> dict[str, Any]:
    """Return what the status of a reservation says beside its conditions."""
    if figures is None:
        return {"phase": "Pending"}
    decided = figures.decided
    promise = None if decided is None else decided.promise
    return {
        "phase": figures.phase,
        "plannedGeneration": None if decided is None else decided.generation,
        "accepted": None if promise is None else _accepted(promise),
        "allocations": None if promise is None else intervals(promise.steps),
        "reprovisioned": _reprovisioned(promise),
        "queue": figures.queue or None,
        "nextStart": None if figures.next_start is None else rfc3339(figures.next_start),
        "alternatives": None if decided is None else [alternative(one) for one in decided.alternatives] or None,
    }


def _accepted(promise: Promise) -> dict[str, Any]:
    said: dict[str, Any] = {
        "generation": promise.generation,
        "time": rfc3339(promise.accepted),
        "queue": promise.queue,
        "user": cut(promise.user, _MOST_USER),
        "arrival": rfc3339(promise.arrival),
        "deadline": rfc3339(promise.deadline),
    }
    if promise.period:
        said["period"] = duration(promise.period)
    if promise.starts:
        said["starts"] = [duration(later) for later in promise.starts]
    if promise.concurrency:
        said["concurrency"] = list(promise.concurrency)
    return said


def _reprovisioned(promise: Promise | None) -> dict[str, Any] | None:
    if promise is None or not promise.more:
        return None
    behind = {"behind": duration(promise.behind)} if promise.behind else {}
    return {**behind, "allocations": intervals(promise.more)}


def intervals(steps: Steps) -> list[dict[str, Any]]:
    """Return an interval for each partition of each step."""
    found: list[dict[str, Any]] = []
    for start, end, amounts in steps:
        by: dict[str, dict[str, str]] = {}
        for name, value in amounts:
            partition, kind = partition_of(name)
            by.setdefault(partition, {})[kind] = format_amount(kind, value)
        for partition, demand in sorted(by.items()):
            where = {"partition": partition} if partition else {}
            found.append({"start": rfc3339(start), "end": rfc3339(end), **where, "demand": demand})
    return found


def alternative(one: Alternative) -> dict[str, Any]:
    """Return an alternative as a status has it."""
    said = {
        "deadline": None if one.deadline is None else rfc3339(one.deadline),
        "concurrency": one.concurrency,
        "queue": one.queue,
    }
    return {name: value for name, value in said.items() if value}


def decision_of(status: Mapping[str, Any]) -> Decision | None:
    """Return what a status keeps of a decision; None where nothing was decided, or what is there makes no sense."""
    try:
        read = ReservationStatus.model_validate(status)
        if read.planned_generation is None:
            return None
        promise = None if read.accepted is None else _promise(read)
        ready = next((one for one in read.conditions or () if one.type == READY), None)
        told = (
            ready is not None and ready.status == "False" and (promise is None or promise.generation != read.planned_generation)
        )
        return Decision(
            read.planned_generation,
            promise,
            ready.reason if told and ready is not None else "",
            ready.message.removesuffix(KEPT) if told and ready is not None else "",
            tuple(
                Alternative(None if one.deadline is None else milliseconds(one.deadline), one.concurrency, one.queue or "")
                for one in read.alternatives or ()
            ),
            read.phase == "Dropped",
        )
    except (ValidationError, InvalidSpec, ValueError, OverflowError):
        return None


def _promise(read: ReservationStatus) -> Promise:
    accepted, more = read.accepted, read.reprovisioned
    assert accepted is not None
    period = 0 if accepted.period is None else _length(accepted.period)
    starts = tuple(_length(later) for later in accepted.starts or ())
    if starts and (starts[0] or starts[-1] >= period or any(one >= other for one, other in pairwise(starts))):
        raise ValueError(f"starts: {starts} are not in order from 0 until {period}")
    return Promise(
        accepted.generation,
        accepted.queue,
        accepted.user,
        milliseconds(accepted.time),
        milliseconds(accepted.arrival),
        milliseconds(accepted.deadline),
        period,
        _steps(read.allocations or ()),
        tuple(accepted.concurrency or ()),
        starts,
        _steps(() if more is None else more.allocations),
        0 if more is None or more.behind is None else _length(more.behind),
    )


def _steps(intervals: Iterable[ReservedInterval]) -> Steps:
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for one in intervals:
        mine = found.setdefault((milliseconds(one.start), milliseconds(one.end)), [])
        mine += [(within(one.partition or "", name), amount(name, text)) for name, text in one.demand.items()]
    return tuple((start, end, tuple(sorted(amounts))) for (start, end), amounts in found.items())


def _length(text: str) -> int:
    return round(seconds(text) * 1000)
