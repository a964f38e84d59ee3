"""Why pods wait, told by the leader to whoever may see them: ``/api/v1/explain`` of a pod, an application or a queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aiohttp import web

from treadle.controllers.status import application_status, queue_status
from treadle.rest.answers import Refused
from treadle.rest.asking import namespace_named, only
from treadle.rest.lines import held_said, plain, pod_said
from treadle.rest.pages import text_of, told
from treadle.rest.sight import Sees, Sight

if TYPE_CHECKING:
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.state import Sources

EXPLAIN = "/api/v1/explain"
WHAT = ("pod", "application", "queue")


def routes(door: Door, sources: Sources) -> list[web.RouteDef]:
    """Return the routes."""
    return [web.get(EXPLAIN, door(Explaining(Sight(door.asker, sources.view), sources).explain), allow_head=False)]


class Explaining:
    """Answers the requests. Use ``routes``."""

    def __init__(self, sight: Sight, sources: Sources) -> None:
        """Keep what is told to whom."""
        self._sight, self._sources = sight, sources

    async def explain(self, request: web.Request, user: User) -> web.Response:
        """Return why a pod, an application or a queue waits."""
        only(request, *WHAT)
        if len(request.query) != 1:
            raise Refused(400, f"one of {', '.join(WHAT)} is to be named, once; {len(request.query)} are")
        (what,) = request.query
        name = text_of(request, what)
        self._sources.check_leads()
        answered = {"pod": self._pod, "application": self._application, "queue": self._queue}[what]
        return told(request, await answered(user, name))

    async def _pod(self, user: User, name: str) -> dict[str, Any]:
        namespace, own = _named(name, "pod")
        # Where a right to the namespace shows it nobody asks for its queue, and otherwise nobody is told whether it is there.
        sees = await self._sight.of_members(user, "", namespace, "pods")
        in_queues, with_nodes = await self._sight.of_queues(user), await self._sight.nodes(user)
        view = self._sources.view()
        line = view.pod_line(uid) if (uid := view.uid_of(namespace, own)) else None
        if line is None or not sees(line.queue):
            raise Refused(404, f"pod: there is no pod {name} with an application that user {user.name} may see")
        held = view.held(uid)
        holds = [] if held is None else [held_said(held, with_nodes=with_nodes)]
        eta = self._sources.forecast(line.application)
        return {"pod": pod_said(line), "held": holds, **plain({"eta": eta}), "queues": list(_chain(view, line.queue, in_queues))}

    async def _application(self, user: User, name: str) -> dict[str, Any]:
        namespace, own = _named(name, "application")
        sees = await self._sight.of_members(user, "", namespace, "applications")
        in_queues, with_nodes = await self._sight.of_queues(user), await self._sight.nodes(user)
        view = self._sources.view()
        path = view.applications().get(name)
        if path is None or not sees(path):
            raise Refused(404, f"application: there is no application {name} with pods that user {user.name} may see")
        figures = view.application(name)
        holds = [held_said(one, with_nodes=with_nodes) for one in view.held_of_application(name)]
        status = plain({**application_status(figures, view), "eta": self._sources.forecast(name)})
        return {
            "application": {"namespace": namespace, "name": own, **status},
            "held": holds,
            "queues": list(_chain(view, path, in_queues)),
        }

    async def _queue(self, user: User, path: str) -> dict[str, Any]:
        if not path:
            raise Refused(400, "queue: '' is not the path of a queue, such as root.etl")
        sees = await self._sight.of_queues(user, path)
        with_nodes = await self._sight.nodes(user)
        view = self._sources.view()
        if view.queue(path) is None or not sees(path):
            raise Refused(404, f"queue: there is no queue {path} that user {user.name} may view")
        problem = view.problem(path)
        holds = [held_said(one, with_nodes=with_nodes) for one in view.held_below(path) if sees(one.queue)]
        in_force = {"inForce": problem is None, **({} if problem is None else {"problem": problem.message})}
        return {"queue": {"name": path, **in_force}, "held": holds, "queues": list(_chain(view, path, sees))}


def _named(name: str, what: str) -> tuple[str, str]:
    namespace, slash, own = name.partition("/")
    if not slash or not own:
        raise Refused(400, f"{what}: {name!r} is not NAMESPACE/NAME")
    return namespace_named(namespace), own


def _chain(view: View, path: str, sees: Sees) -> Iterator[dict[str, Any]]:
    """Yield a queue and those above it, as far as they may be seen: what each has and may have."""
    while path:
        figures = view.queue(path)
        if figures is not None and sees(path):
            yield {"name": path, **plain(queue_status(figures, view))}
        path = path.rpartition(".")[0]
