"""The page in front of a core, for anybody or for those whom an API server knows."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from core.builders import Scenario
from treadle.controllers.ledger import Entry, Key
from treadle.page import files
from treadle.page.admitting import Anybody, everybody
from treadle.page.board import Sources
from treadle.page.past import Past
from treadle.page.stream import PATH, Admit, Stream
from treadle.rest import departed, history, plan, preemptions, state
from treadle.rest.past import Past as Kept
from treadle.rest.serving import Door
from treadle.rest.sight import Sight
from treadle.web.gate import Limits
from treadle.web.server import serve

LIVE = "document.getElementById('status').textContent === 'live' && performance.getEntriesByName('shown').length > 0"
"""What is true in a browser once the page shows what there is."""
MOST_EVENTS = 300
Event = tuple[str, dict[str, Any]]


class Shown:
    """A page that is served of a core; ``leader`` is who leads instead of it, ``kept`` the URL of a history, ``entries`` are objects that are known beside the core."""

    def __init__(self, scenario: Scenario, admit: Admit = everybody, every: float = 0.05, *, kept: str = "", **more: Any) -> None:
        self.scenario, self.url, self.leader = scenario, "", ""
        self.url_of_history = kept
        self.now = 0.0
        """The time of plans, in seconds since 1970; that of the machine while it is 0."""
        self.offers: set[str] = set()
        self.entries: dict[Key, Entry] = {}
        self.door = Door(Anybody(), str)
        self.told = state.Sources(lambda: scenario.core.view, lambda: self.leader, lambda _: None)
        self.preempted = preemptions.Preemptions(lambda: scenario.core.view)
        self.departed = departed.Departed(lambda: scenario.core.view)
        refresh = lambda: scenario.core.refresh_shares(scenario.now)  # noqa: E731 - as short as its name
        self.more: list[web.RouteDef] = Past(kept, Sight(self.door.asker, self.told.view)).routes(self.door)
        sources = Sources(lambda: scenario.core.view, refresh, more=lambda: more, history=bool(kept), offers=self.offers)
        self.stream = Stream(sources, admit, lambda: self.leader, every)

    @asynccontextmanager
    async def served(self, port: int = 0) -> AsyncIterator[Shown]:
        """Serve it on any free port, or on one that is given."""
        routes = [
            *files.routes(),
            *self.stream.routes(),
            *state.pod_routes(self.door, self.told),
            *preemptions.routes(self.door, self.told, self.preempted),
            *departed.routes(self.door, self.told, self.departed),
            *history.routes(self.door, self.told, Kept(self.url_of_history)),
            *plan.routes(self.door, self.told, self.entries, lambda: self.now or time.time()),
            *self.more,
        ]
        async with serve("127.0.0.1", port, routes, limits=Limits(connecting_burst=500)) as self.url:
            yield self

    @asynccontextmanager
    async def reading(self, query: str = "topics=queues", token: str = "", **headers: str) -> AsyncIterator[Reader]:
        """Read the stream."""
        sent = {"Accept-Encoding": "gzip", **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(f"{self.url}{PATH}?{query}", headers=sent) as answer,
        ):
            yield Reader(answer)

    async def refusal(self, query: str = "", token: str = "") -> tuple[int, str]:
        """Ask for the stream and be refused."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}{PATH}?{query}", headers=headers) as answer:
            return answer.status, (await answer.json())["detail"]


class Reader:
    """Reads events, and counts the bytes that came. ``queues``, ``applications`` and ``nodes`` are what a page knows after them."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer, self.bytes, self.events, self._text = answer, 0, 0, b""
        packed = answer.headers.get("Content-Encoding") == "gzip"
        self._unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if packed else None
        self.known: dict[str, dict[str, Any]] = {"queues": {}, "applications": {}, "nodes": {}}

    async def event(self) -> Event:
        """Return the next event, and know what it says."""
        self.events += 1
        assert self.events < MOST_EVENTS, "what is waited for does not come"
        async with asyncio.timeout(20):
            while b"\n\n" not in self._text:
                piece = await self.answer.content.readany()
                if not piece:
                    raise EOFError
                self.bytes += len(piece)
                self._text += piece if self._unpack is None else self._unpack.decompress(piece)
        head, self._text = self._text.split(b"\n\n", 1)
        name, data = (line.partition(b": ")[2] for line in head.split(b"\n"))
        said = msgspec.json.decode(data)
        for topic, known in self.known.items():
            told = said.get(topic, {})
            if name == b"full":
                known.clear()
            known.update({row["name"]: row for row in told.get("rows", ())})
            for gone in told.get("gone", ()):
                del known[gone]
        return name.decode(), said

    async def until_said(self, topic: str) -> dict[str, Any]:
        """Return what the next event says of a topic that says something of it."""
        while topic not in (said := (await self.event())[1]):
            pass
        return said[topic]

    @property
    def queues(self) -> list[str]:
        """The paths of the queues that are known."""
        return sorted(self.known["queues"])
