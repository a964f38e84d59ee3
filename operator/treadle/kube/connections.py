"""Requests over HTTP/1.1 to one server: connections that are kept open, one request at a time on each.

A bind is small and there are tens of thousands of them, so what a request costs us is what the API server cannot use where both
share a machine. aiohttp can do everything that there is in HTTP and takes four times as long for it. Here httptools (llhttp)
parses and the event loop does TLS. An answer is read whole, whatever its status; nothing is decompressed (none is asked for),
redirected or stored.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Self
from urllib.parse import urlsplit

import httptools

KEPT = 60.0
"""Seconds for which an idle connection is taken to be open still; the API server ends them after 90."""
CONNECT = 10.0
"""Seconds that a connection may take to be made, TLS included."""
REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
"""What may be sent again where a kept connection turns out to have ended."""
MEASURES = frozenset({b"content-length", b"transfer-encoding"})
"""The headers that tell where a body ends."""


Right = Callable[[], float]
"""Returns for how many seconds a request that is sent now may live; none or fewer: it may not be sent."""


class NoRight(Exception):
    """A request was not sent, since there is no right to it any more."""


class Address(NamedTuple):
    """Where a server is, with its TLS (None for plain HTTP) and the name that its certificate must have."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    hostname: str | None

    @classmethod
    def of(cls, server: str, tls: ssl.SSLContext | None = None, hostname: str | None = None) -> Self:
        """Read a URL without a path; ``tls`` and ``hostname`` are used for https. Raises ``ValueError``."""
        parts = urlsplit(server)
        host = parts.hostname or ""
        if parts.scheme != "https":
            return cls(host, parts.port or 80, None, None)
        return cls(host, parts.port or 443, tls or ssl.create_default_context(), hostname or host)


class Answer(NamedTuple):
    """The status, the body, and the value of Retry-After (empty without one)."""

    status: int
    body: bytes
    retry_after: str


class ConnectionEnded(ConnectionError):
    """The connection ended before the answer was complete; ``heard`` says whether some of it had come."""

    def __init__(self, why: str, *, heard: bool) -> None:
        super().__init__(why)
        self.heard = heard


class Connection(asyncio.Protocol):
    """One connection. ``exchange`` may be called again when its answer has come, while ``usable``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.usable = False
        self.used = False
        """Whether an answer has come on it already."""
        self.idle_since = 0.0
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._retry_after = ""
        self._measured = self._headed = self._heard = False

    async def exchange(self, request: bytes, seconds: float) -> Answer:
        """Send a request and return its answer.

        Raises ``ConnectionEnded`` or ``TimeoutError``; the connection is of no use then.
        """
        assert self._transport is not None
        self._heard = False
        waiter: asyncio.Future[Answer] = self._loop.create_future()
        self._waiter = waiter
        timer = self._loop.call_later(seconds, self._fail, TimeoutError())
        self._transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the connection at once; what is under way on it fails."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def _finish(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            parts = self._parts
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            waiter.set_result(Answer(self._parser.get_status_code(), body, self._retry_after))

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        self.close()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    # -- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]
        self.usable = True

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer; one that nobody asked for ends the connection."""
        if self._waiter is None:
            self.close()
            return
        self._heard = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionEnded(f"the answer is not HTTP: {error!r}", heard=True))

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a body that is not measured is complete now."""
        self.usable = False
        if exc is None and self._headed and not self._measured:
            self._finish()
        self._fail(ConnectionEnded(f"the server ended the connection{f': {exc}' if exc else ''}", heard=self._heard))

    # -- called by the parser

    def on_message_begin(self) -> None:
        """Forget the answer before."""
        if self._waiter is None:
            raise ConnectionEnded("an answer that nobody asked for", heard=True)
        self._parts = []
        self._retry_after = ""
        self._measured = self._headed = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the few headers that matter."""
        key = name.lower()
        if key in MEASURES:
            self._measured = True
        elif key == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note that a body comes."""
        self._headed = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Hand the answer over; after an interim one (1xx) the answer is still to come."""
        if self._headed:
            self.used = True
            self.usable = self.usable and self._parser.should_keep_alive()
            self._finish()


class Connections:
    """Connections to one server, ``most`` at a time."""

    def __init__(self, address: Address, most: int) -> None:
        self._address = address
        self._most = most
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._opening = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def request(self, method: str, request: bytes, seconds: float, right: Right | None = None) -> Answer:
        """Send a request, which is complete as it is, and return its answer within ``seconds``.

        Raises ``OSError`` (``TimeoutError`` is one).

        ``right`` is asked at the moment of sending, when a connection has been waited for: raises ``NoRight`` where there is none
        left.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            connection = None if self._queue else self._kept(loop.time())
            if connection is None:
                async with asyncio.timeout_at(deadline):
                    connection = await self._acquire(loop)
            again = connection.used and method in REPEATABLE
            try:
                if right is not None:
                    left = right()
                    if left <= 0:
                        raise NoRight
                    deadline = min(deadline, loop.time() + left)
                return await connection.exchange(request, deadline - loop.time())
            except ConnectionEnded as error:
                if error.heard or not again:
                    raise
            finally:
                self._release(connection, loop.time())

    async def close(self) -> None:
        """End every connection."""
        self.cut()
        await asyncio.sleep(0)  # the event loop tells them of their end

    def cut(self) -> None:
        """End every connection at once; what is under way on them fails, and later requests make new ones."""
        for connection in self._all:
            connection.close()
        self._idle.clear()
        self._all.clear()

    def _kept(self, now: float) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and now < connection.idle_since + KEPT:
                return connection
            connection.close()
            self._all.discard(connection)
        return None

    async def _acquire(self, loop: asyncio.AbstractEventLoop) -> Connection:
        """Return a connection in the order of asking: one that was given back, or a new one where there may be more."""
        add = self._queue.append
        while self._queue or len(self._all) + self._opening >= self._most:
            turn = loop.create_future()
            add(turn)
            try:
                await turn
            except BaseException:
                if turn.done() and not turn.cancelled():
                    self._next()
                raise
            if (connection := self._kept(loop.time())) is not None:
                return connection
            if len(self._all) + self._opening < self._most:
                break
            add = self._queue.appendleft
        self._opening += 1
        try:
            async with asyncio.timeout(CONNECT):
                host, port, tls, hostname = self._address
                _, connection = await loop.create_connection(
                    lambda: Connection(loop), host, port, ssl=tls, server_hostname=hostname
                )
            self._all.add(connection)
        except BaseException:
            self._next()
            raise
        finally:
            self._opening -= 1
        return connection

    def _release(self, connection: Connection, now: float) -> None:
        if connection.usable and connection in self._all:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            connection.close()
            self._all.discard(connection)
        self._next()

    def _next(self) -> None:
        """Let the first who waits for a connection look again."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
