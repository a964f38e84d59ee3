"""``/api/v1/queue-history``: what a queue used before one looked, from the history, to whoever may see what it holds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.rest.past import Past as Kept

if TYPE_CHECKING:
    from treadle.history.store import Store
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.sight import Sight

PATH: Final = "/api/v1/queue-history"
HOURS: Final = 24
MOST_HOURS: Final = 168
HOUR: Final = 3600
MOST_NAMED: Final = 512


class Past:
    """Reads the history at ``url``; where that is empty none is kept, which is said. ``now`` is the time in seconds since the epoch."""

    def __init__(self, url: str, sight: Sight, now: Callable[[], float] = time.time) -> None:
        """Open nothing yet."""
        self._kept, self._sight, self._now = Kept(url), sight, now

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
        since = self._now() - int(text) * HOUR

        def read(store: Store) -> list[dict[str, Any]]:
            found = store.queue_samples(queue, since)
            return [{"at": one.at, "used": one.used, "pending": one.pending, "guaranteed": one.guaranteed} for one in found]

        return answer({"queue": queue, "samples": await self._kept.read(read)})
