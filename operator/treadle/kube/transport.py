"""HTTP to the API server: separate connection pools, one error for "no answer", and fresh credentials on a 401.

Binds, status writes, reads and watches never wait for one another's connections: asynchronous status patches that shared a
limiter with binds once starved them in kube-scheduler.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Literal, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from treadle.kube.auth import Access
from treadle.kube.connections import Address, Connections, NoRight, Right
from treadle.kube.errors import ApiError, CredentialsError, Unreachable, Withheld
from treadle.kube.streams import Silent, Stream, opened

log = logging.getLogger(__name__)

Pool = Literal["watch", "bind", "claims", "evict", "status", "read", "lease"]
POOLS: Final[dict[Pool, int]] = {"watch": 32, "bind": 128, "claims": 16, "evict": 16, "status": 16, "read": 16, "lease": 2}
"""Connections in each pool at the most."""

DECIDING: Final[frozenset[Pool]] = frozenset({"bind", "claims", "evict", "status"})
"""The pools of what only the leader may write."""

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"

Body = bytes | Mapping[str, Any] | None


class Response(NamedTuple):
    """An answer: the HTTP status, the body, and the seconds of a Retry-After header or None."""

    status: int
    body: bytes
    retry_after: float | None = None

    def json(self) -> Any:
        """Return the decoded body. Raises ``ApiError`` for one that is not JSON, such as a proxy's page."""
        try:
            return msgspec.json.decode(self.body)
        except msgspec.DecodeError as error:
            raise ApiError(self.status, "", f"the answer is not JSON: {self.body[:200].decode(errors='replace')!r}") from error

    def error(self) -> ApiError:
        """Return the answer as an error, with the words of its Status object where there is one."""
        try:
            status = msgspec.json.decode(self.body)
            return ApiError(self.status, str(status.get("reason", "")), str(status.get("message", "")))
        except (msgspec.DecodeError, AttributeError):
            return ApiError(self.status, "", self.body[:200].decode(errors="replace"))


class Client:
    """A client of one API server. Use as an asynchronous context manager."""

    def __init__(self, access: Access, timeout: float = 30.0, user_agent: str = "treadle") -> None:
        self.access = access
        self.timeout = timeout
        self.requests: dict[tuple[str, str, int], int] = {}
        """Answers by (pool, method, status); status 0 is no answer."""
        self.took: Callable[[str, float], None] = lambda _method, _seconds: None
        """Is told of each answer how many seconds it took, the wait for a free connection included, by the method."""
        self.right: Right | None = None
        """Says how long a write of a leader may live, in seconds; None where nobody else could lead."""
        self.answered_at = float("-inf")
        """When the last answer came, on the monotonic clock."""
        self.withheld = 0
        """Writes that were not sent, since the right to write had gone."""
        self._user_agent = user_agent
        self._connections: dict[Pool, Connections] = {}
        self._headers: tuple[dict[str, str], str] = ({}, "")
        self._renewing: asyncio.Lock = asyncio.Lock()
        self._renewals = 0
        self._prefix = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def cut(self) -> None:
        """End what a leader has under way: somebody else may lead."""
        for pool in DECIDING & self._connections.keys():
            self._connections[pool].cut()

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._connections.values():
            await pool.close()
        self._connections.clear()

    async def request(
        self,
        method: str,
        path: str,
        body: Body = None,
        *,
        pool: Pool = "read",
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout: float | None = None,  # noqa: ASYNC109 - each request has its own limit, which aiohttp keeps
    ) -> Response:
        """Send one request and read the whole answer, whatever its status. Raises ``Unreachable`` where there is none.

        What only the leader may write is sent while ``right`` says so, and lives no longer: raises ``Withheld`` where it was not
        sent.

        After a 401 fresh credentials are fetched and the request is sent once more; without fresh ones the 401 is the answer.
        """
        credentials = self._renewals
        response = await self._once(method, path, body, pool, params, content_type, timeout)
        if response.status == 401 and await self.renew(credentials):
            response = await self._once(method, path, body, pool, params, content_type, timeout)
        return response

    async def _once(
        self,
        method: str,
        path: str,
        body: Body,
        pool: Pool,
        params: Mapping[str, str] | None,
        content_type: str,
        timeout: float | None,  # noqa: ASYNC109
    ) -> Response:
        content = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        where = f"{path}?{urlencode(params, quote_via=quote)}" if params else path
        try:
            connections = self._connections.get(pool)
            if connections is None:
                connections = self._connections[pool] = Connections(self._address(), POOLS[pool])
            request = self._written(method, where, content, content_type)
            right = self.right if pool in DECIDING else None
            began = time.monotonic()
            answer = await connections.request(method, request, timeout or self.timeout, right)
        except NoRight:
            self.withheld += 1
            raise Withheld(f"{method} {path}: not sent, since this instance does not lead any more") from None
        except (OSError, ValueError) as error:  # ValueError: a URL or a header that cannot be sent
            self._count(pool, method, 0)
            raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error
        self._count(pool, method, answer.status)
        self.answered_at = time.monotonic()
        self.took(method, self.answered_at - began)
        return Response(answer.status, answer.body, _retry_after(answer.retry_after) if answer.retry_after else None)

    def _written(self, method: str, path: str, content: bytes | None, content_type: str, accept: str = JSON) -> bytes:
        """Return a request as it is sent. Raises ``ValueError`` for what would break its form."""
        headers = self.access.headers()
        known, lines = self._headers
        if headers != known or not lines:
            server = urlsplit(self.access.server)
            self._prefix = server.path.rstrip("/")
            fixed = {"Host": server.netloc.rpartition("@")[2], "User-Agent": self._user_agent, **headers}
            lines = "".join(f"{name}: {_plain(name, value)}\r\n" for name, value in fixed.items())
            self._headers = dict(headers), lines
        start = f"{method} {self._prefix}{path} HTTP/1.1\r\n"
        if not start.isascii() or start.count(" ") != 2 or start.count("\n") != 1:  # names and paths of the API need no quoting
            raise ValueError(f"{path!r} cannot be a path")
        head = f"{start}{lines}Accept: {accept}\r\n"
        if content is None:
            return f"{head}\r\n".encode("latin-1")
        return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n".encode("latin-1") + content

    @asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str], silence: float, accept: str = JSON) -> AsyncIterator[Stream]:
        """Open a watch, which may say nothing for ``silence`` seconds, in a form that ``accept`` names.

        Raises ``Unreachable`` where there is no answer, ``Silent``, and what reading raises.
        """
        where = f"{path}?{urlencode(params, quote_via=quote)}"
        async with AsyncExitStack() as stack:
            try:
                request = self._written("GET", where, None, JSON, accept)
                answer = await stack.enter_async_context(opened(self._address(), request, silence))
            except Silent:
                raise
            except (OSError, ValueError) as error:
                raise Unreachable(f"GET {path}: {str(error) or type(error).__name__}") from error
            yield answer

    def _address(self) -> Address:
        return Address.of(self.access.server, self.access.tls, self.access.server_hostname)

    async def renew(self, known: int | None = None) -> bool:
        """Fetch fresh credentials, in a thread, and return whether there are any; those who come meanwhile share them.

        ``known`` is how often credentials had been fetched before those that were refused: if they have been replaced since, the
        new ones are tried first, so that a hundred refused requests run an exec plugin once and not a hundred times.
        """
        known = self._renewals if known is None else known
        async with self._renewing:
            if known != self._renewals:
                return True
            try:
                await asyncio.to_thread(self.access.renew)
            except CredentialsError as error:
                log.warning("credentials cannot be renewed: %s", error)
                return False
            self._renewals += 1
            return True

    def _count(self, pool: str, method: str, status: int) -> None:
        key = (pool, method, status)
        self.requests[key] = self.requests.get(key, 0) + 1


def _plain(name: str, value: str) -> str:
    """Return a header's value; one that would end the header is refused, and not shown: it may be a secret."""
    if any(character in value for character in "\r\n\0"):
        raise ValueError(f"header {name}: its value has a line break or a zero in it")
    return value


def _retry_after(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
