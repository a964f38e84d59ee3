"""What is told below ``/api/v1`` in front of a core, and a client of it: users are named by their tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from core.builders import Scenario
from rest.reviewing import NOW, ReviewingApi
from treadle.controllers.ledger import Ledger
from treadle.core.model import AccessList
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.rest import departed, explaining, plan, preemptions, state
from treadle.rest.asking import Asker
from treadle.rest.serving import Door
from treadle.web.server import serve

Answer = tuple[int, Any]


def listed(*users: str, groups: tuple[str, ...] = (), namespaces: tuple[str, ...] = ()) -> AccessList:
    return AccessList(frozenset(users), frozenset(groups), frozenset(namespaces))


class Told:
    """The REST in front of a core, and its last answer."""

    def __init__(self, api: ReviewingApi, scenario: Scenario) -> None:
        self.api, self.scenario, self.url, self.leader = api, scenario, "", ""
        self.now = float(NOW)
        self.preempted = preemptions.Preemptions(lambda: scenario.core.view, lambda: self.now)
        self.departed = departed.Departed(lambda: scenario.core.view, lambda: self.now)
        self.ledger = Ledger("treadle", lambda _: None)
        self.last: Any = None
        self.headers: Any = {}

    async def ask(self, who: str, path: str, **query: str) -> Answer:
        headers = {"Authorization": f"Bearer {who}"} if who else {}
        async with aiohttp.ClientSession() as session, session.get(self.url + path, params=query, headers=headers) as answer:
            self.headers, self.last = answer.headers, await answer.json(content_type=None)
            return answer.status, self.last

    async def list(self, who: str, path: str, field: str, **query: str) -> list[Any]:
        status, said = await self.ask(who, path, **query)
        assert status == 200, said
        assert said["continue"] == ""
        found: list[Any] = said[field]
        return found

    async def names(self, who: str, path: str, **query: str) -> list[str]:
        return [one["name"] for one in await self.list(who, path, path.rpartition("/")[2], **query)]

    async def refusal(self, who: str, path: str, **query: str) -> tuple[int, str]:
        status, said = await self.ask(who, path, **query)
        return status, said["detail"]


@asynccontextmanager
async def telling(s: Scenario) -> AsyncIterator[Told]:
    """What is told of a core, served."""
    api = ReviewingApi()
    await api.start()
    for name in ("ann", "bob", "boss", "eve", "root"):
        api.tokens[name] = {"username": name, "groups": ["ops"] if name == "bob" else []}
    api.tokens["shop"] = {"username": "system:serviceaccount:shop:app"}
    api.tokens["stranger"] = {"username": "system:serviceaccount:other:app"}
    try:
        async with Client(Access(api.url)) as client:
            one = Told(api, s)
            sources = state.Sources(
                lambda: s.core.view, lambda: one.leader, lambda name: {"asOf": name} if name == "ns/etl" else None
            )
            door = Door(Asker(Reviews(client)), lambda: "")
            routes = [
                *state.routes(door, sources),
                *explaining.routes(door, sources),
                *preemptions.routes(door, sources, one.preempted),
                *departed.routes(door, sources, one.departed),
                *plan.routes(door, sources, one.ledger.entries, lambda: one.now),
            ]
            async with serve("127.0.0.1", 0, routes) as one.url:
                yield one
    finally:
        await api.stop()
