"""Who may look at the page of a running Treadle, and at what of it: as ``/api/v1/queues`` says (``rest.sight``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.rest.answers import Refused

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.core.views.view import View
    from treadle.rest.asking import Asker
    from treadle.rest.sight import Sees


class Asked:
    """Lets in whoever has a token. ``unready`` says why nobody can be told anything yet, empty if they can."""

    def __init__(self, asker: Asker, view: Callable[[], View], unready: Callable[[], str]) -> None:
        """Keep whom to ask."""
        self._asker, self._view, self._unready = asker, view, unready

    async def __call__(self, request: web.Request) -> tuple[str, Sees | None]:
        """Return who sends a request and of which queues they may see what they hold, None for all. Raises ``Refused`` and ``KubeError``."""
        user = await self._asker.who(request)
        if why := self._unready():
            raise Refused(503, f"nothing can be told yet: {why}", wait=5)
        if await self._asker.may(user, "view", "queues"):
            return user.name, None
        return user.name, self._view().viewable(user.name, user.groups, user.namespace)


async def everybody(_: web.Request) -> tuple[str, Sees | None]:
    """Let anybody in and show them everything: of loopback, and pretended."""
    return "", None
