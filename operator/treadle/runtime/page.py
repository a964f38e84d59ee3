"""The page as a part of a running Treadle. Every copy serves its files, and the one that leads what they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.page import files
from treadle.page.admitting import Asked
from treadle.page.board import Sources
from treadle.page.past import Past
from treadle.page.stream import Stream
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.rest.serving import Door
    from treadle.rest.state import Sources as ToldFrom


def page_routes(
    door: Door, unready: Callable[[], str], told: ToldFrom, history: str, offers: frozenset[str]
) -> list[web.RouteDef]:
    """Return the routes. ``unready`` says why nobody can be told anything yet, ``history`` is the URL of the history, empty for none, ``offers`` what else is served.

    Shares are shown as the statuses had them computed last: of thousands of queues that takes the loop for longer than a page may.
    """
    sources = Sources(told.view, forecast=told.forecast, history=bool(history), offers=offers)
    admit = Asked(door.asker, told.view, unready)
    past = Past(history, Sight(door.asker, told.view))
    return [*files.routes(), *Stream(sources, admit, told.standing_by).routes(), *past.routes(door)]
