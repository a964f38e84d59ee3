"""What there is of queues and applications at this moment, told by the leader to whoever may see it: ``/api/v1/queues`` and ``/api/v1/applications``.

They are as the statuses of Queues and Applications say them, those too that have no object, and are not late by the time that a status takes to be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.controllers.status import application_status, queue_status
from treadle.core.rules.placement.names import is_below
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import namespace_named, only
from treadle.rest.sight import Sees, Sight

if TYPE_CHECKING:
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

QUEUES, APPLICATIONS = "/api/v1/queues", "/api/v1/applications"
MOST: Final = 500
"""Of a list that is answered at once."""
MOST_NAMED: Final = 512


@dataclass(frozen=True, slots=True)
class Sources:
    """Where what is told is known: the core, who leads instead of this copy (empty if it leads), and the forecast of an application."""

    view: Callable[[], View]
    standing_by: Callable[[], str]
    forecast: Callable[[str], Mapping[str, Any] | None]


def routes(door: Door, sources: Sources) -> list[web.RouteDef]:
    """Return the routes."""
    served = State(Sight(door.asker, sources.view), sources)
    return [
        web.get(QUEUES, door(served.queues), allow_head=False),
        web.get(APPLICATIONS, door(served.applications), allow_head=False),
    ]


class State:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources = sight, sources

    async def queues(self, request: web.Request, user: User) -> web.Response:
        """Return the queues of which a user may see what they hold, by their paths."""
        only(request, "queue", "limit", "continue")
        queue, limit, after = _text(request, "queue"), _limit(request), _text(request, "continue")
        self._check_leads()
        sees = await self._sight.of_queues(user, queue)
        view = self._sources.view()
        page, rest = _page((path for path in view.paths() if is_below(path, queue) and sees(path)), after, limit)
        told = []
        for path in page:
            one = view.queue(path)
            assert one is not None, path
            own = {"name": path, "leaf": one.leaf, "dynamic": one.dynamic, "waitingPods": one.waiting_pods}
            told.append({**own, **_said(queue_status(one, view))})
        return answer({"queues": told, "continue": rest})

    async def applications(self, request: web.Request, user: User) -> web.Response:
        """Return the applications that a user may see, by their ids."""
        only(request, "queue", "namespace", "limit", "continue")
        queue, limit, after = _text(request, "queue"), _limit(request), _text(request, "continue")
        namespace = namespace_named(request.query["namespace"]) if "namespace" in request.query else ""
        self._check_leads()
        if namespace and await self._sight.of_namespace(user, namespace):
            sees: Sees = lambda _: True  # noqa: E731
        else:
            in_queues = await self._sight.of_queues(user, queue)
            sees = lambda path: bool(path) and in_queues(path)  # noqa: E731
        view = self._sources.view()
        found = {
            identity
            for identity, path in view.applications().items()
            if is_below(path, queue) and sees(path) and (not namespace or identity.startswith(f"{namespace}/"))
        }
        page, rest = _page(found, after, limit)
        told = []
        for identity in page:
            of, _, name = identity.partition("/")
            status = _said(application_status(view.application(identity), view))
            told.append({"namespace": of, "name": name, **status, **_said({"eta": self._sources.forecast(identity)})})
        return answer({"applications": told, "continue": rest})

    def _check_leads(self) -> None:
        if leader := self._sources.standing_by():
            raise Refused(503, f"this copy stands by and decides nothing; {leader} leads: ask again, or that one", wait=1)


def _page(found: Iterable[str], after: str, limit: int) -> tuple[list[str], str]:
    """Return the first names after one, and the last of them if there are more."""
    names = list(islice((name for name in sorted(found) if name > after), limit + 1))
    return names[:limit], names[limit - 1] if len(names) > limit else ""


def _said(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if value is not None}


def _text(request: web.Request, name: str) -> str:
    text = request.query.get(name, "")
    if len(text) > MOST_NAMED or not text.isprintable():
        raise Refused(400, f"{name}: {text[:MOST_NAMED]!r} names nothing; allowed are {MOST_NAMED} letters")
    return text


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(MOST))
    if re.fullmatch(r"[1-9][0-9]{0,2}", text) is None or int(text) > MOST:
        raise Refused(400, f"limit: {text[:MOST_NAMED]!r} is not a number from 1 to {MOST}")
    return int(text)
