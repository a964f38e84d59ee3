"""What there is at this moment, told by the leader to whoever may see it: ``/api/v1/queues``, ``applications``, ``pods`` and ``nodes``.

Queues and applications are as the statuses of their objects say them, those too that have no object, and are not late by the time that a status takes to be written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from treadle.controllers.status import application_status, queue_status
from treadle.core.rules.placement.names import is_below
from treadle.core.views.nodes import NODE_STATES
from treadle.rest.answers import Refused
from treadle.rest.asking import namespace_named, only
from treadle.rest.lines import Node, Pod, node_said, plain, pod_said
from treadle.rest.pages import limit_of, page, text_of, told, word_of
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door

QUEUES, APPLICATIONS, PODS, NODES = (f"/api/v1/{name}" for name in ("queues", "applications", "pods", "nodes"))
STATES: Final = ("Waiting", "Placed")
AT_ONCE: Final = 50
"""Pods or nodes that are spelled out before the scheduler has its turn again."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where what is told is known: the core, who leads instead of this copy (empty if it leads), and the forecast of an application."""

    view: Callable[[], View]
    standing_by: Callable[[], str]
    forecast: Callable[[str], Mapping[str, Any] | None]

    def check_leads(self) -> None:
        """Raise ``Refused`` where another copy leads."""
        if leader := self.standing_by():
            raise Refused(503, f"this copy stands by and decides nothing; {leader} leads: ask again, or that one", wait=1)


def routes(door: Door, sources: Sources) -> list[web.RouteDef]:
    """Return the routes."""
    served = State(Sight(door.asker, sources.view), sources)
    return [
        web.get(QUEUES, door(served.queues), allow_head=False),
        web.get(APPLICATIONS, door(served.applications), allow_head=False),
        *pod_routes(door, sources),
        web.get(NODES, door(served.nodes), allow_head=False),
    ]


def pod_routes(door: Door, sources: Sources) -> list[web.RouteDef]:
    """Return the route of pods alone."""
    return [web.get(PODS, door(State(Sight(door.asker, sources.view), sources).pods), allow_head=False)]


class State:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources = sight, sources

    async def queues(self, request: web.Request, user: User) -> web.Response:
        """Return the queues of which a user may see what they hold, by their paths."""
        only(request, "queue", "limit", "continue")
        queue, limit, after = text_of(request, "queue"), limit_of(request), text_of(request, "continue")
        self._sources.check_leads()
        sees = await self._sight.of_queues(user, queue)
        view = self._sources.view()
        names, rest = page((path for path in view.paths() if is_below(path, queue) and sees(path)), after, limit)
        found = []
        for path in names:
            one = view.queue(path)
            assert one is not None, path
            own = {"name": path, "leaf": one.leaf, "dynamic": one.dynamic, "waitingPods": one.waiting_pods}
            found.append({**own, **plain(queue_status(one, view))})
        return told(request, {"queues": found, "continue": rest or ""})

    async def applications(self, request: web.Request, user: User) -> web.Response:
        """Return the applications that a user may see, by their ids."""
        only(request, "queue", "namespace", "limit", "continue")
        queue, limit, after = text_of(request, "queue"), limit_of(request), text_of(request, "continue")
        namespace = namespace_named(request.query["namespace"]) if "namespace" in request.query else ""
        self._sources.check_leads()
        sees = await self._sight.of_members(user, queue, namespace, "applications")
        view = self._sources.view()
        seen = (
            identity
            for identity, path in view.applications().items()
            if is_below(path, queue) and sees(path) and _is_of(identity, namespace)
        )
        names, rest = page(seen, after, limit)
        found = []
        for identity in names:
            of, _, name = identity.partition("/")
            status = plain(application_status(view.application(identity), view))
            found.append({"namespace": of, "name": name, **status, **plain({"eta": self._sources.forecast(identity)})})
        return told(request, {"applications": found, "continue": rest or ""})

    async def pods(self, request: web.Request, user: User) -> web.Response:
        """Return the pods that a user may see, by their applications and names."""
        only(request, "queue", "namespace", "application", "node", "state", "limit", "continue")
        queue, node, limit = text_of(request, "queue"), text_of(request, "node"), limit_of(request)
        state, after = word_of(request, "state", STATES), text_of(request, "continue")
        namespace = namespace_named(request.query["namespace"]) if "namespace" in request.query else ""
        application = text_of(request, "application")
        if application and "/" not in application:
            raise Refused(400, f"application: {application!r} is not NAMESPACE/NAME")
        self._sources.check_leads()
        sees = await self._sight.of_members(user, queue, namespace, "pods")
        placed = state == STATES[1] if state else None
        first, _, last = after.rpartition("/")
        there = self._sources.view().applications()
        looked_at = there.items() if not application else ((one, there[one]) for one in (application,) if one in there)
        identities = sorted(
            identity
            for identity, path in looked_at
            if identity >= first and _is_of(identity, namespace) and is_below(path, queue) and sees(path)
        )
        found: list[Pod] = []
        for identity in identities:
            view = self._sources.view()
            for name, uid in sorted(view.pods_of(identity, node, placed=placed)):
                line = None if identity == first and name <= last else view.pod_line(uid)
                if line is None:
                    continue
                if len(found) == limit:
                    return told(request, {"pods": found, "continue": f"{found[-1].application}/{found[-1].name}"})
                found.append(pod_said(line))
                if len(found) % AT_ONCE == 0:
                    await asyncio.sleep(0)
                    view = self._sources.view()
        return told(request, {"pods": found, "continue": ""})

    async def nodes(self, request: web.Request, user: User) -> web.Response:
        """Return the nodes, by their names."""
        only(request, "partition", "state", "limit", "continue")
        limit, after, state = limit_of(request), text_of(request, "continue"), word_of(request, "state", NODE_STATES)
        partition = text_of(request, "partition") if "partition" in request.query else None
        self._sources.check_leads()
        await self._sight.check_nodes(user)
        found: list[Node] = []
        rest = ""
        for name in sorted(name for name in self._sources.view().node_names() if name > after):
            one = self._sources.view().node(name)
            if one is None or (state and one.state != state) or (partition is not None and one.partition != partition):
                continue
            if len(found) == limit:
                rest = found[-1].name
                break
            found.append(node_said(one))
            if len(found) % AT_ONCE == 0:
                await asyncio.sleep(0)
        return told(request, {"nodes": found, "continue": rest})


def _is_of(identity: str, namespace: str) -> bool:
    """Whether an application is of a namespace, of any if that is empty."""
    return not namespace or identity.startswith(f"{namespace}/")
