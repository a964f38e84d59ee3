"""Ports that are listened on, and their end."""

import asyncio


async def stop_listening(server: asyncio.Server) -> None:
    """Close the port. Who is connected stays connected, also if that has come about only just now.

    asyncio hands a connection over one turn of the loop after it has accepted it, and loses those, open, that are between the two
    when the port is closed.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    await asyncio.sleep(0)
    server.close()
