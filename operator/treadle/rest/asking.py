"""Who sends a request, and whether they may: both are asked of the API server, each time (TokenReview, SubjectAccessReview)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from treadle.api.common import DNS_LABEL, NAME_LIMIT
from treadle.api.labels import GROUP
from treadle.kube.transport import Client
from treadle.rest.answers import UNAUTHENTICATED, Refused

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """Who the API server says that a token is from."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: dict[str, list[str]] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """The namespace of a service account, empty for anybody else."""
        return self.name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0] if self.name.startswith(_SERVICE_ACCOUNT) else ""


class Asker:
    """Asks the API server. ``audience`` is whom tokens have to be for; the API server itself where it is empty."""

    def __init__(self, client: Client, audience: str = "") -> None:
        """Keep whom to ask."""
        self._client, self._audience = client, audience

    async def who(self, request: web.Request) -> User:
        """Return who sends a request. Raises ``Refused`` where nobody is known for it, and ``KubeError``."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Refused(401, UNAUTHENTICATED)
        spec: dict[str, Any] = {"token": token}
        if self._audience:
            spec["audiences"] = [self._audience]
        status = (await self._review(_TOKENS, "TokenReview", "authentication.k8s.io/v1", spec)).get("status") or {}
        user = status.get("user") or {}
        # An authenticator that knows of no audiences names none: its tokens are for anybody.
        meant = not self._audience or self._audience in (status.get("audiences") or ())
        if status.get("authenticated") is not True or not user.get("username") or not meant:
            raise Refused(401, UNAUTHENTICATED)
        return User(user["username"], tuple(user.get("groups") or ()), user.get("uid") or "", user.get("extra") or {})

    async def check(self, user: User, verb: str, resource: str, namespace: str, name: str = "") -> None:
        """Raise ``Refused`` where a user may not do that with our kind in a namespace, and ``KubeError``."""
        asked = {"group": GROUP, "resource": resource, "verb": verb, "namespace": namespace}
        if name:
            asked["name"] = name
        spec: dict[str, Any] = {"user": user.name, "groups": list(user.groups), "resourceAttributes": asked}
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = user.extra
        status = (await self._review(_ACCESS, "SubjectAccessReview", "authorization.k8s.io/v1", spec)).get("status") or {}
        if status.get("allowed") is not True:
            why = f": {status['reason']}" if status.get("reason") else ""
            raise Refused(403, f"User {user.name} may not {verb} {resource}.{GROUP} in namespace {namespace}{why}")

    async def _review(self, path: str, kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
        answer = await self._client.request("POST", path, {"apiVersion": version, "kind": kind, "spec": spec})
        if answer.status >= 400:
            raise answer.error()
        found: dict[str, Any] = answer.json()
        return found


def namespace_of(request: web.Request, user: User) -> str:
    """Return the namespace that a request is about: the one that it names, else that of the service account that sends it. Raises ``Refused`` where that is none."""
    named = request.query.get("namespace", "") or user.namespace
    if not named:
        raise Refused(400, f"namespace: none is named, and {user.name} is no service account; say which by ?namespace=NAME")
    if len(named) > NAME_LIMIT or re.fullmatch(DNS_LABEL, named) is None:
        raise Refused(400, f"namespace: {named[:NAME_LIMIT]!r} is not the name of a namespace")
    return named


def only(request: web.Request, *names: str) -> None:
    """Raise ``Refused`` for a parameter that nobody acts on."""
    unknown = sorted(set(request.query) - {*names})
    if unknown:
        raise Refused(400, f"{unknown[0]}: unknown parameter; allowed are {', '.join(names)}")
