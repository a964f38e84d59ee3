"""Which pods were asked to go lately, for whom and why: ``/api/v1/preemptions``, told by the leader that asked them, to whoever may see the pods.

They are kept in memory, ``MOST_KEPT`` at the most: another leader begins with none, and the events on the pods say the same for as long as the API server keeps these.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from aiohttp import web
from msgspec import Struct

from treadle.rest.lines import moment
from treadle.rest.members import of_members
from treadle.rest.pages import told
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from treadle.core.effects import Evict
    from treadle.core.views.view import View
    from treadle.kube.reviews import User
    from treadle.rest.serving import Door
    from treadle.rest.state import Sources

PREEMPTIONS: Final = "/api/v1/preemptions"
MOST_KEPT: Final = 2000


class Preemption(Struct, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A pod that was asked to go at a time, and why. ``by_application`` of ``by_queue`` gets its room; both are absent where it goes for no other application."""

    at: str
    namespace: str
    name: str
    application: str
    queue: str
    message: str
    node: str = ""
    by_application: str = ""
    by_queue: str = ""


class Preemptions:
    """Remembers the newest. ``now`` is the time in seconds since 1970."""

    def __init__(self, view: Callable[[], View], now: Callable[[], float] = time.time) -> None:
        """Remember none yet."""
        self._view, self._now = view, now
        self._kept: deque[Preemption] = deque(maxlen=MOST_KEPT)

    def note(self, victim: Evict) -> None:
        """Remember a pod that was asked to go."""
        pod = self._view().pod(victim.uid)
        self._kept.appendleft(
            Preemption(
                moment(self._now()),
                victim.namespace,
                victim.name,
                "" if pod is None else pod.application,
                victim.queue,
                victim.why,
                "" if pod is None else pod.node,
                victim.beneficiary,
                victim.owed,
            )
        )

    def __iter__(self) -> Iterator[Preemption]:
        """Yield what is remembered, the newest first."""
        return iter(self._kept)


def routes(door: Door, sources: Sources, kept: Preemptions) -> list[web.RouteDef]:
    """Return the route."""
    return [web.get(PREEMPTIONS, door(_Told(Sight(door.asker, sources.view), sources, kept).preemptions), allow_head=False)]


class _Told:
    def __init__(self, sight: Sight, sources: Sources, kept: Preemptions) -> None:
        self._sight, self._sources, self._kept = sight, sources, kept

    async def preemptions(self, request: web.Request, user: User) -> web.Response:
        found = await of_members(request, user, self._sight, self._sources, self._kept)
        return told(request, {"preemptions": found})
