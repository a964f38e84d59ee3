"""Status writes: coalesced, few at a time, on connections of their own, so that they never hold up a bind.

A later write about the same object replaces an earlier one that has not been sent. Without an answer, or with a 401, a 429 or a
5xx, it is sent again later unless a newer one has come, after a 403 for some minutes; any other refusal is logged and dropped,
since the next state is written anyway.

A server that cannot be reached, or says that it has too much to do, is left alone for a while by all writes. A 500 and a 403 may
be about one object or one namespace (a webhook for it that is down), so they delay the write that met them, and no other.
Writes about one resource in one namespace stand in a line, and the lines have turns. One whose answers are slow (a webhook that
hangs) has a single write under way, and none has all of them while others wait.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from treadle.kube.errors import Unreachable, Withheld
from treadle.kube.transport import MERGE, Client

log = logging.getLogger(__name__)

PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before a write that found no hearing is sent again, and the longest wait that a server may ask for."""
FIRST_WAIT, MOST_TRIES = 2.0, 6
"""Seconds before a write that was refused with a 403 is sent again, which double, and how often an event is."""
LONGEST_WAIT = 300.0
"""Seconds before a write that met a 403 or a 500 is sent again, at the most."""

SLOW = 2.0
"""Seconds without an answer after which a line counts as slow."""
MOST_SLOW = 1000
"""Lines that are known to be slow, at the most."""

ENDING = "is being terminated"
"""What a 403 says that is about a namespace that ends, and not about rights."""
WARN_EVERY = 300.0
"""Seconds between two warnings that writes of a kind are refused."""


def resource_of(path: str) -> str:
    """Return the resource that a path of the API is about, with the subresource, without names: ``pods/status``."""
    parts = path.partition("?")[0].strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join([*rest[:1], *rest[2:]])


def line_of(path: str) -> str:
    """Return which line a write stands in: its resource, in its namespace if it has one."""
    parts = path.strip("/").split("/")
    at = 2 if parts[0] == "api" else 3
    return (
        f"{resource_of(path)} {parts[at + 1]}"
        if parts[at : at + 1] == ["namespaces"] and len(parts) > at + 2
        else resource_of(path)
    )


class Write(NamedTuple):
    """A write: where, what, how, and who wants to know the HTTP status of a final answer."""

    path: str
    body: Mapping[str, Any]
    content_type: str = MERGE
    method: str = "PATCH"
    done: Callable[[int], None] | None = None
    tries: int = 0
    """How often it has met a 403 or a 500."""


class Patcher:
    """Sends writes by key; ``at_once`` are in flight at the most."""

    def __init__(self, client: Client, at_once: int = 4, clock: Callable[[], float] = time.monotonic) -> None:
        self.client = client
        self.sent = 0
        self.dropped = 0
        self._at_once = at_once
        self._clock = clock
        self._waiting: dict[str, Write] = {}
        self._lines: dict[str, dict[str, None]] = {}
        """The keys of what waits, by line, the line whose turn is next first."""
        self._under_way: dict[str, tuple[str, float]] = {}
        """The line of what is under way, and since when."""
        self._slow: set[str] = set()
        self._pointless: set[str] = set()
        """What is under way and has become pointless: it is not sent again."""
        self._refused: dict[str, asyncio.TimerHandle] = {}
        """What met a 403 and is sent again later."""
        self._unheard: dict[str, asyncio.TimerHandle] = {}
        """What met a 500 and is sent again later."""
        self._more = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self._quiet_until = float("-inf")
        self._warned: dict[str, float] = {}

    def submit(self, key: str, write: Write) -> None:
        """Queue a write; one of the same key that has not been sent is replaced and loses its place."""
        self._forget(key)
        self._pointless.discard(key)
        self._queue(key, write)
        self._done.clear()
        self._more.set()

    def _queue(self, key: str, write: Write) -> None:
        self._waiting[key] = write
        self._lines.setdefault(line_of(write.path), {})[key] = None

    def _unqueue(self, key: str) -> Write | None:
        write = self._waiting.pop(key, None)
        if write is not None:
            name = line_of(write.path)
            del self._lines[name][key]
            if not self._lines[name]:
                del self._lines[name]
        return write

    def _next(self) -> str | None:
        """Return the key of the write whose turn it is, None if none may be sent now. Two of one object could change places, so the later one waits."""
        now = self._clock()
        for name, line in self._lines.items():
            since = [start for under_way, start in self._under_way.values() if under_way == name]
            slow = name in self._slow or any(now > start + SLOW for start in since)
            most = 1 if slow else self._at_once if len(self._lines) == 1 else max(1, self._at_once - 1)
            key = next((key for key in line if key not in self._under_way), None) if len(since) < most else None
            if key is not None:
                self._lines[name] = self._lines.pop(name)
                return key
        return None

    def discard(self, key: str) -> None:
        """Forget a write that has become pointless: one that has been sent already is not sent again."""
        self._forget(key)
        if key in self._under_way:
            self._pointless.add(key)
        self._note_end()

    def withdraw(self) -> None:
        """Forget every write that has not been sent, because somebody else may lead."""
        for key in [*self._waiting, *self._refused, *self._unheard]:
            self._forget(key)
        self._pointless.update(self._under_way)
        self._note_end()

    def _forget(self, key: str) -> None:
        self._unqueue(key)
        for later in (self._refused, self._unheard):
            timer = later.pop(key, None)
            if timer is not None:
                timer.cancel()

    def _note_end(self) -> None:
        if not self.waiting:
            self._done.set()

    @property
    def waiting(self) -> int:
        """How many writes are queued, in flight or found no hearing yet; those that met a 403 may never be taken and do not count."""
        return len(self._waiting) + len(self._unheard) + len(self._under_way)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._at_once):
                group.create_task(self._worker(), name=f"status-{number}")

    async def drain(self, seconds: float) -> bool:
        """Wait until everything is written; returns whether it was in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            return False
        return True

    async def _worker(self) -> None:
        while True:
            key = self._next()
            if key is None:
                self._more.clear()
                await self._more.wait()
                continue
            pause = self._quiet_until - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            write = self._unqueue(key)
            assert write is not None
            name, start = line_of(write.path), self._clock()
            self._under_way[key] = (name, start)
            try:
                await self._send(key, write)
            except Exception:
                log.exception("%s %s", write.method, write.path)
            finally:
                del self._under_way[key]
                self._pointless.discard(key)
                if self._clock() > start + SLOW:
                    if len(self._slow) >= MOST_SLOW:
                        self._slow.clear()  # of namespaces that may be gone
                    self._slow.add(name)
                else:
                    self._slow.discard(name)
                if self._waiting:
                    self._more.set()
                self._note_end()

    async def _send(self, key: str, write: Write) -> None:
        try:
            answer = await self.client.request(
                write.method, write.path, write.body, pool="status", content_type=write.content_type
            )
        except Withheld as error:
            log.debug("%s", error)
            return
        except Unreachable as error:
            log.debug("%s %s: %s", write.method, write.path, error)
            self._again(key, write, PAUSE)
            return
        if answer.status == 500:
            self._warn(write, answer.error().message)
            if self._may_come(write):
                self._delay(key, write, min(answer.retry_after or PAUSE * 2 ** min(write.tries, 16), LONGEST_WAIT), self._unheard)
                return
        if answer.status in {401, 429} or answer.status > 500:
            self._again(key, write, min(answer.retry_after or PAUSE, LONGEST_PAUSE))
            return
        if answer.status == 403:
            self._warn(write, answer.error().message)
        if answer.status == 403 and self._may_come(write):  # rights may be given back; a namespace that ends says so too
            self._delay(key, write, min(FIRST_WAIT * 2 ** min(write.tries, 16), LONGEST_WAIT), self._refused)
            return
        if answer.status >= 400:
            self.dropped += 1
            said = answer.error()
            namesake = answer.status == 422 and "metadata.uid" in said.message  # the uid in a patch keeps it off who came later
            level = logging.DEBUG if answer.status in {404, 409} or namesake else logging.WARNING
            log.log(level, "%s %s: %s", write.method, write.path, said)
        else:
            self.sent += 1
        if write.done is not None:
            write.done(answer.status)

    @staticmethod
    def _may_come(write: Write) -> bool:
        """Whether a refused write is tried again: one of a status always, since it goes with its object; an event a few times, or they would pile up."""
        return write.method != "POST" or write.tries < MOST_TRIES

    def _warn(self, write: Write, message: str) -> None:
        """Say that writes of a kind are refused, now and then: as long as the right is missing all of them are."""
        if ENDING in message:
            return
        kind = f"{write.method} {resource_of(write.path)}"
        now = self._clock()
        if now >= self._warned.get(kind, float("-inf")) + WARN_EVERY:
            self._warned[kind] = now
            log.warning("%s is refused, and tried again: %s", kind, message)

    def _delay(self, key: str, write: Write, seconds: float, later: dict[str, asyncio.TimerHandle]) -> None:
        """Send a write again after a while of its own, unless it has become pointless or a newer one has come."""
        if key in self._pointless or key in self._waiting:
            return
        write = write._replace(tries=write.tries + 1)
        later[key] = asyncio.get_running_loop().call_later(seconds, self.submit, key, write)

    def _again(self, key: str, write: Write, seconds: float) -> None:
        """Send a write again after a while in which none is sent."""
        self._quiet_until = self._clock() + seconds
        if key not in self._pointless:
            if key not in self._waiting:
                self._queue(key, write)
            self._more.set()
