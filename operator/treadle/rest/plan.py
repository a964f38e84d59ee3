"""What is promised of a queue over time: ``/api/v1/plan``, to whoever may see what the queue holds. It says what ``treadle plan`` draws, by reservation.

Amounts are by partition (empty for the default one) and resource type, cpu in milli-units and others in base units, times in seconds since 1970.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from msgspec import UNSET, Struct, UnsetType

from treadle.api.queue import Queue
from treadle.controllers.plans import has, occurrences
from treadle.controllers.reservations import decision_of
from treadle.core.model.reservations import partition_of
from treadle.rest.answers import Refused
from treadle.rest.asking import only
from treadle.rest.pages import MOST_NAMED, text_of, told
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from treadle.controllers.ledger import Entry, Key
    from treadle.core.model.reservations import Promise
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.state import Sources

PLAN: Final = "/api/v1/plan"
HOURS: Final = 24
MOST_HOURS: Final = 2400
HOUR: Final = 3_600_000
MOST_RESERVATIONS: Final = 200
"""Of a queue that are told."""
MOST_OCCURRENCES, LEAST_OCCURRENCES, MOST_OF_ONE = 4000, 20, 1000
"""Of all reservations together, of each of them where they are many, and where they are few."""
SLICE: Final = 0.002
"""Seconds after which the scheduler has its turn."""
Amounts = dict[str, dict[str, int]]


class Occurrence(Struct, rename="camel", forbid_unknown_fields=True):
    """From when until when a reservation has how much."""

    start: float
    end: float
    amounts: Amounts


class Reserved(Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A reservation of the queue that has something in the time that is told; ``cut``: it has it more often than is told."""

    namespace: str
    name: str
    phase: str
    user: str
    occurrences: list[Occurrence]
    period: float | UnsetType = UNSET
    cut: bool = False


class Plan(Struct, forbid_unknown_fields=True):
    """The plan of a queue between two times: what can be promised of it, and what is; ``more`` is how many further reservations have something."""

    queue: str
    start: float
    end: float
    has: Amounts
    reservations: list[Reserved]
    more: int


def routes(
    door: Door, sources: Sources, entries: Mapping[Key, Entry], now: Callable[[], float] = time.time
) -> list[web.RouteDef]:
    """Return the route. ``entries`` are the objects that are known, ``now`` is the time in seconds since 1970."""
    return [web.get(PLAN, door(_Told(Sight(door.asker, sources.view), sources, entries, now).plan), allow_head=False)]


class _Told:
    def __init__(self, sight: Sight, sources: Sources, entries: Mapping[Key, Entry], now: Callable[[], float]) -> None:
        self._sight, self._sources, self._entries, self._now = sight, sources, entries, now

    async def plan(self, request: web.Request, user: User) -> web.Response:
        only(request, "queue", "hours")
        queue, hours = text_of(request, "queue"), request.query.get("hours", str(HOURS))
        if not queue:
            raise Refused(400, "queue: '' is not the path of a queue, such as root.nightly")
        if re.fullmatch(r"[1-9][0-9]{0,3}", hours) is None or int(hours) > MOST_HOURS:
            raise Refused(400, f"hours: {hours[:MOST_NAMED]!r} is not a number from 1 to {MOST_HOURS}")
        self._sources.check_leads()
        sees = await self._sight.of_queues(user, queue)
        if not sees(queue):
            raise Refused(403, f"User {user.name} may not view queue {queue}")
        entry = self._entries.get(("Queue", "", queue))
        if entry is None or not isinstance(entry.model, Queue) or entry.model.spec.reservations is None:
            raise Refused(404, f"queue: {queue} takes no reservations (spec.reservations)")
        statuses = [
            (namespace, name, one.status) for (kind, namespace, name), one in self._entries.items() if kind == "Reservation"
        ]
        # Whole minutes, so that who asks again gets the same answer until one has gone by.
        start = int(self._now()) // 60 * 60_000
        found = await _plan(queue, has(entry.status), statuses, start, start + int(hours) * HOUR)
        return told(request, found)


async def _plan(
    queue: str, whole: Mapping[str, int], statuses: Sequence[tuple[str, str, Mapping[str, Any]]], start: int, end: int
) -> Plan:
    turns = _Turns()
    found: list[tuple[int, str, str, str, Promise]] = []
    for namespace, name, status in statuses:
        # The queue that a promise is of is looked at first: reading a whole status takes much longer.
        if (status.get("accepted") or {}).get("queue") != queue or (decided := decision_of(status)) is None:
            continue
        promised = decided.promise
        first = None if promised is None else next(iter(occurrences(promised, start, end)), None)
        if promised is not None and first is not None:
            found.append((first[0], namespace, name, str(status.get("phase") or ""), promised))
        await turns.give()
    found.sort(key=lambda one: one[:3])
    kept = found[:MOST_RESERVATIONS]
    most = min(MOST_OF_ONE, max(LEAST_OCCURRENCES, MOST_OCCURRENCES // max(1, len(kept))))
    reservations: list[Reserved] = []
    for _, namespace, name, phase, promise in kept:
        reservations.append(_reserved(namespace, name, phase, promise, start, end, most))
        await turns.give()
    return Plan(queue, start / 1000, end / 1000, _apart(whole), reservations, len(found) - len(kept))


class _Turns:
    """Gives others a turn after each slice: a thread beside the loop would take the interpreter from it for longer at once."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    async def give(self) -> None:
        if time.perf_counter() - self._began >= SLICE:
            await asyncio.sleep(0)
            self._began = time.perf_counter()


def _reserved(namespace: str, name: str, phase: str, promise: Promise, start: int, end: int, most: int) -> Reserved:
    times = list(islice(occurrences(promise, start, end), most + 1))
    shown = [Occurrence(one / 1000, other / 1000, _apart(amounts)) for one, other, amounts in times[:most]]
    return Reserved(namespace, name, phase, promise.user, shown, promise.period / 1000 or UNSET, len(times) > most)


def _apart(amounts: Mapping[str, int]) -> Amounts:
    """Return amounts by partition and resource type."""
    apart: Amounts = {}
    for name, value in sorted(amounts.items()):
        partition, kind = partition_of(name)
        apart.setdefault(partition, {})[kind] = value
    return apart
