"""Which pods ended lately, and when they began to wait and got their node: ``/api/v1/ended-pods``, told by the leader to whoever may see the pods.

They are kept in memory, ``MOST_KEPT`` at the most, by each copy as it sees them go, so that another leader knows them as well. How applications did over months is in the history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from aiohttp import web
from msgspec import Struct

from treadle.rest.lines import moment
from treadle.rest.members import of_members
from treadle.rest.pages import told
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.state import Sources

ENDED: Final = "/api/v1/ended-pods"
MOST_KEPT: Final = 5000


class EndedPod(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A pod that ended, or was deleted, at a time. ``placed`` is when its node was decided, absent where it never had one; ``created`` is when it was made."""

    ended: str
    namespace: str
    name: str
    uid: str
    application: str
    queue: str = ""
    node: str = ""
    placed: str = ""
    created: str = ""


class Departed:
    """Remembers the newest. ``now`` is the time in seconds since 1970."""

    def __init__(self, view: Callable[[], View], now: Callable[[], float] = time.time) -> None:
        """Remember none yet."""
        self._view, self._now = view, now
        self._kept: dict[str, EndedPod] = {}

    def note(self, uid: str) -> None:
        """Remember a pod that is about to be forgotten."""
        pod = self._view().pod_span(uid)
        if pod is None or uid in self._kept:
            return
        placed, created = moment(pod.since) if pod.node else "", moment(pod.created)
        self._kept[uid] = EndedPod(
            moment(self._now()), pod.namespace, pod.name, uid, pod.application, pod.queue, pod.node, placed, created
        )
        if len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def __iter__(self) -> Iterator[EndedPod]:
        """Yield what is remembered, the newest first."""
        return reversed(self._kept.values())


def routes(door: Door, sources: Sources, kept: Departed) -> list[web.RouteDef]:
    """Return the route."""
    return [web.get(ENDED, door(_Told(Sight(door.asker, sources.view), sources, kept).ended), allow_head=False)]


class _Told:
    def __init__(self, sight: Sight, sources: Sources, kept: Departed) -> None:
        self._sight, self._sources, self._kept = sight, sources, kept

    async def ended(self, request: web.Request, user: User) -> web.Response:
        found = await of_members(request, user, self._sight, self._sources, self._kept)
        return told(request, {"endedPods": found})
