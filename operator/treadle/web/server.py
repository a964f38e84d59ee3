"""The HTTP port: ``/healthz``, ``/readyz`` and ``/metrics``, and whatever routes are added for people."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from treadle.listening import stop_listening

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Probes:
    """What the port answers with: why we are unhealthy (empty if not), whether we are ready and the details, the metrics page."""

    healthy: Callable[[], str]
    ready: Callable[[], tuple[bool, Mapping[str, Any]]]
    metrics: Callable[[], Awaitable[bytes]]


def _application(probes: Probes | None, routes: Iterable[web.RouteDef]) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        assert probes is not None
        why = probes.healthy()
        return web.Response(text=f"{why or 'ok'}\n", status=503 if why else 200)

    async def readyz(_: web.Request) -> web.Response:
        assert probes is not None
        ready, details = probes.ready()
        return web.Response(
            body=msgspec.json.encode({"ready": ready, **details}), status=200 if ready else 503, content_type="application/json"
        )

    async def metrics(_: web.Request) -> web.Response:
        assert probes is not None
        return web.Response(body=await probes.metrics(), headers={"Content-Type": METRICS_TYPE})

    application = web.Application()
    if probes is not None:
        application.add_routes(
            [web.get("/healthz", healthz), web.get("/livez", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)]
        )
    application.add_routes(routes)
    return application


def answering(path: str, say: Callable[[], Mapping[str, Any]]) -> web.RouteDef:
    """Return a route that answers with JSON."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(say()), content_type="application/json")

    return web.get(path, answer)


@asynccontextmanager
async def serve(
    host: str, port: int, probes: Probes | None, routes: Iterable[web.RouteDef] = (), tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Serve for the time of a ``with`` block, with TLS if there is a context for it, and yield the URL; port 0 takes a free one.

    Raises ``OSError`` where it cannot listen.
    """
    runner = web.AppRunner(_application(probes, routes), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    assert runner.server is not None
    try:
        listening = await asyncio.get_running_loop().create_server(runner.server, host, port, ssl=tls)
        address, bound = listening.sockets[0].getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - a comparison
        try:
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://[{shown}]:{bound}" if ":" in shown else f"{scheme}://{shown}:{bound}"
        finally:
            await stop_listening(listening)
    finally:
        await runner.cleanup()
