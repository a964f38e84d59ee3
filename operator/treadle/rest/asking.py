"""Who sends a request, and whether they may, as the API server says."""

from __future__ import annotations

import re

from aiohttp import web

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.api.labels import GROUP
from treadle.kube.reviews import Reviews, User
from treadle.rest.answers import UNAUTHENTICATED, Refused
from treadle.web.guard import token_of, wait_of

CORE = frozenset({"pods", "nodes"})
"""The kinds of Kubernetes' own that are asked about."""


class Asker:
    """Asks the API server. ``audience`` is whom tokens have to be for; the API server itself where it is empty."""

    def __init__(self, reviews: Reviews, audience: str = "") -> None:
        """Keep whom to ask."""
        self._reviews, self._audience = reviews, audience

    async def who(self, request: web.Request) -> User:
        """Return who sends a request. Raises ``Refused`` where nobody is known for it, or who is asks too often, and ``KubeError``."""
        token = token_of(request)
        user = await self._reviews.who(token, self._audience) if token else None
        if user is None:
            raise Refused(401, UNAUTHENTICATED)
        if wait := wait_of(request, user):
            raise Refused(429, f"User {user.name} sends too many requests", wait=wait)
        return user

    async def may(self, user: User, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
        """Whether a user may do that with our kind, or with pods or nodes. Raises ``KubeError``."""
        return (await self._reviews.may(user, {"resourceAttributes": _asked(verb, resource, namespace, name)}))[0]

    async def check(self, user: User, verb: str, resource: str, namespace: str, name: str = "") -> None:
        """Raise ``Refused`` where a user may not do that with our kind in a namespace, and ``KubeError``."""
        allowed, reason = await self._reviews.may(user, {"resourceAttributes": _asked(verb, resource, namespace, name)})
        if not allowed:
            why = f": {reason}" if reason else ""
            raise Refused(403, f"User {user.name} may not {verb} {resource}.{GROUP} in namespace {namespace}{why}")


def _asked(verb: str, resource: str, namespace: str, name: str) -> dict[str, str]:
    asked = {"group": "" if resource in CORE else GROUP, "resource": resource, "verb": verb, "namespace": namespace, "name": name}
    return {key: value for key, value in asked.items() if value}


def namespace_of(request: web.Request, user: User) -> str:
    """Return the namespace that a request is about: the one that it names, else that of the service account that sends it. Raises ``Refused`` where that is none."""
    named = request.query.get("namespace", "") or user.namespace
    if not named:
        raise Refused(400, f"namespace: none is named, and {user.name} is no service account; say which by ?namespace=NAME")
    return namespace_named(named)


def namespace_named(named: str) -> str:
    """Return the name of a namespace. Raises ``Refused`` for what is none."""
    if len(named) > NAME_LIMIT or re.fullmatch(DNS_LABEL, named) is None:
        raise Refused(400, f"namespace: {named[:NAME_LIMIT]!r} is not the name of a namespace")
    return named


def only(request: web.Request, *names: str) -> None:
    """Raise ``Refused`` for a parameter that nobody acts on."""
    unknown = sorted(set(request.query) - {*names})
    if unknown:
        raise Refused(400, f"{unknown[0]}: unknown parameter; allowed are {', '.join(names)}")
