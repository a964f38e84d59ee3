"""A proxy before a real API server that delays, loses, cuts or mistakes answers, as load balancers and overloaded servers do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

import aiohttp
from aiohttp import web

from cluster.control_plane import SCHEDULER, ControlPlane, ssl_context

Forward = Callable[[], Awaitable[web.Response]]
Fault = Callable[[web.Request, Forward], Awaitable[web.Response | None]]
"""What happens to a request: an answer, or None where it goes the ordinary way. Calling the second argument carries it out and returns its answer."""
DROPPED = {"transfer-encoding", "content-length", "connection", "keep-alive", "content-encoding"}


def mistaken(status: int = 504) -> Fault:
    """Carry the request out and answer an error; 0 cuts the connection instead."""

    async def fault(request: web.Request, forward: Forward) -> web.Response:
        await forward()
        if not status and request.transport is not None:
            request.transport.abort()
        return web.json_response({"kind": "Status", "reason": "Timeout", "message": "took too long"}, status=status or 500)

    return fault


def slow(seconds: float) -> Fault:
    """Carry the request out at once and answer late."""

    async def fault(_: web.Request, forward: Forward) -> web.Response:
        answer = await forward()
        await asyncio.sleep(seconds)
        return answer

    return fault


def refused(status: int, retry_after: int | None = None) -> Fault:
    """Do not carry the request out."""

    async def fault(_request: web.Request, _forward: Forward) -> web.Response:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return web.json_response({"kind": "Status", "reason": "No", "message": "not now"}, status=status, headers=headers)

    return fault


def cut(length: int = 40) -> Fault:
    """Carry the request out and answer the beginning only, in good form."""

    async def fault(_: web.Request, forward: Forward) -> web.Response:
        answer = await forward()
        assert isinstance(answer.body, bytes)
        return web.Response(status=answer.status, body=answer.body[:length], content_type="application/json")

    return fault


def hung(release: threading.Event) -> Fault:
    """Carry the request out when it is released, whether or not somebody still waits for the answer."""

    async def fault(_: web.Request, forward: Forward) -> web.Response:
        await asyncio.to_thread(release.wait)
        return await forward()

    return fault


async def _nothing() -> web.Response:
    """Answer as a watch that ends at once."""
    return web.Response()


class FaultyProxy:
    """Listens for plain HTTP on loopback. ``rules`` are (method, part of the path, fault, how often); the first that fits is used."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str = "proxy", user: str = SCHEDULER) -> None:
        self.plane, self.user = plane, user
        self.rules: list[tuple[str, str, Fault, int]] = []
        self.seen: list[tuple[str, str, int]] = []
        """Requests that were not watches: method, path and the status of the server's answer."""
        self.sender = ""
        """Who sends through it at present, in words of the caller's."""
        self.senders: list[str] = []
        """Who had sent each of ``seen``, by ``sender`` when the request came."""
        self.everything: Fault | None = None
        """What happens to every request and every new watch while it is set, before any rule. A watch is never carried out under it."""
        self.flowing = threading.Event()
        """While it is not set, watches say nothing."""
        self.flowing.set()
        self.url = ""
        self.kubeconfig = folder / f"{name}.kubeconfig"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def fault(self, method: str, part: str, fault: Fault, times: int = 1 << 30) -> None:
        """Add a rule."""
        self.rules.append((method, part, fault, times))

    def __enter__(self) -> Self:
        if self.user == SCHEDULER:
            self.plane.scheduler_kubeconfig()
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        cluster = {"server": self.url}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "main",
            "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}],
            "clusters": [{"name": "main", "cluster": cluster}],
            "users": [{"name": "main", "user": {"token": self.plane.tokens[self.user]}}],
        }
        self.kubeconfig.write_text(json.dumps(config))
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _start(self) -> None:
        connector = aiohttp.TCPConnector(ssl=ssl_context(self.plane.ca), limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        application = web.Application(client_max_size=1 << 30)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        self.flowing.set()
        await self._runner.cleanup()
        await self._session.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        sender = self.sender
        body = await request.read()
        if "watch" in request.query:
            answer = None if self.everything is None else await self.everything(request, _nothing)
            return answer or await self._watch(request)

        async def forward() -> web.Response:
            headers = {key: value for key, value in request.headers.items() if key.lower() not in {"host", "content-length"}}
            async with self._session.request(
                request.method, self.plane.url + request.path_qs, data=body or None, headers=headers
            ) as answer:
                kept = {key: value for key, value in answer.headers.items() if key.lower() not in DROPPED}
                self.seen.append((request.method, request.path, answer.status))
                self.senders.append(sender)
                return web.Response(status=answer.status, body=await answer.read(), headers=kept)

        if self.everything is not None and (answer := await self.everything(request, forward)) is not None:
            return answer
        for number, (method, part, fault, times) in enumerate(self.rules):
            if times and request.method == method and part in request.path:
                self.rules[number] = (method, part, fault, times - 1)
                answer = await fault(request, forward)
                if answer is not None:
                    return answer
        try:
            return await forward()
        except aiohttp.ClientError as error:
            return web.json_response({"kind": "Status", "reason": "BadGateway", "message": str(error)}, status=502)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        headers = {key: value for key, value in request.headers.items() if key.lower() != "host"}
        async with self._session.get(self.plane.url + request.path_qs, headers=headers) as answer:
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in DROPPED}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):  # who watched has gone, or the server has
                async for chunk in answer.content.iter_any():
                    if not self.flowing.is_set():
                        await asyncio.to_thread(self.flowing.wait)
                    await response.write(chunk)
                await response.write_eof()
            return response
