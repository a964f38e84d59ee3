"""The live page: the queue tree, what each queue has and should have, and why pods wait.

One HTML, one script and one stylesheet, served from the package; nothing is loaded from elsewhere and nothing is built. The page
gets its data as server-sent events (``/api/stream``), or as JSON once (``/api/tree``). It only reads, and is meant for loopback
or behind something that knows who may look.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any

import msgspec
from aiohttp import web

Tree = Callable[[], Mapping[str, Any]]
"""Returns what the page shows, as ``View.tree`` makes it; called in the loop's thread."""

EVERY = 1.0
"""Seconds between two events of the stream."""
_FILES = {
    "index.html": "text/html",
    "treadle.css": "text/css",
    "treadle.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class _Latest:
    """The encoded tree of the moment, made at most once every ``every`` seconds however many look at it."""

    def __init__(self, tree: Tree, every: float) -> None:
        self._tree, self._every = tree, every
        self._made, self._body = float("-inf"), b""

    def body(self) -> bytes:
        """The tree as JSON on one line."""
        now = time.monotonic()
        if now - self._made >= self._every / 2:
            self._made, self._body = now, msgspec.json.encode(self._tree())
        return self._body


def page_routes(tree: Tree, every: float = EVERY) -> list[web.RouteDef]:
    """The routes of the page, for ``web.server.serve``: ``/``, ``/static/NAME``, ``/api/tree`` and ``/api/stream``."""
    latest = _Latest(tree, every)

    async def snapshot(_: web.Request) -> web.Response:
        return web.Response(body=latest.body(), content_type="application/json", headers=_HEADERS)

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=_HEADERS | {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await response.prepare(request)
        try:
            await response.write(b"retry: 1000\n\n")
            while True:
                await response.write(b"event: tree\ndata: " + latest.body() + b"\n\n")
                await asyncio.sleep(every)
        except ConnectionResetError:
            return response  # the reader went away

    made = [web.get("/api/tree", snapshot), web.get("/api/stream", stream), web.get("/", _file("index.html"))]
    return made + [web.get(f"/static/{name}", _file(name)) for name in _FILES if name != "index.html"]


def _file(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    body = resources.files("treadle.web").joinpath("static", name).read_bytes()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type=_FILES[name], charset="utf-8", headers=_HEADERS)

    return answer
