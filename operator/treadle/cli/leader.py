"""Asking the scheduler itself, by its REST, for what is as it is at this moment; where it cannot be asked, objects say what they said last."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

from cyclopts import Parameter

from treadle.cli.asking import asked, refuse
from treadle.kube import auth
from treadle.kube.errors import CredentialsError
from treadle.kube.transport import Client

MOST: Final = 500
"""Of a list, in one answer."""
Json = Mapping[str, Any]
T = TypeVar("T")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Where:
    """Whom a command asks.

    Parameters
    ----------
    kubeconfig:
        A kubeconfig file.
    context:
        The context in it; the current one if absent.
    server:
        The URL of the scheduler's port, such as https://localhost:8080 after kubectl port-forward: it is asked, with the token of the kubeconfig, and objects only where it does not answer.
    certificate_authority:
        The file with what its certificate is trusted by; that of the machine if absent.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    server: Annotated[str, Parameter(env_var="TREADLE_SERVER")] = ""
    certificate_authority: Annotated[Path | None, Parameter(env_var="TREADLE_CERTIFICATE_AUTHORITY")] = None


HERE: Final = Where()


def lines(where: Where, what: str, **params: str) -> list[Json] | None:
    """Return the rows of one of the REST's lists (``queues``, ``applications``, ``nodes``); None where no scheduler is named or it does not answer, which is said on the standard error."""

    async def all_of_it(client: Client) -> list[Json] | str:
        found: list[Json] = []
        more = ""
        while True:
            said = await _get(client, what, {**params, "limit": str(MOST), **({"continue": more} if more else {})})
            if isinstance(said, str):
                return said
            if what not in said:
                return "it answers, and not as the scheduler's REST does"
            found += said[what]
            more = said["continue"]
            if not more:
                return found

    return _asked(where, all_of_it)


def answer(where: Where, what: str, absent: Json | None = None, /, **params: str) -> Json | None:
    """Return one answer of the REST, ``absent`` where that is given and there is nothing (404); None as ``lines`` does."""
    return _asked(where, lambda client: _get(client, what, params, absent))


def _asked(where: Where, ask: Callable[[Client], Awaitable[T | str]]) -> T | None:
    if not where.server:
        return None
    if urlsplit(where.server).scheme not in {"http", "https"} or not urlsplit(where.server).hostname:
        refuse(f"--server: {where.server!r} is no URL such as https://localhost:8080")
    try:
        access = _access(where)
    except (CredentialsError, OSError, ssl.SSLError) as error:
        refuse(str(error))
    found = asked(None, None, ask, access=access, otherwise=str)
    if isinstance(found, str):
        print(f"treadle: {where.server} does not tell ({found}); what follows is what objects said last", file=sys.stderr)
        return None
    return found


async def _get(client: Client, what: str, params: Mapping[str, str], absent: Json | None = None) -> Json | str:
    """Return an answer, or in words why there is none."""
    response = await client.request("GET", f"/api/v1/{what}", params=params)
    if response.status == 404 and absent is not None:
        return absent
    said: Json = response.json()
    if response.status >= 400:
        return _why(said, response.status)
    return said if response.status < 300 and isinstance(said, Mapping) else f"{response.status}: it is no scheduler's REST"


def _access(where: Where) -> auth.Access:
    """Return the access of the kubeconfig with another server. Raises ``CredentialsError`` where it has no token, ``OSError`` and ``ssl.SSLError`` for what is no file of certificates."""
    access = auth.load(str(where.kubeconfig) if where.kubeconfig else None, where.context)
    if "Authorization" not in access.headers():
        raise CredentialsError("--server: the kubeconfig has no token, and the scheduler knows people by that of the API server")
    tls = None
    if where.server.startswith("https:"):
        tls = ssl.create_default_context(cafile=None if where.certificate_authority is None else str(where.certificate_authority))
    return replace(access, server=where.server.rstrip("/"), tls=tls, server_hostname=None)


def _why(said: Any, status: int) -> str:
    words = said.get("detail") or said.get("title") if isinstance(said, Mapping) else ""
    return f"{status}: {words}" if words else str(status)
