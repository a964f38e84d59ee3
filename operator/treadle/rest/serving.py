"""What all requests have in common: bounded in number and time, of somebody who is known, and refused in YARN's shape or in ours."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import wraps

from aiohttp import web

from treadle.kube.errors import ApiError, KubeError
from treadle.kube.reviews import User
from treadle.rest.answers import JSON, Refused, check_media
from treadle.rest.asking import Asker
from treadle.web.warnings import Seldom

log = logging.getLogger(__name__)

MOST_UNDER_WAY = 32
"""Requests that are answered at once; others are asked to come again."""
Handler = Callable[[web.Request, User], Awaitable[web.Response]]


class Door:
    """Lets requests in. ``unready`` says why nobody can be answered yet, empty if they can."""

    def __init__(self, asker: Asker, unready: Callable[[], str]) -> None:
        """Keep whom to ask."""
        self.asker, self._unready, self._under_way = asker, unready, 0
        self._warn = Seldom(log)

    def __call__(self, handler: Handler, *media: str, xml: bool = False) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Return what answers a request whatever its handler raises. ``media`` are what its body may be beside JSON; ``xml``: who wants XML is served as well."""

        @wraps(handler)
        async def answered(request: web.Request) -> web.Response:
            try:
                check_media(request, JSON, *media, xml=xml)
                return await self._bounded(request, handler)
            except Refused as refused:
                return refused.answer(request.path)
            except KubeError as error:
                self._warn(f"a request of the REST is not served: {error}")
                return unserved(error).answer(request.path)

        return answered

    async def _bounded(self, request: web.Request, handler: Handler) -> web.Response:
        if self._under_way >= MOST_UNDER_WAY:
            raise Refused(503, f"{MOST_UNDER_WAY} requests are under way, and no more are answered at once", wait=1)
        self._under_way += 1
        try:
            user = await self.asker.who(request)
            if why := self._unready():
                raise Refused(503, f"nothing can be decided yet: {why}", wait=5)
            return await handler(request, user)
        finally:
            self._under_way -= 1


def unserved(error: KubeError) -> Refused:
    """Return why a request is not served although nothing is wrong with it."""
    if isinstance(error, ApiError) and error.status == 403:
        return Refused(503, f"the API server does not let Treadle do this: {error.message}")
    return Refused(503, f"the API server does not serve this now: {error}", wait=5)
