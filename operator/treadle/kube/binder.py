"""Binds: many at once, never more than the server likes, and none whose outcome is left unknown.

A bounded number is in flight. It grows while all goes well and is halved by a 429, a 5xx, a time-out or slow answers, as TCP
does; a scheduler that opens thousands of binds at once makes the server time out, and pods are lost. Only a 201 says that a bind
holds, and only a refusal by the API server's own rules says that it does not. Whatever else comes back, or nothing, leaves a
doubt, which is settled by the pod itself (``kube.doubts``); until then the placement stands.

A leader announces what it binds before it sends it, so that its successor knows what may still be under way.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

import msgspec

from treadle.api.identity import Source
from treadle.api.labels import ALLOCATED_APPLICATION, ALLOCATED_QUEUE
from treadle.core.events import BindDone, BindFailed, PodGone, PodSeen
from treadle.kube import translate
from treadle.kube.announcing import Announce
from treadle.kube.doubts import FIRST_WAIT, LONGEST_WAIT, Asked, Doubts
from treadle.kube.errors import Unreachable, Withheld
from treadle.kube.transport import Client, Response

log = logging.getLogger(__name__)

FIRST_LIMIT = 16.0
LONG_QUIET = 2.0
"""Seconds of quiet that the server asks for beyond which nothing waits for its end: what was decided so long ago may not fit by then, so it is decided again."""
MOST_IN_DOUBT = 400
"""Binds in doubt beyond which none is decided until some are settled: with those on their way their names fit into the 256 KiB that an announcement may have."""
WEBHOOK_FAILED = 'Internal error occurred: failed calling webhook "'
"""How a 500 begins by which the API server says that an admission webhook could not be asked: it has refused the bind before it stored anything."""
Outcome = BindDone | BindFailed | PodSeen | PodGone


class Placement(NamedTuple):
    """A pod to bind: its identity, the node, and what is written on it with the bind."""

    uid: str
    namespace: str
    name: str
    node: str
    queue: str = ""
    application: str = ""
    version: str = ""
    """The resourceVersion that the pod must still have."""
    notes: tuple[tuple[str, str], ...] = ()
    """Further annotations."""


class _Meta(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str]
    resource_version: str = ""


class _Target(msgspec.Struct, gc=False, rename="camel"):
    name: str
    api_version: str = "v1"
    kind: str = "Node"


class _Binding(msgspec.Struct, gc=False, rename="camel"):
    metadata: _Meta
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


class Binder:
    """Binds placements; ``report`` gets every outcome as events of the core.

    ``limit`` is how many may be in flight at present, between ``least`` and ``most``; ``patience`` is the latency in seconds
    above which the server is taken to be overloaded; ``clock`` is monotonic, in seconds. ``announce`` is asked before anything is
    sent.
    """

    def __init__(
        self,
        client: Client,
        report: Callable[[Outcome], None],
        *,
        least: int = 4,
        most: int = 64,
        patience: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        announce: Announce | None = None,
        users: Source = Source.NAMESPACE,
    ) -> None:
        self.client, self._users = client, users
        self.limit: float = min(FIRST_LIMIT, most)
        self.bound = 0
        self.failed = 0
        self.unknown = 0
        self.in_flight = 0
        self.doubts = Doubts(client)
        self.seconds: float = 0.0
        """The sum of the latencies of all answered binds."""
        self.took: Callable[[float], None] = _nobody
        """Is told the latency of each, in seconds."""
        self.away: float = 0.0
        """Seconds that went to passes, counted by who makes them: an answer that comes meanwhile is not slow."""
        self._report = report
        self._least, self._most, self._patience, self._clock = min(least, most), most, patience, clock
        self._announce = announce
        # An announcement takes as long as a bind: more are decided while it is written.
        self._ahead = 2 if announce is None else 4
        self._unannounced: deque[Placement] = deque()
        self._waiting: deque[Placement] = deque()
        self._under_way: dict[str, Placement] = {}
        self._questions: asyncio.Queue[Placement] = asyncio.Queue()
        self._asked: set[str] = set()
        self._in_doubt: dict[str, Placement] = {}
        self._idle: list[asyncio.Future[None]] = []
        """What the workers wait on that have nothing to send; each is told by itself."""
        self._grown = asyncio.Event()
        self._to_announce = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self._encode = msgspec.json.Encoder().encode
        self._backed_off = float("-inf")
        self._not_before = float("-inf")

    def room(self) -> int:
        """Return how many placements to decide now: enough to keep the pipeline full, few enough to decide late."""
        if len(self._in_doubt) >= MOST_IN_DOUBT or self._quiet() > LONG_QUIET:
            return 0
        doubts = min(len(self._in_doubt), int(self.limit))  # a server that answers nothing is not sent more and more
        return max(0, int(self._ahead * self.limit) - len(self._unannounced) - len(self._waiting) - self.in_flight - doubts)

    @property
    def settled(self) -> bool:
        """Whether nothing is queued, under way or in doubt."""
        return not self._under_way

    def submit(self, placement: Placement) -> None:
        """Queue a placement."""
        self._under_way[placement.uid] = placement
        self._done.clear()
        if self._announce is None:
            self._waiting.append(placement)
            self._wake()
        else:
            self._unannounced.append(placement)
            self._to_announce.set()

    def verify(self, placement: Placement) -> None:
        """Ask what became of a placement of which nothing has been heard; one that is still under way is not asked about, it reports itself."""
        if placement.uid not in self._under_way and placement.uid not in self._asked:
            self._asked.add(placement.uid)
            self._questions.put_nowait(placement)

    def withdraw(self, uids: Container[str] | None = None) -> list[Placement]:
        """Take back what has not been sent, of all pods or of some."""
        taken = [one for one in (*self._waiting, *self._unannounced) if uids is None or one.uid in uids]
        for line in (self._waiting, self._unannounced):
            kept = [one for one in line if uids is not None and one.uid not in uids]
            line.clear()
            line.extend(kept)
        for placement in taken:
            self._forget(placement)
        return taken

    async def settle(self, pods: Iterable[Asked]) -> None:
        """Return when no bind that a predecessor announced can take place any more; each of its pods is reported as it is."""
        async with asyncio.TaskGroup() as group:
            for asked in pods:
                group.create_task(self._inherit(asked))

    async def run(self) -> None:
        """Bind until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._most):
                group.create_task(self._worker(number, group), name=f"bind-{number}")
            if self._announce is not None:
                group.create_task(self._announcing(self._announce), name="announce")
            while True:
                placement = await self._questions.get()
                group.create_task(self._answer(placement), name=f"verify-{placement.name}")

    async def drain(self, seconds: float) -> bool:
        """Wait until nothing is queued, in flight or in doubt; returns whether that was so in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        """Let one worker look for something to send, the one that has waited least: its connection is open."""
        while self._idle:
            turn = self._idle.pop()
            if not turn.done():
                turn.set_result(None)
                return

    def _forget(self, placement: Placement) -> None:
        self._under_way.pop(placement.uid, None)
        if not self._under_way:
            self._done.set()

    async def _announcing(self, announce: Announce) -> None:
        """Announce what is queued, all of it at once, together with what is under way; then it may be sent."""
        wait = FIRST_WAIT
        while True:
            if not self._unannounced:
                self._to_announce.clear()
                await self._to_announce.wait()
            batch = tuple(self._unannounced)
            try:
                written = await announce([f"{one.namespace}/{one.name}/{one.uid}" for one in self._under_way.values()])
            except Exception:
                log.exception("binds could not be announced")
                written = False
            if not written:
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
                continue
            wait = FIRST_WAIT
            for placement in batch:  # all of them may have been withdrawn meanwhile
                if self._unannounced and self._unannounced[0] is placement:
                    self._waiting.append(self._unannounced.popleft())
                    self._wake()

    async def _worker(self, number: int, group: asyncio.TaskGroup) -> None:
        waiting, idle, loop = self._waiting, self._idle, asyncio.get_running_loop()
        while True:
            while number >= self.limit or not waiting:
                if number >= self.limit:
                    self._grown.clear()
                    await self._grown.wait()
                else:
                    turn = loop.create_future()
                    idle.append(turn)
                    await turn
                    if number >= self.limit:
                        self._wake()
            placement = waiting.popleft()
            self.in_flight += 1
            try:
                doubt = await self._bind(placement)
            except Exception as error:
                log.exception("bind of %s/%s to %s", placement.namespace, placement.name, placement.node)
                doubt = _Doubt(repr(error))
            finally:
                self.in_flight -= 1
            if doubt is None:
                self._forget(placement)
            else:
                self._in_doubt[placement.uid] = placement
                group.create_task(self._settle(placement, doubt), name=f"settle-{placement.name}")

    async def _bind(self, placement: Placement) -> "_Doubt | None":
        """Send one bind.

        Returns what is in doubt about it, None where the answer says what became of it, which is reported then.
        """
        while (pause := self._quiet()) > 0:
            if pause > LONG_QUIET:
                self._report(BindFailed(placement.uid, "transient", f"not sent: the API server asks for {pause:.0f} s of quiet"))
                return None
            await asyncio.sleep(pause)
        body = _Binding(
            _Meta(
                placement.name,
                placement.namespace,
                placement.uid,
                {ALLOCATED_QUEUE: placement.queue, ALLOCATED_APPLICATION: placement.application, **dict(placement.notes)}
                if placement.queue
                else {},
                placement.version,
            ),
            _Target(placement.node),
        )
        start, away = self._clock(), self.away
        try:
            answer = await self.client.request("POST", f"{_asked(placement).path}/binding", self._encode(body), pool="bind")
        except Withheld as error:
            self._report(BindFailed(placement.uid, "transient", str(error)))
            return None
        except Unreachable as error:
            self._back_off(None)
            self.unknown += 1
            log.info(
                "bind of %s/%s to %s: no answer (%s), asking for the pod",
                placement.namespace,
                placement.name,
                placement.node,
                error,
            )
            return _Doubt("no answer, and the pod is not bound")
        took = self._clock() - start
        self.seconds += took
        self.took(took)
        if answer.status == 201:
            self.bound += 1
            if took - (self.away - away) > self._patience:
                self._back_off(None)
            elif self.limit < self._most:
                self._grow()
            self._report(BindDone(placement.uid))
            return None
        return self._refused(placement, answer)

    def _refused(self, placement: Placement, answer: Response) -> "_Doubt | None":
        self.failed += 1
        message = answer.error().message
        if answer.status in {404, 409}:
            return _Doubt(message, refused=True, fence=False)
        by_webhook = answer.status == 500 and message.startswith(WEBHOOK_FAILED)
        if (answer.status == 429 or answer.status >= 500) and not by_webhook:
            self._back_off(answer.retry_after)
        log.warning("bind of %s/%s to %s: %d %s", placement.namespace, placement.name, placement.node, answer.status, message)
        words = f"{answer.status} {message}"
        if answer.status in _NOT_DONE or by_webhook:
            self._report(BindFailed(placement.uid, "transient", words))
            return None
        return _Doubt(words, fence=answer.status != 429)

    async def _settle(self, placement: Placement, doubt: "_Doubt") -> None:
        """Find out what became of a bind, and report it."""
        try:
            pod = await self.doubts.settle(_asked(placement), fence=doubt.fence)
            if pod is None:
                self._report(PodGone(placement.uid))
                return
            seen = translate.pod(pod, self._users)
            if seen.node == placement.node:
                self.bound += 1
                self._report(BindDone(placement.uid))
            elif seen.node:
                self._report(PodSeen(seen, answer=True))
            else:
                self._report(BindFailed(placement.uid, "refused" if doubt.refused else "transient", doubt.words))
                self._report(PodSeen(seen, known=True))
        except Exception:  # the placement stands, and the core asks for it again when it is overdue
            log.exception("asking for %s/%s", placement.namespace, placement.name)
        finally:
            self._in_doubt.pop(placement.uid, None)
            self._forget(placement)

    async def _answer(self, placement: Placement) -> None:
        """Answer the question what became of a placement, unless it has been placed anew meanwhile."""
        try:
            pod = await self.doubts.settle(_asked(placement))
            if placement.uid in self._under_way:
                return
            if pod is None:
                self._report(PodGone(placement.uid))
                return
            seen = translate.pod(pod, self._users)
            if seen.node:
                self._report(PodSeen(seen, answer=True))
            else:
                self._report(BindFailed(placement.uid, "transient", "no answer, and the pod is not bound"))
        except Exception:
            log.exception("asking for %s/%s", placement.namespace, placement.name)
        finally:
            self._asked.discard(placement.uid)

    async def _inherit(self, asked: Asked) -> None:
        pod = await self.doubts.settle(asked)
        self._report(PodGone(asked.uid) if pod is None else PodSeen(translate.pod(pod, self._users), known=True))

    def _grow(self) -> None:
        """Let one more be in flight once as many binds as may be now have gone well."""
        before = self.limit
        self.limit = min(self._most, before + 1.0 / before)
        if math.ceil(self.limit) > math.ceil(before):
            self._grown.set()

    def _back_off(self, retry_after: float | None) -> None:
        """Halve the number in flight, at most twice a second, and keep quiet for as long as the server asks."""
        now = self._clock()
        if now - self._backed_off > 0.5:
            self._backed_off = now
            self.limit = max(self._least, self.limit / 2)
        if retry_after is not None:
            self._not_before = now + min(retry_after, 30.0)
            if self._quiet() > LONG_QUIET:
                for placement in self.withdraw():
                    words = f"not sent: the API server asks for {retry_after:.0f} s of quiet"
                    self._report(BindFailed(placement.uid, "transient", words))

    def _quiet(self) -> float:
        """Return for how many seconds more the server asks to be left alone."""
        return self._not_before - self._clock()


class _Doubt(NamedTuple):
    """Why the outcome of a bind is not known.

    ``refused``: the server would not take it as the pod is; ``fence``: it may still be carried out.
    """

    words: str
    refused: bool = False
    fence: bool = True


_NOT_DONE = frozenset({400, 401, 403, 405, 406, 413, 414, 415, 422, 431})
"""What the server answers where it does nothing: the request is not well-formed, not allowed or not valid."""


def _asked(placement: Placement) -> Asked:
    return Asked(placement.uid, placement.namespace, placement.name, placement.version, placement.node)


def _nobody(seconds: float) -> None:
    """Take no note."""
    del seconds
