"""A server that answers by a script, whatever it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kube.access import until
from treadle.kube.connections import Address, Answer, Connections
from treadle.listening import stop_listening

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Server:
    """Answers the nth request, counted over all connections, with the nth script; the last one stands for all that follow.

    A script is what is sent, in pieces; None ends the connection, an event is waited for.
    """

    def __init__(self, *scripts: list[bytes | asyncio.Event | None]) -> None:
        self.scripts = scripts
        self.requests: list[bytes] = []
        self.connections: list[asyncio.StreamWriter] = []
        self.ended = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                for step in self.scripts[min(len(self.requests), len(self.scripts)) - 1]:
                    if step is None:
                        return
                    if isinstance(step, asyncio.Event):
                        await step.wait()
                    else:
                        writer.write(step)
                        await writer.drain()
                        await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended += 1
            writer.close()

    async def send(self, method: str = "GET", seconds: float = 20.0) -> Answer:
        return await self.pool.request(method, REQUEST, seconds)

    pool: Connections


@asynccontextmanager
async def scripted(*scripts: list[bytes | asyncio.Event | None], most: int = 4) -> AsyncIterator[Server]:
    server = Server(*scripts)
    listening = await asyncio.start_server(server.serve, "127.0.0.1")
    server.port = listening.sockets[0].getsockname()[1]
    server.pool = Connections(Address.of(f"http://127.0.0.1:{server.port}"), most)
    try:
        yield server
    finally:
        await server.pool.close()
        await stop_listening(listening)
        for writer in server.connections:
            writer.close()
        await until(lambda: server.ended == len(server.connections))
