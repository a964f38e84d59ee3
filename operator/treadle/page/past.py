"""What was before one looked, from the history, to whoever may see it: ``/api/v1/queue-history`` of what a queue used, ``/api/v1/application-history`` of the runs of an application."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web

from treadle.rest.answers import Refused, answer
from treadle.rest.asking import namespace_named, only
from treadle.web.warnings import Seldom

if TYPE_CHECKING:
    from treadle.history.store import Store
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sight

log = logging.getLogger(__name__)

PATH: Final = "/api/v1/queue-history"
RUNS: Final = "/api/v1/application-history"
HOURS: Final = 24
MOST_HOURS: Final = 168
HOUR: Final = 3600
MOST_NAMED: Final = 512
MOST_RUNS: Final = 10
T = TypeVar("T")


class Past:
    """Reads the history at ``url``; where that is empty none is kept, which is said. ``now`` is the time in seconds since the epoch."""

    def __init__(self, url: str, sight: Sight, now: Callable[[], float] = time.time) -> None:
        """Open nothing yet."""
        self._url, self._sight, self._now = url, sight, now
        self._warn = Seldom(log)

    def routes(self, door: Door) -> list[web.RouteDef]:
        """Return the routes."""
        return [
            web.get(PATH, door(self._samples), allow_head=False),
            web.get(RUNS, door(self._runs), allow_head=False),
        ]

    async def _samples(self, request: web.Request, user: User) -> web.Response:
        only(request, "queue", "hours")
        queue, text = _named(request, "queue"), request.query.get("hours", str(HOURS))
        if re.fullmatch(r"[1-9][0-9]{0,2}", text) is None or int(text) > MOST_HOURS:
            raise Refused(400, f"hours: {text[:MOST_NAMED]!r} is not a number from 1 to {MOST_HOURS}")
        sees = await self._sight.of_queues(user, queue)
        if not sees(queue):
            raise Refused(403, f"User {user.name} may not view queue {queue}")
        since = self._now() - int(text) * HOUR
        return answer({"queue": queue, "samples": await self._read(lambda store: _samples_of(store, queue, since))})

    async def _runs(self, request: web.Request, user: User) -> web.Response:
        only(request, "application")
        application = _named(request, "application")
        namespace, slash, name = application.partition("/")
        if not slash or not name or "*" in name:
            raise Refused(400, f"application: {application!r} is not NAMESPACE/NAME")
        sees = await self._sight.of_members(user, "", namespace_named(namespace), "applications")
        runs = await self._read(lambda store: _runs_of(store, application))
        return answer({"application": application, "runs": [run for run in runs if sees(run["queue"])]})

    async def _read(self, read: Callable[[Store], T]) -> T:
        """Return what is read in a thread of its own. Raises ``Refused`` where there is no history, or it cannot be read."""
        if not self._url:
            raise Refused(404, "no history is kept (treadle run --history)")
        try:
            return await asyncio.to_thread(self._opened, read)
        except Exception as error:  # noqa: BLE001 - drivers raise what they like, and a chart is no reason to end anything
            self._warn(f"the history is not told to the page: {error}")
            raise Refused(503, "the history cannot be read now", wait=30) from None

    def _opened(self, read: Callable[[Store], T]) -> T:
        from treadle.history.store import Store  # with its library, where a history is kept only

        store = Store(self._url)
        try:
            store.check_there()
            return read(store)
        finally:
            store.close()


def _named(request: web.Request, what: str) -> str:
    name = request.query.get(what, "")
    if not name or len(name) > MOST_NAMED or not name.isprintable():
        raise Refused(400, f"{what}: {name[:MOST_NAMED]!r} names no {what}; allowed are {MOST_NAMED} letters")
    return name


def _samples_of(store: Store, queue: str, since: float) -> list[dict[str, Any]]:
    found = store.queue_samples(queue, since)
    return [{"at": one.at, "used": one.used, "pending": one.pending, "guaranteed": one.guaranteed} for one in found]


def _runs_of(store: Store, application: str) -> list[dict[str, Any]]:
    """Return the newest runs; ``steps`` are from when on how many pods were on nodes."""
    return [
        {
            "queue": run.queue,
            "user": run.user,
            "submitted": run.submitted,
            "started": run.started,
            "ended": run.ended,
            "outcome": run.outcome,
            "pods": run.pods,
            "succeeded": run.succeeded,
            "failed": run.failed,
            "deleted": run.deleted,
            "steps": [[step.at, step.pods] for step in run.steps],
        }
        for run in store.runs(application, most=MOST_RUNS)
    ]
