"""Who may look at the page of a running Treadle, and at what of it: as ``/api/v1/queues`` says (``rest.sight``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.kube.reviews import User
from treadle.page.stream import Admitted
from treadle.rest.answers import Refused
from treadle.rest.asking import Asker
from treadle.rest.sight import Sight

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.core.views.view import View


class Asked:
    """Lets in whoever has a token. ``unready`` says why nobody can be told anything yet, empty if they can."""

    def __init__(self, asker: Asker, view: Callable[[], View], unready: Callable[[], str]) -> None:
        """Keep whom to ask."""
        self._asker, self._view, self._unready = asker, view, unready
        self._sight = Sight(asker, view)

    async def __call__(self, request: web.Request) -> Admitted:
        """Return who sends a request and what they may see. Raises ``Refused`` and ``KubeError``."""
        user = await self._asker.who(request)
        if why := self._unready():
            raise Refused(503, f"nothing can be told yet: {why}", wait=5)
        everything = await self._sight.all_queues(user)
        sees = lambda: self._view().viewable(user.name, user.groups, user.namespace)  # noqa: E731 - true while nothing changes only
        return Admitted(user.name, None if everything else sees, everything or await self._sight.nodes(user))


async def everybody(_: web.Request) -> Admitted:
    """Let anybody in and show them everything: of loopback, and pretended."""
    return Admitted("", None, nodes=True)


class Anybody(Asker):
    """Knows everybody who asks, and lets them see everything: of loopback, and pretended."""

    def __init__(self) -> None:
        """Ask nobody."""

    async def who(self, request: web.Request) -> User:  # noqa: ARG002
        """Return somebody."""
        return User("anybody")

    async def may(self, user: User, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:  # noqa: ARG002
        """Let them."""
        return True
