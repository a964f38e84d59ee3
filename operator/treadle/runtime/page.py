"""The page as a part of a running Treadle. Every copy serves its files, and the one that leads what they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.page import files
from treadle.page.admitting import Asked
from treadle.page.board import Sources
from treadle.page.past import Past
from treadle.page.stream import Stream
from treadle.rest.serving import Door
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.rest.asking import Asker
    from treadle.runtime.service import Service


def page_routes(service: Service, asker: Asker, unready: Callable[[], str]) -> list[web.RouteDef]:
    """Return the routes.

    Shares are shown as the statuses had them computed last: of thousands of queues that takes the loop for longer than a page may.
    """
    sources = Sources(lambda: service.core.view, forecast=service.foreseen, history=bool(service.options.history))
    admit = Asked(asker, sources.view, unready)
    past = Past(service.options.history, Sight(asker, sources.view))
    return [*files.routes(), *Stream(sources, admit, service.standing_by).routes(), *past.routes(Door(asker, unready))]
