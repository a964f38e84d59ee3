"""A copy that stands by passes requests on to the one that leads. The leader judges them by the token that they bring, so whoever passes them on has no say in what is answered.

What was passed on is not passed on again. Where nobody says where the leader is, or it cannot be reached, a copy answers by itself: that it stands by and who leads, or, of what every copy serves, what it would say anyway.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from treadle.rest.answers import Refused
from treadle.web.gate import peer_of
from treadle.web.guard import token_of
from treadle.web.warnings import Seldom

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

MARK: Final = "Treadle-Forwarded"
"""The header of a request that was passed on."""
PASSED: Final = ("Accept", "Accept-Encoding", "Authorization", "Content-Type", "Host", "If-Match", "If-None-Match")
"""The headers of a request that are read by those who answer; no other goes with it."""
OF_ONE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-connection", "trailer", "transfer-encoding", "upgrade"}
)
"""The headers of an answer that are not passed on (RFC 9110, 7.6.1), in lower case."""
MOST, MOST_OF_ONE = 48, 32
"""Requests and streams that are passed on at once, in all and of one address: fewer than the leader has connections for one address."""
REACHING: Final = 2.0
"""Seconds for a connection to the leader, its handshake included."""
ANSWERING: Final = 120.0
"""Seconds until the head of an answer, which is longer than any answer may be worked on."""
SILENT: Final = 30.0
"""Seconds between two pieces of an answer; a stream has one every few seconds."""
PATIENCE: Final = 15.0
"""Seconds for whoever asked to take a piece."""
LOOKS: Final = 1.0
"""Seconds between two looks at who leads, while nothing comes."""
IDLE: Final = 10.0
"""Seconds for which a connection is kept open, shorter than servers of ours keep it."""


@dataclass(frozen=True, slots=True)
class Trust:
    """By what the leader's certificate is trusted, and the name that is in it; None and empty where copies serve in the clear."""

    tls: ssl.SSLContext | None = None
    name: str = ""


class Untrusted(Exception):
    """Nothing is known by which the leader could be trusted; the message says why."""


class Forwarder:
    """Passes requests on. ``where`` is the ``host:port`` of whoever else leads, as in a URL, empty if that is not known. ``trust`` says by what it is trusted, looked up anew if its argument is true; it raises ``Untrusted``. ``via`` is the name of this copy."""

    def __init__(self, via: str, where: Callable[[], str], trust: Callable[[bool], Awaitable[Trust]]) -> None:
        """Pass nothing on yet."""
        self._via, self._where, self._trust = via, where, trust
        self.problem = ""
        """Why the last request could not be passed on, empty if it was."""
        self._under_way: Counter[str] = Counter()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._warn = Seldom(log)

    def passing(self, route: web.RouteDef) -> web.RouteDef:
        """Return a route that is passed on while another copy leads, with its own handler for all other cases."""
        handler = route.handler

        async def answered(request: web.Request) -> web.StreamResponse:
            address = self._where()
            if address and MARK not in request.headers and token_of(request):
                with self._counted(peer_of(request.remote or "")) as room:
                    if not room:
                        words = f"{MOST} requests are passed on to the copy that leads, {MOST_OF_ONE} of one address, and no more at once"
                        return Refused(503, words, wait=1).answer(request.path)
                    found = await self._passed(request, address)
                if found is not None:
                    return found
            own: web.StreamResponse = await handler(request)
            return own

        return web.RouteDef(route.method, route.path, answered, route.kwargs)

    async def close(self) -> None:
        """End all connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    @contextmanager
    def _counted(self, peer: str) -> Iterator[bool]:
        room = self._under_way.total() < MOST and self._under_way[peer] < MOST_OF_ONE
        self._under_way[peer] += room
        try:
            yield room
        finally:
            self._under_way[peer] -= room
            if not self._under_way[peer]:
                del self._under_way[peer]

    async def _passed(self, request: web.Request, address: str) -> web.StreamResponse | None:
        """Return the leader's answer, None where the request has not been sent."""
        async with AsyncExitStack() as stack:
            try:
                answer = await self._asked(request, address, stack)
            except (Untrusted, aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
                self._failed(address, error)
                return None
            except (aiohttp.ClientError, TimeoutError) as error:
                self._failed(address, error)
                done = "" if request.method == "GET" else "; it may have been done all the same"
                return Refused(503, f"the copy that leads did not answer{done}", wait=1).answer(request.path)
            self.problem = ""
            return await self._relayed(request, answer, address)

    async def _asked(self, request: web.Request, address: str, stack: AsyncExitStack) -> aiohttp.ClientResponse:
        try:
            return await self._sent(request, address, await self._trust(False), stack)
        except aiohttp.ClientConnectorCertificateError:  # it may have a certificate that is newer than what we know
            return await self._sent(request, address, await self._trust(True), stack)

    async def _sent(self, request: web.Request, address: str, trust: Trust, stack: AsyncExitStack) -> aiohttp.ClientResponse:
        host, _, port = address.rpartition(":")
        own = request.rel_url
        url = URL.build(
            scheme="http" if trust.tls is None else "https",
            host=host,  # as it stands in a URL, an address of IPv6 in brackets, since nothing is encoded here
            port=int(port),
            path=own.raw_path,
            query_string=own.raw_query_string,
            encoded=True,
        )
        headers = CIMultiDict((name, value) for name in PASSED for value in request.headers.getall(name, ()))
        headers[MARK] = self._via
        body = await request.read() if request.body_exists else None
        name = trust.name or None
        async with asyncio.timeout(ANSWERING):
            sending = self._session(changes=request.method != "GET").request(
                request.method,
                url,
                headers=headers,
                data=body,
                allow_redirects=False,
                ssl=True if trust.tls is None else trust.tls,
                server_hostname=name,
            )
            answering = asyncio.ensure_future(stack.enter_async_context(sending))
            try:
                return await self._head(request, address, answering)
            finally:
                answering.cancel()
                await asyncio.wait({answering})

    async def _head(
        self, request: web.Request, address: str, answering: asyncio.Future[aiohttp.ClientResponse]
    ) -> aiohttp.ClientResponse:
        """Return an answer as soon as its head is there. Raises ``TimeoutError`` where nobody needs it any more: another copy leads, or whoever asked is gone. What became of a change is waited for all the same."""
        while not (await asyncio.wait({answering}, timeout=LOOKS))[0]:
            if request.method == "GET" and (self._where() != address or request.transport is None):
                raise TimeoutError("another copy leads" if self._where() != address else "nobody waits for it")
        return answering.result()

    def _session(self, *, changes: bool) -> aiohttp.ClientSession:
        """Return connections: of changes each has its own, since of one that has ended meanwhile nobody knows whether a change went with it."""
        session = self._sessions.get(changes)
        if session is None:
            connector = (
                aiohttp.TCPConnector(limit=MOST, force_close=True)
                if changes
                else aiohttp.TCPConnector(limit=MOST, keepalive_timeout=IDLE)
            )
            session = self._sessions[changes] = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, connect=2 * REACHING, sock_connect=REACHING),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
                auto_decompress=False,
            )
        return session

    async def _relayed(self, request: web.Request, answer: aiohttp.ClientResponse, address: str) -> web.StreamResponse:
        """Pass an answer back piece by piece; one that breaks off is broken off, so that nobody takes it for whole."""
        headers = CIMultiDict((name, value) for name, value in answer.headers.items() if name.lower() not in OF_ONE_CONNECTION)
        headers.add("Via", f"1.1 {self._via}")
        response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        if answer.status == 503:  # whoever asks again may come to another copy
            response.force_close()
        await response.prepare(request)
        try:
            while piece := await self._piece(request, answer, address):
                async with asyncio.timeout(PATIENCE):
                    await response.write(piece)
        except (aiohttp.ClientError, OSError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _piece(self, request: web.Request, answer: aiohttp.ClientResponse, address: str) -> bytes:
        """Return what comes next, empty at the end. Raises ``TimeoutError`` where nothing comes, or, but for a change, another copy leads."""
        silent = 0.0
        while True:
            if request.method == "GET" and self._where() != address:
                raise TimeoutError
            try:
                async with asyncio.timeout(LOOKS):
                    return await answer.content.readany()
            except TimeoutError:
                silent += LOOKS
                if silent >= SILENT:
                    raise

    def _failed(self, address: str, error: Exception) -> None:
        self.problem = f"the copy that leads, at {address}, cannot be asked: {str(error) or type(error).__name__}"
        self._warn(self.problem)
