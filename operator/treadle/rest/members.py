"""Those of some pods that are remembered of which somebody may be told, as the query asks: of a queue and below it, of a namespace, of an application."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from treadle.core.rules.placement.names import is_below
from treadle.rest.answers import Refused
from treadle.rest.asking import namespace_named, only
from treadle.rest.pages import limit_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp import web

    from treadle.kube.reviews import User
    from treadle.rest.sight import Sight
    from treadle.rest.state import Sources


class Member(Protocol):
    """A pod that is remembered: where it was."""

    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def application(self) -> str:
        """The id of its application."""

    @property
    def queue(self) -> str:
        """The path of its queue."""


T = TypeVar("T", bound=Member)


async def of_members(request: web.Request, user: User, sight: Sight, sources: Sources, kept: Iterable[T]) -> list[T]:
    """Return those that are asked for, in their order. Raises ``Refused``."""
    only(request, "queue", "namespace", "application", "limit")
    queue, application, limit = text_of(request, "queue"), text_of(request, "application"), limit_of(request)
    namespace = namespace_named(request.query["namespace"]) if "namespace" in request.query else ""
    if application and "/" not in application:
        raise Refused(400, f"application: {application!r} is not NAMESPACE/NAME")
    sources.check_leads()
    sees = await sight.of_members(user, queue, namespace, "pods")
    found = (
        one
        for one in kept
        if namespace in {"", one.namespace}
        and application in {"", one.application}
        and is_below(one.queue, queue)
        and sees(one.queue)
    )
    return list(islice(found, limit))
