"""Asking the API server once, for commands that end with the answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from treadle.kube import auth
from treadle.kube.errors import CredentialsError, KubeError
from treadle.kube.transport import Client

T = TypeVar("T")
API = "/apis/treadle.dev/v1alpha1"
PAGE = 500
"""Objects in one answer of the API server."""


def asked(
    kubeconfig: Path | None,
    context: str | None,
    what: Callable[[Client], Awaitable[T]],
    *,
    access: auth.Access | None = None,
    otherwise: Callable[[str], T] | None = None,
) -> T:
    """Return what a question came to. Where there is no answer it is ``otherwise`` of the reason, without which the command ends with status 1 and says it.

    ``access`` is used in place of the kubeconfig.
    """

    async def ask() -> T:
        used = access or auth.load(str(kubeconfig) if kubeconfig else None, context)
        async with Client(used) as client:
            return await what(client)

    try:
        return asyncio.run(ask())
    except (CredentialsError, KubeError) as error:
        if otherwise is None:
            refuse(str(error))
        return otherwise(str(error))


def named(name: str, kubeconfig: Path | None, context: str | None, *, parts: int = 2) -> tuple[str, str]:
    """Return the namespace and the name of what is called NAME, which is in the namespace of the context, or NAMESPACE/NAME; a name itself has ``parts - 1`` parts at the most."""
    namespace, slash, own = name.partition("/")
    if not name or (slash and not (namespace and own)) or name.count("/") >= parts or name.endswith("/"):
        refuse(f"{name!r} is not NAMESPACE/NAME, nor a NAME in the namespace of the context")
    if slash:
        return namespace, own
    try:
        return auth.load(str(kubeconfig) if kubeconfig else None, context).namespace, name
    except CredentialsError as error:
        refuse(str(error))


async def read(client: Client, path: str) -> Any:
    """Return what is at a path below our group. Raises ``KubeError``."""
    answer = await client.request("GET", f"{API}/{path}")
    if answer.status >= 400:
        raise answer.error()
    return answer.json()


async def all_of(client: Client, path: str, params: Mapping[str, str] = MappingProxyType({})) -> list[Any]:
    """Return the objects of a whole list, which is asked for in pages. Raises ``KubeError``."""
    found: list[Any] = []
    more = ""
    while True:
        answer = await client.request("GET", path, params={**params, "limit": str(PAGE), **({"continue": more} if more else {})})
        if answer.status >= 400:
            raise answer.error()
        said = answer.json()
        found += said["items"]
        more = said["metadata"].get("continue") or ""
        if not more:
            return found


def refuse(why: str, status: int = 1) -> NoReturn:
    """End the command with a status: 2 for arguments that make no sense."""
    print(f"treadle: {why}", file=sys.stderr)
    raise SystemExit(status) from None
