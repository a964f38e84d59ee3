"""Ports that speak HTTP: what every answer has in common, and the routes of probes and metrics."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from treadle.web.connection import HEADERS, Listening, bound
from treadle.web.gate import Gate, Limits, peer_of

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
YEAR = 31_536_000
GATE: web.AppKey[Gate] = web.AppKey("gate", Gate)
REFUSALS = {400: "malformed", 401: "unauthorized", 403: "forbidden", 408: "slow", 413: "large", 503: "unavailable"}
"""What an answer is counted as that refuses a request; one that comes too often is counted where that is found."""


def probe_routes(healthy: Callable[[], str], ready: Callable[[], Mapping[str, Any]]) -> list[web.RouteDef]:
    """Return ``/healthz``, ``/livez`` and ``/readyz``, which say why not, and else nothing: ``healthy`` and ``ready`` return that, empty if all is well."""

    async def healthz(_: web.Request) -> web.Response:
        why = healthy()
        return web.Response(text=f"{why or 'ok'}\n", status=503 if why else 200)

    async def readyz(_: web.Request) -> web.Response:
        why = ready()
        body = msgspec.json.encode({"ready": not why, **why})
        return web.Response(body=body, status=503 if why else 200, content_type="application/json")

    return [web.get("/healthz", healthz), web.get("/livez", healthz), web.get("/readyz", readyz)]


def metrics_route(metrics: Callable[[], Awaitable[bytes]]) -> web.RouteDef:
    """Return ``/metrics``."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=await metrics(), headers={"Content-Type": METRICS_TYPE})

    return web.get("/metrics", answer)


def answering(path: str, say: Callable[[], Mapping[str, Any]]) -> web.RouteDef:
    """Return a route that answers with JSON."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=msgspec.json.encode(say()), content_type="application/json")

    return web.get(path, answer)


def too_many(wait: int) -> web.HTTPTooManyRequests:
    """Return the answer to whoever asks too often."""
    return web.HTTPTooManyRequests(headers={"Retry-After": str(wait)}, text=f"429: too many requests; come again in {wait} s\n")


@web.middleware
async def _bounded(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Answer a request that comes in time, is not too large and not one too many; the body is in memory then."""
    gate = request.app[GATE]
    if wait := gate.asks(peer_of(request.remote or "")):
        raise _last(too_many(wait))
    if (request.content_length or 0) > gate.limits.body:
        raise _last(web.HTTPRequestEntityTooLarge(max_size=gate.limits.body, actual_size=request.content_length or 0))
    if request.can_read_body:
        try:
            async with asyncio.timeout(gate.limits.arriving):
                await request.read()
        except TimeoutError:
            raise _last(web.HTTPRequestTimeout(text=f"408: no whole body within {gate.limits.arriving:g} s\n")) from None
        except web.HTTPRequestEntityTooLarge as error:
            raise _last(error) from None
        except (web.RequestPayloadError, ValueError):
            raise _last(web.HTTPBadRequest(text="400: the body does not arrive as its head says\n")) from None
    return await handler(request)


@web.middleware
async def _counted(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Count answers that refuse. Of those that a handler words itself, as the REST does, only who may not ask: its 400 is about what was asked, and 503 that it is not ready."""
    try:
        answer = await handler(request)
    except web.HTTPException as error:
        if cause := REFUSALS.get(error.status):
            request.app[GATE].turned_away[cause] += 1
        raise
    if answer.status in (401, 403):
        request.app[GATE].turned_away[REFUSALS[answer.status]] += 1
    return answer


def _last(answer: web.HTTPException) -> web.HTTPException:
    answer.force_close()
    return answer


def _application(routes: Iterable[web.RouteDef], gate: Gate, *, secure: bool) -> web.Application:
    headers = HEADERS | ({"Strict-Transport-Security": f"max-age={YEAR}"} if secure else {})

    async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.pop("Server", None)
        for name, value in headers.items():
            response.headers.setdefault(name, value)

    application = web.Application(middlewares=[_counted, _bounded], client_max_size=gate.limits.body)
    application[GATE] = gate
    application.on_response_prepare.append(add_headers)
    application.add_routes(routes)
    return application


@asynccontextmanager
async def serve(
    host: str, port: int, routes: Iterable[web.RouteDef], tls: ssl.SSLContext | None = None, limits: Limits | Gate | None = None
) -> AsyncIterator[str]:
    """Serve for the time of a ``with`` block, with TLS if there is a context for it, and yield the URL; port 0 takes a free one.

    ``limits`` may be a gate, for who wants to read its counts. Raises ``OSError`` where it cannot listen.
    """
    gate = limits if isinstance(limits, Gate) else Gate(limits or Limits())
    runner = web.AppRunner(_application(routes, gate, secure=tls is not None), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    assert runner.server is not None
    try:
        listening = Listening(await bound(host, port), runner.server, gate, tls)
        address, taken = listening.sockets[0].getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - a comparison
        try:
            scheme = "http" if tls is None else "https"
            yield f"{scheme}://[{shown}]:{taken}" if ":" in shown else f"{scheme}://{shown}:{taken}"
        finally:
            await listening.close()
    finally:
        await runner.cleanup()
