"""Routes that only those may ask who have a token of the API server and its leave: the verb ``get`` for the path, as a ``nonResourceURL``.

It fails closed: while the API server cannot be asked, nobody is let in.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from treadle.kube.errors import KubeError
from treadle.kube.reviews import Reviews, User
from treadle.web.server import GATE, too_many
from treadle.web.warnings import Seldom

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
WAIT = 5
"""Seconds after which to come again while the API server does not answer."""


def token_of(request: web.Request) -> str:
    """Return the bearer token of a request, empty without one, and for what is none (RFC 6750 has ASCII alone)."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.isascii() else ""


def wait_of(request: web.Request, user: User) -> int:
    """Return 0 where a user may ask now, else after how many seconds."""
    return request.app[GATE].user_asks(user.name)


def guarded(route: web.RouteDef, reviews: Reviews, *, right: bool = True) -> web.RouteDef:
    """Return a route for GET that asks for a token, and for the right to its path unless anybody with a token may have it."""
    warn = Seldom(log)

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            token = token_of(request)
            user = await reviews.who(token) if token else None
            if user is None:
                raise web.HTTPUnauthorized(
                    headers={"WWW-Authenticate": "Bearer"}, text="401: a token of the API server is needed\n"
                )
            if wait := wait_of(request, user):
                raise too_many(wait)
            if right:
                attributes = {"nonResourceAttributes": {"path": route.path, "verb": "get"}}
                allowed, why = await reviews.may(user, attributes)
                if not allowed:
                    told = f": {why}" if why else ""
                    raise web.HTTPForbidden(text=f"403: User {user.name} may not get {route.path}{told}\n")
        except KubeError as error:
            warn(f"{route.path} is not answered, since nobody can be asked who may: {error}")
            raise web.HTTPServiceUnavailable(
                headers={"Retry-After": str(WAIT)}, text="503: the API server cannot be asked who may; nobody may meanwhile\n"
            ) from None
        found: web.StreamResponse = await route.handler(request)
        return found

    return web.get(route.path, answer)
