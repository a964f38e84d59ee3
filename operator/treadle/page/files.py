"""The files of the page: one HTML, modules of JavaScript and a stylesheet, served from the package as they are. They hold no data, so nobody is asked for a token."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Final

from aiohttp import web

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Nothing is loaded from elsewhere, and no browser keeps a file without asking whether it is still that one."""
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def names() -> list[str]:
    """Return the names of all files."""
    return sorted(one.name for one in resources.files("treadle.page").joinpath("static").iterdir() if one.is_file())


def routes() -> list[web.RouteDef]:
    """Return the routes: ``/`` and ``/static/NAME``."""
    made = [web.get(f"/static/{name}", _file(name)) for name in names() if name != "index.html"]
    return [web.get("/", _file("index.html")), *made]


def _file(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    body = resources.files("treadle.page").joinpath("static", name).read_bytes()
    packed = gzip.compress(body, mtime=0)
    tag = hashlib.sha256(body).hexdigest()[:32]
    headers = HEADERS | {"ETag": f'"{tag}"', "Vary": "Accept-Encoding"}
    kind = _TYPES[name.rpartition(".")[2]]

    async def answer(request: web.Request) -> web.Response:
        if tag in {one.value for one in request.if_none_match or ()}:
            return web.Response(status=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            response = web.Response(body=packed, headers=headers | {"Content-Encoding": "gzip"})
        else:
            response = web.Response(body=body, headers=headers)
        response.content_type, response.charset = kind, "utf-8"
        return response

    return answer
