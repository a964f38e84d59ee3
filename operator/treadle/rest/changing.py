"""What both forms of changes of queues have in common: what is there, whether it is still what the client has seen, and that a change is judged and made."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from treadle.changes.change import Change, Step, outcome
from treadle.changes.documents import document_of
from treadle.changes.execution import Conflict, Executor, Read, read
from treadle.changes.execution import Refused as StepRefused
from treadle.changes.log import Busy, Log, Logged, TooLarge, TooSlow
from treadle.changes.verdict import appearing
from treadle.kube.errors import ApiError
from treadle.rest.answers import Refused
from treadle.web.guard import token_of

if TYPE_CHECKING:
    from aiohttp import web

    from treadle.kube.reviews import User
    from treadle.kube.transport import Client

MOST_WORDS = 1024
"""Characters of what somebody says about a change."""


class Judging:
    """Says what a change would be. ``client_of`` returns a client with nothing but a token, ``scheduler`` is the name of the Scheduler."""

    def __init__(self, client_of: Callable[[str], Client], scheduler: str) -> None:
        """Keep with what."""
        self.scheduler, self.client_of = scheduler, client_of

    @asynccontextmanager
    async def of(self, request: web.Request) -> AsyncIterator[tuple[Client, Read]]:
        """Return a client with the rights of whoever asks, and what there is, as far as he may see it. Raises ``Refused`` and ``KubeError``."""
        async with self.client_of(token_of(request)) as client:
            try:
                found = await read(client, self.scheduler)
                yield client, found
            except ApiError as error:
                if error.status == 403:
                    raise Refused(403, error.message) from None
                if error.status == 401:
                    raise Refused(
                        403,
                        "the API server does not take this token (any more): queues are read and written with it, so it has to be for the API server itself, and to last as long as a change",
                    ) from None
                raise

    async def judge(self, client: Client, found: Read, steps: Sequence[Step]) -> Executor:
        """Return who can make the steps, when the API server and the scheduler have nothing against them. Raises ``Refused`` and ``KubeError``."""
        before = {
            kind: {one[1]: document_of(kind, raw) for one, raw in found.objects.items() if one[0] == kind}
            for kind in ("Queue", "Scheduler")
        }
        executor = Executor(client, found.objects)
        with _refusing():
            await executor.try_out(steps)
        news = await asyncio.to_thread(self._news, before, steps)
        if news:
            raise Refused(400, "; ".join(news))
        return executor

    def _news(self, before: dict[str, dict[str, Any]], steps: Iterable[Step]) -> list[str]:
        after = {kind: outcome(before[kind], [step for step in steps if step.kind == kind]) for kind in before}
        return appearing(before, after, self.scheduler)


class Changing(Judging):
    """Makes changes; ``now`` is the time in seconds since the epoch."""

    def __init__(
        self, client_of: Callable[[str], Client], logs: Log, scheduler: str, now: Callable[[], float] = time.time
    ) -> None:
        """Keep with what."""
        super().__init__(client_of, scheduler)
        self.logs, self._now = logs, now

    @asynccontextmanager
    async def beginning(self, request: web.Request) -> AsyncIterator[tuple[Client, Read, Logged]]:
        """Return the same and the log, which was read before it: a change that begins with that log has seen what all others did. Raises as ``of`` does.

        While another change is under way ``Refused`` is raised: what is there meanwhile is no state that anybody wants.
        """
        logged = await self.logs.read()
        async with self.of(request) as (client, found):
            if logged.pending is not None:
                raise Refused(503, f"a change of {logged.pending.user} is under way", wait=1)
            yield client, found, logged

    async def make(self, executor: Executor, user: User, steps: Sequence[Step], message: str, logged: Logged) -> int:
        """Make the steps and return the number of the change. ``logged`` is what ``beginning`` returned. Raises ``Refused`` and ``KubeError``."""
        change = Change(tuple(steps), user.name, tuple(user.groups), self._now(), message[:MOST_WORDS])
        with _refusing():
            return await executor.make(change, self.logs, logged)


class _refusing:  # noqa: N801 - reads as a word
    """Turns what keeps a change from being made into an answer."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise ``Refused`` for it."""
        if isinstance(error, StepRefused):
            raise Refused(403 if error.status == 403 else 400, str(error)) from None
        if isinstance(error, Conflict):
            raise Refused(409, str(error)) from None
        if isinstance(error, TooLarge):
            raise Refused(400, str(error)) from None
        if isinstance(error, Busy | TooSlow):
            raise Refused(503, str(error), wait=1) from None


def etag_of(found: Read) -> str:
    """Return what names the versions of all that is there: of what is written, not of what a status says."""
    named = [
        (*key, raw["metadata"]["uid"], raw["metadata"]["generation"], document_of(key[0], raw))
        for key, raw in sorted(found.objects.items())
    ]
    return f'"{hashlib.blake2b(msgspec.json.encode(named, order="sorted"), digest_size=12).hexdigest()}"'


def check_unchanged(request: web.Request, found: Read) -> None:
    """Raise ``Refused`` where ``If-Match`` names another version than what is there (RFC 9110)."""
    if "If-Match" not in request.headers:
        return
    wanted = ", ".join(request.headers.getall("If-Match"))
    if wanted.strip() == "*":
        return
    if etag_of(found) not in {one.strip() for one in wanted.split(",")}:
        raise Refused(412, f"If-Match: {wanted} is not what is there any more, which is {etag_of(found)}; read it again")
