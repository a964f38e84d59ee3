"""Routes without a token, for the browser and the programs of this machine alone."""

from __future__ import annotations

from aiohttp import web

from treadle.listening import stranger


def local(route: web.RouteDef) -> web.RouteDef:
    """Return a route that refuses what a page of elsewhere has a browser ask, by ``Host`` and ``Origin``."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if why := stranger(request.headers.get("Host", ""), request.headers.get("Origin", "")):
            raise web.HTTPForbidden(text=f"403: {why}\n")
        found: web.StreamResponse = await route.handler(request)
        return found

    return web.RouteDef(route.method, route.path, answer, route.kwargs)
