"""A port is closed in any turn of the event loop, and no connection is lost over it."""

from __future__ import annotations

import asyncio
import gc
import socket
from typing import cast

import pytest

from kube.access import until
from kube.loops import on_either_loop
from treadle.listening import stop_listening


class Greeting(asyncio.Protocol):
    """Greets, and hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(b"hello")  # uvloop's is none, though it has all that one has
        transport.close()


@pytest.mark.parametrize("turns", range(5))
@on_either_loop
async def test_who_has_come_is_served_or_hung_up_on_when_the_port_closes(turns: int) -> None:
    server = await asyncio.get_running_loop().create_server(Greeting, "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as client:
        for _ in range(turns):
            await asyncio.sleep(0)
        await stop_listening(server)
        client.setblocking(False)
        await until(lambda: heard(client) in {b"hello", b""})
    gc.collect()  # a connection that was lost open is warned of here


def heard(client: socket.socket) -> bytes | None:
    try:
        return client.recv(10)
    except ConnectionResetError:
        return b""
    except BlockingIOError:
        return None


@on_either_loop
async def test_a_closed_port_is_not_listened_on() -> None:
    server = await asyncio.get_running_loop().create_server(Greeting, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    await stop_listening(server)
    await until(lambda: not server.sockets)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
