"""A Queue as it is written: ``/api/v1/queue-manifest``, to be edited and sent to ``/api/v1/whatif`` and ``/api/v1/queue-changes``.

It is read with the token of whoever asks, so the API server says who may ``get`` it. What it fills in is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from aiohttp import web

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.changes.documents import document_of, object_of, path_of
from treadle.rest.answers import Refused, answer
from treadle.rest.asking import only
from treadle.web.guard import token_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.kube.reviews import User
    from treadle.kube.transport import Client
    from treadle.rest.serving import Door

MANIFEST: Final = "/api/v1/queue-manifest"
PATTERN: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"


def routes(door: Door, client_of: Callable[[str], Client]) -> list[web.RouteDef]:
    """Return the route. ``client_of`` returns a client with nothing but a token."""

    async def manifest(request: web.Request, user: User) -> web.Response:  # noqa: ARG001 - the token says what may be read
        only(request, "queue")
        queue = request.query.get("queue", "")
        if len(queue) > NAME_LIMIT or re.fullmatch(PATTERN, queue) is None:
            raise Refused(400, f"queue: {queue[:NAME_LIMIT]!r} is not the path of a queue, such as root.etl")
        async with client_of(token_of(request)) as client:
            found = await client.request("GET", path_of("Queue", queue))
        if found.status == 404:
            raise Refused(404, f"queue: there is no Queue {queue}; one that was made by a rule has no object")
        if found.status == 401:
            raise Refused(
                403, "the API server does not take this token, with which it is asked: it has to be for the API server itself"
            )
        if found.status == 403:
            raise Refused(403, found.error().message)
        if found.status != 200:
            raise found.error()
        return answer(object_of("Queue", queue, document_of("Queue", found.json())))

    return [web.get(MANIFEST, door(manifest), allow_head=False)]
