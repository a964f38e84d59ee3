"""An embedded API server with a client to it, and waiting for things to come true."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from aiohttp import web

from treadle.fakeapi import ApiError, FakeApi
from treadle.kube.auth import Access
from treadle.kube.transport import Client
from treadle.listening import stop_listening

T = TypeVar("T")


@asynccontextmanager
async def served(**options: Any) -> AsyncIterator[FakeApi]:
    """An embedded API server for the time of a ``with`` block."""
    api = FakeApi(**options)
    await api.start()
    try:
        yield api
    finally:
        await api.stop()


@asynccontextmanager
async def answering(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """A server that does what ``answer`` does with each request; yields its URL."""
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    assert runner.server is not None
    listening = await asyncio.get_running_loop().create_server(runner.server, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        await stop_listening(listening)
        await runner.cleanup()


@asynccontextmanager
async def connected(api: FakeApi, **options: Any) -> AsyncIterator[Client]:
    async with Client(Access(api.url), **options) as client:
        yield client


@asynccontextmanager
async def task_of(coroutine: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """Run a coroutine beside a ``with`` block; whatever it ended with is raised."""
    task = asyncio.create_task(coroutine)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(probe: Callable[[], T], what: str = "the condition", seconds: float = 20.0) -> T:
    """The first truthy answer of ``probe``; AssertionError with the last one after a deadline that only a defect meets."""
    deadline = time.monotonic() + seconds
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true; last answer: {answer!r}")
        await asyncio.sleep(0.005)


def refuse(
    matches: Callable[[str, str], bool],
    code: int,
    reason: str = "",
    message: str = "no",
    times: int | None = None,
    retry_after: int | None = None,
) -> Callable[[str, str], Awaitable[None]]:
    """A hook for ``FakeApi.before`` that refuses the requests that match, for good or so many times."""
    left = times

    async def before(method: str, path: str) -> None:
        nonlocal left
        if matches(method, path) and left != 0:
            left = left - 1 if left is not None else None
            raise ApiError(code, reason, message, retry_after=retry_after)

    return before
