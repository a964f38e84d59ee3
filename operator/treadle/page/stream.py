"""``/api/v1/stream``: what somebody may see of queues, applications and nodes as server-sent events, first all of it (``full``), then what changed (``change``).

Of queues whoever asks for anything but nodes alone is told. Each data is one object: by topic ``rows`` that are new or changed and the keys that are ``gone``, ``refused`` where nothing of it may be seen, ``tooMany`` where it is more than is told; and
``cluster``. ``history`` says that ``past`` tells what was before, ``offers`` what else is served. ``bye`` says why a stream ends. Whoever comes back is told all again: nothing is kept for those who left.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from aiohttp import web

from treadle.kube.errors import KubeError
from treadle.page import rows
from treadle.page.board import Board
from treadle.page.packing import HEAD, event, packed
from treadle.page.viewers import Viewer, Viewers, Wish
from treadle.rest.answers import Refused
from treadle.rest.asking import only
from treadle.rest.serving import unserved
from treadle.web.warnings import Seldom

if TYPE_CHECKING:
    from treadle.page.board import Sources
    from treadle.rest.sight import Sees

log = logging.getLogger(__name__)

PATH: Final = "/api/v1/stream"
EVERY: Final = 1.0
"""Seconds between two events."""
LEAST_REST: Final = 0.1
"""Seconds that are rested whoever comes."""
MOST_VIEWERS, MOST_OF_ONE = 64, 8
"""Streams at once, in all and of one user."""
RECHECK: Final = 10.0
"""Seconds after which it is asked again who looks and what they may see."""
PATIENCE: Final = 15.0
"""Seconds for somebody to take a piece."""
AT_ONCE: Final = 500
"""Queues of which it is found out in one turn of the loop whether somebody may see them."""
MOST_NAMED: Final = 512
Admit = Callable[[web.Request], Awaitable["Admitted"]]
"""Returns who sends a request and what they may see. Raises ``Refused`` and ``KubeError``."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Who may look: their name, what tells for the moment of which queues they may see what they hold (None: of all), and whether they may see nodes."""

    name: str
    sees: Callable[[], Sees] | None
    nodes: bool


class Stream:
    """Serves the stream. ``standing_by`` says who leads instead of this copy, empty if it leads."""

    def __init__(self, sources: Sources, admit: Admit, standing_by: Callable[[], str] = str, every: float = EVERY) -> None:
        """Serve nobody yet."""
        self.board = Board(sources)
        self.viewers = Viewers(self.board)
        self._admit, self._standing_by, self._every = admit, standing_by, every
        self._coming = asyncio.Event()
        self._ticking: asyncio.Task[None] | None = None
        self._of: Counter[str] = Counter()
        self._warn = Seldom(log)

    def routes(self) -> list[web.RouteDef]:
        """Return the route."""
        return [web.get(PATH, self._answered, allow_head=False)]

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        try:
            wish = _wish(request)
            name, viewer = await self._let_in(request, wish)
        except Refused as refused:
            return _last(refused, request.path)
        except KubeError as error:
            self._warn(f"the stream of the page is not served: {error}")
            return _last(unserved(error), request.path)
        self.viewers.all.add(viewer)
        self._of[name] += 1
        if self._ticking is None:
            self._ticking = asyncio.ensure_future(self._tick())
        self._coming.set()
        try:
            return await self._serve(request, viewer)
        finally:
            self.viewers.all.discard(viewer)
            self._of[name] -= 1
            if not self.viewers.all and self._ticking is not None:
                self._ticking.cancel()
                self._ticking = None

    async def _let_in(self, request: web.Request, wish: Wish) -> tuple[str, Viewer]:
        admitted = await self._admit(request)
        name = admitted.name
        if leader := self._standing_by():
            raise Refused(503, f"this copy stands by and decides nothing; {leader} leads: ask again, or that one", wait=1)
        if len(self.viewers.all) >= MOST_VIEWERS:
            raise Refused(503, f"{MOST_VIEWERS} pages are open, and no more are served at once", wait=10)
        if name and self._of[name] >= MOST_OF_ONE:
            raise Refused(429, f"User {name} has {MOST_OF_ONE} pages open, and no more are served at once", wait=10)
        return name, Viewer(wish, await self._seen(admitted.sees), admitted.nodes, admitted.sees)

    async def _seen(self, asks: Callable[[], Sees] | None) -> frozenset[str] | None:
        """Return the paths of the queues that somebody may see."""
        if asks is None:
            return None
        found: set[str] = set()
        sees = asks()
        for number, path in enumerate(list(self.board.sources.view().paths())):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
                sees = asks()
            if sees(path):
                found.add(path)
        return frozenset(found)

    async def _tick(self) -> None:
        while True:
            self._coming.clear()
            try:
                if leader := self._standing_by():
                    self._end_all(503, f"this copy stands by and decides nothing; {leader} leads")
                await self.viewers.tell(await self.board.tick(self.viewers.topics))
            except Exception:
                log.exception("the page could not be told what there is")
            await asyncio.sleep(LEAST_REST)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.board.rest(self._every) - LEAST_REST):
                    await self._coming.wait()

    def _end_all(self, status: int, why: str) -> None:
        for viewer in list(self.viewers.all):
            viewer.end(packed(_bye(status, why)))
            self.viewers.all.discard(viewer)

    async def _serve(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        unpack = None if "gzip" in request.headers.get("Accept-Encoding", "") else zlib.decompressobj(-zlib.MAX_WBITS)
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Vary": "Accept-Encoding"}
        response = web.StreamResponse(headers=headers if unpack else headers | {"Content-Encoding": "gzip"})
        await response.prepare(request)
        checked = time.monotonic()
        try:
            if unpack is None:
                await response.write(HEAD)
            while (piece := await viewer.owed.get()) is not None:
                async with asyncio.timeout(PATIENCE):
                    await response.write(piece if unpack is None else unpack.decompress(piece))
                if time.monotonic() >= checked + RECHECK:
                    await self._check(request, viewer)
                    checked = time.monotonic()
        except (ConnectionResetError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _check(self, request: web.Request, viewer: Viewer) -> None:
        """Find out again what somebody may see, and end the stream of whoever may see nothing any more."""
        try:
            admitted = await self._admit(request)
            sees = await self._seen(admitted.sees)
        except Refused as refused:
            viewer.end(packed(_bye(refused.status, refused.message)))
        except KubeError as error:
            viewer.end(packed(_bye(503, f"the API server cannot be asked who may look: {error}")))
        else:
            if self._differ(sees, viewer.sees) or admitted.nodes is not viewer.nodes:
                viewer.full = False
            viewer.sees, viewer.nodes, viewer.asks = sees, admitted.nodes, admitted.sees

    def _differ(self, one: frozenset[str] | None, other: frozenset[str] | None) -> bool:
        """Whether something else may be seen of the queues that are there."""
        if one is None or other is None:
            return one is not other
        return not self.board.paths.isdisjoint(one ^ other)


def _bye(status: int, message: str) -> bytes:
    return event("bye", msgspec.json.encode({"status": status, "message": message}))


def _last(refused: Refused, path: str) -> web.Response:
    """Return a refusal after which the connection is closed, so that whoever asks again may come to another copy."""
    response = refused.answer(path)
    if refused.status == 503:
        response.force_close()
    return response


def _wish(request: web.Request) -> Wish:
    only(request, "topics", "queue")
    topics = frozenset(filter(None, request.query.get("topics", rows.QUEUES).split(",")))
    unknown = sorted(topics - {*rows.TOPICS})
    if unknown:
        raise Refused(400, f"topics: {unknown[0][:MOST_NAMED]!r} is not told of; allowed are {', '.join(rows.TOPICS)}")
    queue = request.query.get("queue", "")
    if len(queue) > MOST_NAMED or not queue.isprintable():
        raise Refused(400, f"queue: {queue[:MOST_NAMED]!r} names nothing; allowed are {MOST_NAMED} letters")
    return Wish(topics if topics == {rows.NODES} else topics | {rows.QUEUES}, queue)
