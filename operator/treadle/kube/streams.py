"""Watches: answers over HTTP/1.1 that do not end, read as they come.

The server sends every event by itself. To be woken for each of them costs several times what it takes to read it, which in a
burst the API server cannot use where both share a machine; so who reads may ``rest``, and finds what came meanwhile in one piece.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httptools

from treadle.kube.connections import CONNECT, MEASURES, Address, ConnectionEnded


class Silent(TimeoutError):
    """Nothing came for as long as a watch may say nothing."""


class Stream(asyncio.Protocol):
    """The answer to one request, on a connection of its own. ``silence`` is how long nothing may come, in seconds.

    ``status`` is 0 until the headers have come, and with them ``content_type``, in lower case, empty where it is not told.
    Reading raises ``ConnectionEnded`` where the connection ends within the answer, and ``Silent``.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, silence: float) -> None:
        self.status = 0
        self.content_type = ""
        self._loop = loop
        self._silence = silence
        self._plain: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._measured = self._complete = False
        self._error: ConnectionEnded | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes, in pieces of any size, to its end."""
        while await self._more():
            parts, self._parts = self._parts, []
            yield parts[0] if len(parts) == 1 else b"".join(parts)

    async def read(self) -> bytes:
        """Return the rest of the body when it has come whole."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def rest(self, seconds: float) -> None:
        """Take nothing from the connection for a while; the operating system keeps what comes, and stops the server when that is too much."""
        plain = self._plain
        if plain is None or plain.is_closing():
            return
        plain.pause_reading()
        try:
            await asyncio.sleep(seconds)
        finally:
            if not plain.is_closing():
                plain.resume_reading()

    def close(self) -> None:
        """End the connection at once."""
        if self._plain is not None:
            self._plain.abort()

    async def headed(self) -> None:
        """Wait for the status."""
        while not self.status:
            await self._wait()

    async def _more(self) -> bool:
        """Wait for more of the body, and return whether there is any."""
        while not self._parts:
            if self._complete:
                return False
            await self._wait()
        return True

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            async with asyncio.timeout(self._silence):
                await self._waiter
        except TimeoutError:
            raise Silent(f"nothing for {self._silence:.0f} s") from None
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, why: str) -> None:
        if not self._complete and self._error is None:
            self._error = ConnectionEnded(why, heard=bool(self.status))
        self._wake()

    # -- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin. The transport is that of the connection itself: what is said in TLS goes through another one on top of it."""
        self._plain = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Take in a part of the answer."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the answer is not HTTP: {error!r}")
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a body that is not measured is complete now."""
        if exc is None and self.status and not self._measured:
            self._complete = True
        self._fail(f"the server ended the connection{f': {exc}' if exc else ''}")

    # -- called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note whether the end of the body can be told, and what it is."""
        name = name.lower()
        self._measured |= name in MEASURES
        if name == b"content-type":
            self.content_type = value.decode("latin-1").lower()

    def on_headers_complete(self) -> None:
        """Note the status; after an interim one (1xx) the answer is still to come."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._wake()

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        self._parts.append(body)
        self._wake()

    def on_message_complete(self) -> None:
        """Note that there is no more to come."""
        if self.status:
            self._complete = True
            self._wake()


@asynccontextmanager
async def opened(address: Address, request: bytes, silence: float) -> AsyncIterator[Stream]:
    """Send a request, which is complete as it is, and yield its answer when its status is known.

    Raises ``OSError`` (``Silent`` is one).
    """
    loop = asyncio.get_running_loop()
    stream = Stream(loop, silence)
    try:
        async with asyncio.timeout(CONNECT):
            transport, _ = await loop.create_connection(lambda: stream, address.host, address.port)
            if address.tls is not None:
                secure = await loop.start_tls(transport, stream, address.tls, server_hostname=address.hostname)
                if secure is None:
                    raise ConnectionEnded("the server ended the connection in the TLS handshake", heard=False)
                transport = secure
        transport.write(request)
        await stream.headed()
        yield stream
    finally:
        stream.close()
