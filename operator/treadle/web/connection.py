"""One connection of a client, bounded in time, and the socket on which they come.

aiohttp closes a connection on which no whole head arrives within its keep-alive time; what it does not bound is how long an answer takes to be taken, what is
said of a request that is no HTTP, and who may connect at all. Connections are accepted here and not by asyncio's server, which makes the TLS handshake of
whoever comes before anybody can say no.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable

from aiohttp import web

from treadle.web.gate import Gate, peer_of

log = logging.getLogger(__name__)

AT_ONCE = 32
"""Connections that are accepted in one turn of the loop; it has other things to do."""
BACKLOG = 128
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Server": "treadle",
}
"""Of every answer that does not say otherwise. Without a Server of ours aiohttp tells its version and Python's."""


class Connection(web.RequestHandler):
    """A client's connection."""

    __slots__ = ("_gate", "_left")

    def __init__(self, server: web.Server, gate: Gate, left: Callable[[], None]) -> None:
        """``left`` is called once when it has ended."""
        limits = gate.limits
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type] # none is what aiohttp's own runner gives as well
            keepalive_timeout=limits.arriving,
            max_line_size=limits.headers,
            max_field_size=limits.headers,
            max_headers=limits.header_lines,
            lingering_time=1.0,
        )
        self._gate, self._left = gate, left

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count it off."""
        super().connection_lost(exc)
        self._left()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer, and hang up on whoever does not take it."""
        transport = self.transport
        try:
            async with asyncio.timeout(self._gate.limits.leaving):
                return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self._gate.turned_away["slow"] += 1
            if transport is not None:
                transport.abort()
            return resp, True

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer what is no HTTP, without a word in the log: it may hold a token, and anybody can send it. Defects are logged."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        self._gate.turned_away["malformed"] += 1
        answer = web.Response(status=status, text=f"{status}: the request is not HTTP as it is read here\n", headers=HEADERS)
        answer.force_close()
        return answer


class Listening:
    """Sockets that are listened on. ``close`` ends that, and leaves who is connected alone."""

    def __init__(self, sockets: list[socket.socket], server: web.Server, gate: Gate, tls: ssl.SSLContext | None) -> None:
        """Begin to listen."""
        self.sockets = sockets
        self._server, self._gate, self._tls = server, gate, tls
        self._loop = asyncio.get_running_loop()
        self._coming: set[asyncio.Task[None]] = set()
        self._accepting = False
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        for listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)
        self._accepting = True

    def _pause(self) -> None:
        for listening in self.sockets:
            self._loop.remove_reader(listening)
        self._accepting = False

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(AT_ONCE):
            if self._gate.full:  # others wait in the kernel until somebody leaves
                self._pause()
                return
            try:
                connection, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptors are left: try again when the loop comes back to it
                log.warning("a connection cannot be accepted: %s", error)
                self._pause()
                self._loop.call_later(1.0, self._resume)
                return
            peer = peer_of(str(address[0]))
            if not self._gate.enter(peer):
                connection.close()
                continue
            connection.setblocking(False)
            task = self._loop.create_task(self._let_in(connection, peer))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    def _resume(self) -> None:
        if not self._accepting and not self._closed and not self._gate.full:
            self._begin()

    def _left(self, peer: str) -> None:
        self._gate.leave(peer)
        self._resume()

    async def _let_in(self, connection: socket.socket, peer: str) -> None:
        gone = False

        def left() -> None:
            nonlocal gone
            if not gone:
                gone = True
                self._left(peer)

        limits = self._gate.limits
        times = {"ssl_handshake_timeout": limits.handshake, "ssl_shutdown_timeout": 2.0} if self._tls is not None else {}
        try:
            await self._loop.connect_accepted_socket(
                lambda: Connection(self._server, self._gate, left), connection, ssl=self._tls, **times
            )
        except (OSError, TimeoutError):  # a handshake that failed, which is the client's matter
            self._gate.turned_away["handshake"] += 1
            connection.close()
            left()
        except BaseException:
            connection.close()
            left()
            raise

    async def close(self) -> None:
        """Close the sockets. Who is connected, or has just come, stays."""
        self._closed = True
        for listening in self.sockets:
            self._loop.remove_reader(listening)
            listening.close()
        if self._coming:
            await asyncio.wait(self._coming, timeout=1.0)
            for task in self._coming:
                task.cancel()


async def bound(host: str, port: int) -> list[socket.socket]:
    """Return sockets for every address of a host at one port; 0 takes a free one. Raises ``OSError`` where one cannot be had."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[socket.socket] = []
    with contextlib.ExitStack() as stack:
        for family, _, _, _, address in dict.fromkeys(found):
            one = stack.enter_context(contextlib.closing(socket.socket(family, socket.SOCK_STREAM)))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address[0], made[0].getsockname()[1] if made else port, *address[2:]))
            one.listen(BACKLOG)
            one.setblocking(False)
            made.append(one)
        stack.pop_all()
    return made
