"""Whose a token is and what they may do, asked of the API server (TokenReview, SubjectAccessReview) and kept for a short while.

An answer is kept for ``KEPT`` seconds, as API servers that ask others keep theirs, so a right that is withdrawn or a token that ends counts so much longer at the
most. Tokens are kept as a hash with a key of this process. Who asks for the same at the same time shares one question.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from treadle.kube.errors import ApiError
from treadle.kube.transport import Client

KEPT = 10.0
MOST_KEPT = 1024
"""Answers about tokens, and answers about rights, at the most; those go first that were given first."""
PATIENCE = 5.0
"""Seconds for the API server to answer."""
SERVICE_ACCOUNT = "system:serviceaccount:"
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
T = TypeVar("T")


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
        return self.name.removeprefix(SERVICE_ACCOUNT).partition(":")[0] if self.name.startswith(SERVICE_ACCOUNT) else ""


class _Kept(Generic[T]):
    """Answers by question, each for a while and so many at the most."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._asking: dict[Hashable, asyncio.Task[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        known = self._answers.get(key)
        if known is not None and known[0] > self._now():
            return known[1]
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.ensure_future(self._asked(key, ask))
        return await asyncio.shield(task)  # who goes away leaves the others their answer

    async def _asked(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            began = self._now()
            answer = await ask()
            self._answers.pop(key, None)
            self._answers[key] = (began + KEPT, answer)
            if len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)
            return answer
        finally:
            del self._asking[key]


class Reviews:
    """Asks the API server; both questions raise ``KubeError`` where it does not answer."""

    def __init__(self, client: Client, now: Callable[[], float] = time.monotonic) -> None:
        """Keep whom to ask."""
        self._client = client
        self._secret = secrets.token_bytes(32)
        self._users: _Kept[User | None] = _Kept(now)
        self._rights: _Kept[tuple[bool, str]] = _Kept(now)

    async def who(self, token: str, audience: str = "") -> User | None:
        """Return whose a token is, None for one that counts for nobody. ``audience`` is whom it has to be for; the API server where it is empty."""
        key = hashlib.blake2b(token.encode(), key=self._secret, digest_size=32).digest()
        return await self._users.get((key, audience), lambda: self._ask_who(token, audience))

    async def may(self, user: User, attributes: Mapping[str, Any]) -> tuple[bool, str]:
        """Return whether a user may do something, and the API server's reason. ``attributes`` has ``resourceAttributes`` or ``nonResourceAttributes``."""
        spec: dict[str, Any] = {"user": user.name, "groups": list(user.groups), **attributes}
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = user.extra
        key = hashlib.blake2b(msgspec.json.encode(spec), digest_size=32).digest()
        return await self._rights.get(key, lambda: self._ask_may(spec))

    async def _ask_who(self, token: str, audience: str) -> User | None:
        spec: dict[str, Any] = {"token": token}
        if audience:
            spec["audiences"] = [audience]
        status = await self._review(_TOKENS, "TokenReview", "authentication.k8s.io/v1", spec)
        user = status.get("user") or {}
        # An authenticator that knows of no audiences names none: its tokens are for anybody.
        meant = not audience or audience in (status.get("audiences") or ())
        if status.get("authenticated") is not True or not user.get("username") or not meant:
            return None
        return User(user["username"], tuple(user.get("groups") or ()), user.get("uid") or "", user.get("extra") or {})

    async def _ask_may(self, spec: dict[str, Any]) -> tuple[bool, str]:
        status = await self._review(_ACCESS, "SubjectAccessReview", "authorization.k8s.io/v1", spec)
        return status.get("allowed") is True and status.get("denied") is not True, str(status.get("reason") or "")

    async def _review(self, path: str, kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
        asked = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = await self._client.request("POST", path, asked, timeout=PATIENCE)
        if answer.status >= 400:
            raise answer.error()
        found = answer.json()
        if not isinstance(found, dict):
            raise ApiError(answer.status, "", f"{kind}: the answer is no object")
        status: dict[str, Any] = found.get("status") or {}
        return status
