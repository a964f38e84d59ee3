"""The doors on an embedded API server that answers reviews, and what raw clients do to them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from treadle.fakeapi import FakeApi
from treadle.kube.auth import Access
from treadle.kube.reviews import Reviews
from treadle.kube.transport import Client
from treadle.web.gate import Gate, Limits
from treadle.web.guard import guarded
from treadle.web.server import answering, serve


class Judge(FakeApi):
    """An API server that knows two tokens, and lets one of their users get ``/metrics``."""

    def __init__(self) -> None:
        super().__init__()
        self.users = {"scraper": "prometheus", "stranger": "eve"}
        self.may = {("prometheus", "/metrics", "get")}
        self.asked: list[dict[str, Any]] = []

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if not request.path.endswith("reviews"):
            return await super()._handle(request)
        body = msgspec.json.decode(await request.read())
        self.asked.append(body)
        spec = body["spec"]
        if body["kind"] == "TokenReview":
            name = self.users.get(spec["token"])
            status: dict[str, Any] = {"authenticated": True, "user": {"username": name}} if name else {"error": "unknown"}
        else:
            wanted = spec["nonResourceAttributes"]
            status = {"allowed": (spec["user"], wanted["path"], wanted["verb"]) in self.may}
        return web.json_response({**body, "status": status}, status=201)


class Doors:
    """Two routes that are served, ``/metrics`` with a guard and ``/open`` without. ``clock`` is that of what is kept."""

    def __init__(self, judge: Judge) -> None:
        self.judge, self.url, self.clock = judge, "", 0.0

    async def get(
        self, path: str = "/metrics", token: str = "", method: str = "GET", scheme: str = "Bearer"
    ) -> tuple[int, str, Any]:
        headers = {"Authorization": f"{scheme} {token}"} if token else {}
        async with aiohttp.ClientSession() as session, session.request(method, self.url + path, headers=headers) as answer:
            return answer.status, await answer.text(), answer.headers

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, _, port = self.url.rpartition("/")[2].rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def said(self, *parts: bytes) -> bytes:
        """Send bytes, and return all that comes until the port hangs up."""
        reader, writer = await self.connect()
        for part in parts:
            writer.write(part)
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


@asynccontextmanager
async def doors(
    limits: Limits | Gate | None = None, tls: ssl.SSLContext | None = None, *more: web.RouteDef
) -> AsyncIterator[Doors]:
    judge = Judge()
    found = Doors(judge)
    await judge.start()
    try:
        async with Client(Access(judge.url)) as client:
            reviews = Reviews(client, lambda: found.clock)
            routes = [
                guarded(answering("/metrics", lambda: {"told": 1}), reviews),
                answering("/open", lambda: {"told": 2}),
                *more,
            ]
            async with serve("127.0.0.1", 0, routes, tls, limits) as found.url:
                yield found
    finally:
        await judge.stop()
