"""Ports that are listened on, who may ask at those of this machine alone, and their end."""

import asyncio
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit


@lru_cache(maxsize=256)
def stranger(host: str, origin: str = "") -> str:
    """Say why a request to a port that only this machine should reach was not meant for it, empty if it was.

    ``host`` and ``origin`` are the headers ``Host`` and ``Origin``. A page of elsewhere may have its browser ask here: under a name of its own that leads here (DNS rebinding), or from its own origin.
    """
    if not is_loopback(_name(host)):
        return f"Host: {host[:80]!r} is not this machine; allowed are localhost and addresses of loopback"
    if origin and urlsplit(origin).netloc.lower() != host.lower():
        return f"Origin: {origin[:80]!r} is another one; only pages of http://{host[:80]} may ask here"
    return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


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
