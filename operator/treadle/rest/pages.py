"""What lists have in common that are told in pages, and answers that name their version: parameters of a query, ``ETag`` and ``If-None-Match`` (RFC 9110)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from heapq import nsmallest
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from treadle.rest.answers import JSON, Refused

MOST: Final = 500
"""Of a list that is answered at once."""
MOST_NAMED: Final = 512
"""Characters of a name in a query."""
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}
"""An answer is for whose token it was, and is asked for again each time."""
T = TypeVar("T", str, tuple[str, str])


def page(found: Iterable[T], after: T, limit: int) -> tuple[list[T], T | None]:
    """Return the first names after one, and the last of them if there are more, else None."""
    names = nsmallest(limit + 1, (name for name in found if name > after))
    return names[:limit], names[limit - 1] if len(names) > limit else None


def text_of(request: web.Request, name: str) -> str:
    """Return a parameter that names something, empty where it is absent. Raises ``Refused``."""
    text = request.query.get(name, "")
    if len(text) > MOST_NAMED or not text.isprintable():
        raise Refused(400, f"{name}: {text[:MOST_NAMED]!r} names nothing; allowed are {MOST_NAMED} letters")
    return text


def word_of(request: web.Request, name: str, allowed: Iterable[str]) -> str:
    """Return a parameter that is one of a few words, empty where it is absent. Raises ``Refused``."""
    text = request.query.get(name, "")
    if text and text not in allowed:
        raise Refused(400, f"{name}: {text[:MOST_NAMED]!r} is not known; allowed are {', '.join(allowed)}")
    return text


def limit_of(request: web.Request) -> int:
    """Return how many are asked for at the most. Raises ``Refused``."""
    text = request.query.get("limit", str(MOST))
    if re.fullmatch(r"[1-9][0-9]{0,2}", text) is None or int(text) > MOST:
        raise Refused(400, f"limit: {text[:MOST_NAMED]!r} is not a number from 1 to {MOST}")
    return int(text)


def told(request: web.Request, said: Any) -> web.Response:
    """Return a response with a JSON body and its version, or one without (304) where the client has that already."""
    body = msgspec.json.encode(said)
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, **PRIVATE}
    known = {one.strip().removeprefix("W/") for one in ", ".join(request.headers.getall("If-None-Match", ())).split(",")}
    if "*" in known or tag in known:
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, headers=headers, content_type=JSON, charset="utf-8")
