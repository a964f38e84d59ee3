"""Makes changes with the rights of whoever asks for them, all of their steps or none.

Every step is first tried by a dry run, so that the API server's rules and rights refuse a change before anything of it is made. Then the change is noted in the log, its steps are made
one after the other, each only on the version of its object that was read, and the note becomes an entry of the log. Where a step fails those before it are taken back. A scheduler between the
first and the last step goes by what was in force before, where a part of the change makes no sense without the rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from treadle.changes.change import Change, Step
from treadle.changes.documents import document_of, is_as_made, object_of, path_of, rewritten
from treadle.changes.edits import edited, overtaken
from treadle.changes.log import ABANDONED_AFTER, Busy, Log, Logged
from treadle.kube.errors import ApiError, KubeError
from treadle.kube.transport import Client, Response

log = logging.getLogger(__name__)

TRIES: Final = 8
"""How often an object is read anew whose status somebody writes at the same time."""
Objects = Mapping[tuple[str, str], Mapping[str, Any]]
"""Objects as they were read, by kind and name."""


class Conflict(Exception):
    """An object is not any more what it was when the change was made out."""


class Refused(Exception):
    """A step that the API server refuses; ``status`` is HTTP's."""

    def __init__(self, step: Step, error: ApiError) -> None:
        """Keep which, and why."""
        self.status = error.status
        super().__init__(f"{step.words}: {error.message or error}")


@dataclass(frozen=True, slots=True)
class Read:
    """The Scheduler, None if there is none, and the Queues by path."""

    scheduler: Mapping[str, Any] | None
    queues: dict[str, Mapping[str, Any]]

    @property
    def objects(self) -> Objects:
        """All of them."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {("Queue", path): raw for path, raw in self.queues.items()}
        if self.scheduler is not None:
            found["Scheduler", self.scheduler["metadata"]["name"]] = self.scheduler
        return found


async def read(client: Client, scheduler: str) -> Read:
    """Return what there is. Raises ``KubeError``."""
    queues = await client.request("GET", path_of("Queue"))
    if queues.status != 200:
        raise queues.error()
    found = await client.request("GET", path_of("Scheduler", scheduler))
    if found.status not in {200, 404}:
        raise found.error()
    return Read(found.json() if found.status == 200 else None, {one["metadata"]["name"]: one for one in queues.json()["items"]})


class Executor:
    """Makes the steps of a change on behalf of whose ``client`` it is."""

    def __init__(self, client: Client, objects: Objects) -> None:
        """Keep with whose rights, and what was read."""
        self._client = client
        self._generations = {key: (raw["metadata"]["uid"], raw["metadata"]["generation"]) for key, raw in objects.items()}

    async def try_out(self, steps: Iterable[Step]) -> None:
        """Let the API server judge all steps. Raises ``Refused``, ``Conflict`` and ``KubeError``."""
        for step in steps:
            await self._make(step, dry=True)

    async def make(self, change: Change, logs: Log, logged: Logged) -> int:
        """Make a change and return its number. Raises ``Refused``, ``Conflict``, ``Busy``, ``TooLarge``, ``TooSlow`` and ``KubeError``; nothing of the change is left then."""
        under_way = _UnderWay(logs, await logs.begin(logged, change))
        made: list[Step] = []
        try:
            for step in change.steps:
                await under_way.renew()
                made.append(step)
                await self._make(step, under_way.check_time)
        except (Refused, Conflict):
            made.pop()
            await self._take_back(made, under_way)
            raise
        except BaseException:
            # Nothing is known of the last step: whoever takes it back looks at what is there.
            await self._take_back(made, under_way)
            raise
        return await logs.end(under_way.logged, done=True)

    async def _take_back(self, made: list[Step], under_way: _UnderWay) -> None:
        try:
            await under_way.renew(at_once=True)
            left = await take_back(self._client, made, under_way.renew, forbidden=True)
            for problem in left:
                log.warning("a change of queues was taken back, but for: %s", problem)
            await under_way.logs.end(under_way.logged, done=False)
        except (KubeError, Busy) as error:
            log.warning("a change of queues cannot be taken back now; the leader does so: %s", error)

    async def _make(self, step: Step, check_time: Callable[[], None] | None = None, *, dry: bool = False) -> None:
        params = {"dryRun": "All"} if dry else None
        if step.operation == "Create":
            answer = await self._client.request(
                "POST", path_of(step.kind), object_of(step.kind, step.name, step.edits[0].after), params=params
            )
            _check(step, answer)
            return
        for _ in range(TRIES):
            answer = await self._client.request("GET", path_of(step.kind, step.name))
            _check(step, answer)
            raw = answer.json()
            if (raw["metadata"]["uid"], raw["metadata"]["generation"]) != self._generations.get((step.kind, step.name)):
                raise Conflict(f"{step.words} was changed by somebody else at the same time")
            if check_time is not None:
                check_time()
            answer = await _write(self._client, step, raw, params)
            if answer.status != 409:
                _check(step, answer)
                return
        raise Conflict(f"{step.words} is written to all the time")


class _UnderWay:
    """A change that this process makes: the log with it, which is kept fresh."""

    def __init__(self, logs: Log, logged: Logged) -> None:
        self.logs, self.logged = logs, logged

    async def renew(self, *, at_once: bool = False) -> None:
        self.logged = await self.logs.renewed(self.logged, at_once=at_once)

    def check_time(self) -> None:
        self.logs.check_time(self.logged)


async def take_back(
    client: Client, made: Iterable[Step], renew: Callable[[], Awaitable[None]], *, forbidden: bool = False
) -> list[str]:
    """Take back steps, the last one first, as far as they were made and nobody has changed the same since; return what stays.

    ``renew`` is called before each. Raises ``KubeError``, with ``forbidden`` also where the client may not: somebody else can.
    """
    left = []
    for step in reversed(list(made)):
        await renew()
        problem = await _undo(client, step, forbidden=forbidden)
        if problem:
            left.append(f"{step.words}: {problem}")
    return left


async def _undo(client: Client, step: Step, *, forbidden: bool) -> str:
    undone = step.undone
    for _ in range(TRIES):
        answer = await client.request("GET", path_of(step.kind, step.name))
        if answer.status not in {200, 404}:
            raise answer.error()
        raw = answer.json() if answer.status == 200 else None
        if step.operation == "Delete":
            if raw is not None:
                return ""  # it was never deleted, or somebody has made it again
            answer = await client.request("POST", path_of(step.kind), object_of(step.kind, step.name, undone.edits[0].after))
        elif raw is None:
            return "" if step.operation == "Create" else "it was deleted since"
        elif step.operation == "Create" and not is_as_made(step.kind, raw, step.edits[0].after):
            return "it was changed since, or made by somebody else"
        elif step.operation == "Update" and overtaken(document_of(step.kind, raw), step.edits):
            return "" if not overtaken(document_of(step.kind, raw), undone.edits) else "it was changed since"
        else:
            answer = await _write(client, undone, raw, None)
        if answer.status in {400, 422} or (answer.status == 403 and not forbidden):
            return answer.error().message
        if answer.status not in {404, 409}:
            if answer.status >= 400:
                raise answer.error()
            return ""
    return "it is written to all the time"


async def _write(client: Client, step: Step, raw: Mapping[str, Any], params: Mapping[str, str] | None) -> Response:
    """Change or delete an object in the version that was read; 409 where that is not the present one."""
    if step.operation == "Delete":
        meta = raw["metadata"]
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
            # The API server reads no parameters of a deletion that has a body.
            **({"dryRun": ["All"]} if params else {}),
        }
        return await client.request("DELETE", path_of(step.kind, step.name), body)
    body = rewritten(raw, edited(document_of(step.kind, raw), step.edits))
    return await client.request("PUT", path_of(step.kind, step.name), body, params=params)


def _check(step: Step, answer: Response) -> None:
    if answer.status in {404, 409}:
        raise Conflict(f"{step.words}: {answer.error().message}")
    if answer.status in {400, 403, 422}:
        raise Refused(step, answer.error())
    if answer.status >= 400:
        raise answer.error()


class Healer:
    """Takes back changes whose process has died: those of which it has seen no new word for a while, by its own clock."""

    def __init__(self, client: Client, logs: Log, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep with what."""
        self._client, self._logs, self._clock = client, logs, clock
        self._seen: tuple[str, float] | None = None

    def forget(self) -> None:
        """Begin anew: nobody has looked for a while."""
        self._seen = None

    async def heal(self) -> str:
        """Look once, and return what could not be taken back, as a sentence; empty where all is well. Raises ``KubeError``."""
        logged = await self._logs.read()
        if logged.pending is None:
            self._seen = None
            return ""
        if self._seen is None or self._seen[0] != logged.revision:
            self._seen = (logged.revision, self._clock())
        if self._clock() < self._seen[1] + ABANDONED_AFTER:
            return ""
        return await _heal(self._client, self._logs, logged, logged.pending)


async def _heal(client: Client, logs: Log, logged: Logged, pending: Change) -> str:
    log.warning("a change of queues by %s was not finished; it is taken back", pending.user)
    under_way = _UnderWay(logs, logged)
    try:
        await under_way.renew(at_once=True)
        left = await take_back(client, pending.steps, under_way.renew)
        await logs.end(under_way.logged, done=False)
    except Busy:
        return ""  # its process was only held up, or another one is at it
    return f"a change by {pending.user} was not finished and could not be taken back whole: {'; '.join(left)}" if left else ""
