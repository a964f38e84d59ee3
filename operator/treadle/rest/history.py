"""``/api/v1/history/runs`` and ``/events``: what applications used and how they ended, and what was said of them, from the history, to whoever may see the queue they were in or list the namespace's applications."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from treadle.rest.answers import Refused
from treadle.rest.asking import namespace_named, only
from treadle.rest.pages import limit_of, text_of, told
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from treadle.history.runs import Run
    from treadle.history.said import Said
    from treadle.kube.reviews import User
    from treadle.rest.past import Past
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sees
    from treadle.rest.state import Sources

RUNS, EVENTS = "/api/v1/history/runs", "/api/v1/history/events"
DAYS: Final = 7.0
DAY: Final = 86_400.0
MOST_READ: Final = 2000
"""Rows that are read to find those that somebody may see."""


class PastRun(msgspec.Struct, frozen=True, rename="camel"):
    """A run: times in seconds since 1970, ``ended`` absent while it is under way; ``used`` is amounts times seconds by resource type, cpu in thousandths."""

    application: str
    queue: str
    user: str
    submitted: float
    started: float
    ended: float | None
    outcome: str
    pods: int
    succeeded: int
    failed: int
    deleted: int
    used: dict[str, float]


class PastEvent(msgspec.Struct, frozen=True):
    """What was said: when, in seconds since 1970, why, and of what."""

    at: float
    reason: str
    kind: str
    namespace: str
    name: str
    application: str
    queue: str
    note: str


def routes(door: Door, sources: Sources, past: Past, now: Callable[[], float] = time.time) -> list[web.RouteDef]:
    """Return the routes. ``now`` is in seconds since 1970."""
    served = History(Sight(door.asker, sources.view), sources, past, now)
    return [
        web.get(RUNS, door(served.runs), allow_head=False),
        web.get(EVENTS, door(served.events), allow_head=False),
    ]


class History:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources, past: Past, now: Callable[[], float]) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources, self._past, self._now = sight, sources, past, now

    async def runs(self, request: web.Request, user: User) -> web.Response:
        """Return runs, those that began last first."""
        only(request, "application", "queue", "days", "limit")
        application, queue = _application(request), text_of(request, "queue")
        limit, since = limit_of(request), self._now() - days_of(request) * DAY
        sees = await self._sees(user, application, queue)
        found = await self._past.read(lambda store: list(store.runs(application, queue, since, MOST_READ)))
        now = self._now()
        shown = [run_said(one, now) for one in islice((one for one in found if sees(one.queue)), limit + 1)]
        return told(request, {"runs": shown[:limit], "more": len(shown) > limit or len(found) == MOST_READ})

    async def events(self, request: web.Request, user: User) -> web.Response:
        """Return events, the newest first."""
        only(request, "application", "queue", "namespace", "name", "reason", "days", "limit")
        application, queue, limit = _application(request), text_of(request, "queue"), limit_of(request)
        namespace = namespace_named(request.query["namespace"]) if "namespace" in request.query else ""
        name, reason, since = text_of(request, "name"), text_of(request, "reason"), self._now() - days_of(request) * DAY
        sees = await self._sees(user, application, queue, namespace)

        def read(store: Any) -> list[Said]:
            from treadle.history.said import Wanted

            wanted = Wanted(application, queue, namespace, name, reason=reason, since=since, most=MOST_READ)
            return list(store.events(wanted))

        found = await self._past.read(read)
        seen = (one for one in found if sees(one.queue))
        shown = [PastEvent(*(getattr(one, field) for field in PastEvent.__struct_fields__)) for one in islice(seen, limit + 1)]
        return told(request, {"events": shown[:limit], "more": len(shown) > limit or len(found) == MOST_READ})

    async def _sees(self, user: User, application: str, queue: str, namespace: str = "") -> Sees:
        """Return what somebody may see: of an application or a namespace that is named all of it, where they may list applications there; what was in a queue by the right to view it, and what was in none or in one that is gone by that to view all."""
        self._sources.check_leads()
        if await self._sight.all_queues(user):
            return lambda _: True
        if application or namespace:
            own = application.partition("/")[0]
            if application and namespace not in {"", own}:
                raise Refused(400, f"namespace: {namespace} is not that of application {application}")
            return await self._sight.of_members(user, queue, own or namespace, "applications")
        return await self._sight.of_queues(user, queue)


def _application(request: web.Request) -> str:
    found = text_of(request, "application")
    namespace, slash, name = found.partition("/")
    if found and not (slash and namespace and name and "*" not in found):
        raise Refused(400, f"application: {found!r} is not NAMESPACE/NAME")
    return found


def days_of(request: web.Request) -> float:
    """Return how many days are looked back. Raises ``Refused``."""
    text = request.query.get("days", f"{DAYS:g}")
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 36_500 or not text.isascii():
        raise Refused(400, f"days: {text[:64]!r} is not a number more than 0 and at most 36500")
    return found


def run_said(run: Run, now: float) -> PastRun:
    """Return a run as it is told. ``now`` is in seconds since 1970."""
    from treadle.history.runs import used

    total = used(run.steps, run.ended or now)
    counts = (run.pods, run.succeeded, run.failed, run.deleted)
    times = (run.submitted, run.started, run.ended)
    outcome = "" if run.ended is None else run.outcome
    return PastRun(run.application, run.queue, run.user, *times, outcome, *counts, dict(total))
