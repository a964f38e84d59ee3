"""YARN's REST as a part of a running Treadle. Every copy serves it, whether it leads or not: what it writes is decided by whoever does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.rest import reservations
from treadle.rest.asking import Asker
from treadle.rest.objects import Objects
from treadle.rest.serving import Door

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.controllers.ledger import Ledger
    from treadle.kube.transport import Client


def rest_routes(client: Client, audience: str, unready: Callable[[], str], ledger: Ledger) -> list[web.RouteDef]:
    """Return the routes. ``client`` has connections of its own, so that nobody who decides waits for what is asked here."""
    door = Door(Asker(client, audience), unready)
    return reservations.routes(door, Objects(client), ledger.entries)
