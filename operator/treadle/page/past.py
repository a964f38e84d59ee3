"""``/api/v1/queue-history``: what a queue used before one looked, from the history, to whoever may see what it holds."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.web.warnings import Seldom

if TYPE_CHECKING:
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sight

log = logging.getLogger(__name__)

PATH: Final = "/api/v1/queue-history"
HOURS: Final = 24
MOST_HOURS: Final = 168
HOUR: Final = 3600
MOST_NAMED: Final = 512


class Past:
    """Reads the history at ``url``; where that is empty none is kept, which is said. ``now`` is the time in seconds since the epoch."""

    def __init__(self, url: str, sight: Sight, now: Callable[[], float] = time.time) -> None:
        """Open nothing yet."""
        self._url, self._sight, self._now = url, sight, now
        self._warn = Seldom(log)

    def routes(self, door: Door) -> list[web.RouteDef]:
        """Return the route."""
        return [web.get(PATH, door(self._samples), allow_head=False)]

    async def _samples(self, request: web.Request, user: User) -> web.Response:
        only(request, "queue", "hours")
        queue, text = request.query.get("queue", ""), request.query.get("hours", str(HOURS))
        if not queue or len(queue) > MOST_NAMED or not queue.isprintable():
            raise Refused(400, f"queue: {queue[:MOST_NAMED]!r} names no queue; allowed are {MOST_NAMED} letters")
        if re.fullmatch(r"[1-9][0-9]{0,2}", text) is None or int(text) > MOST_HOURS:
            raise Refused(400, f"hours: {text[:MOST_NAMED]!r} is not a number from 1 to {MOST_HOURS}")
        sees = await self._sight.of_queues(user, queue)
        if not sees(queue):
            raise Refused(403, f"User {user.name} may not view queue {queue}")
        if not self._url:
            raise Refused(404, "no history is kept (treadle run --history)")
        try:
            told = await asyncio.to_thread(self._read, queue, self._now() - int(text) * HOUR)
        except Exception as error:  # noqa: BLE001 - drivers raise what they like, and a chart is no reason to end anything
            self._warn(f"the history is not told to the page: {error}")
            raise Refused(503, "the history cannot be read now", wait=30) from None
        return answer({"queue": queue, "samples": told})

    def _read(self, queue: str, since: float) -> list[dict[str, Any]]:
        from treadle.history.store import Store  # with its library, where a history is kept only

        store = Store(self._url)
        try:
            store.check_there()
            found = store.queue_samples(queue, since)
            return [{"at": one.at, "used": one.used, "pending": one.pending, "guaranteed": one.guaranteed} for one in found]
        finally:
            store.close()
