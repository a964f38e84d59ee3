"""Binds: many at once, never more than the server likes, and none whose outcome is left unknown.

A bounded number is in flight. It grows while all goes well and is halved by a 429, a 5xx, a time-out or slow answers, as TCP does;
a scheduler that opens thousands of binds at once makes the server time out, and pods are lost. What a failed bind means is
read from the pod itself: after a 409 or no answer at all a GET says whether the bind holds.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from treadle.api.labels import GROUP
from treadle.core.events import BindDone, BindFailed, PodGone, PodSeen
from treadle.kube import translate
from treadle.kube.errors import Unreachable
from treadle.kube.transport import Client, Response
from treadle.kube.wire import Pod

log = logging.getLogger(__name__)

FIRST_LIMIT = 16.0
Outcome = BindDone | BindFailed | PodSeen | PodGone

ALLOCATED_QUEUE = f"{GROUP}/allocated-queue"
ALLOCATED_APPLICATION = f"{GROUP}/allocated-application"


class Placement(NamedTuple):
    """A pod to bind: its identity, the node, and what is written on it with the bind."""

    uid: str
    namespace: str
    name: str
    node: str
    queue: str = ""
    application: str = ""


class _Meta(msgspec.Struct, gc=False):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str]


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

    ``limit`` is how many may be in flight at present, between ``least`` and ``most``; ``patience`` is the latency in seconds above
    which the server is taken to be overloaded; ``clock`` is monotonic, in seconds.
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
    ) -> None:
        self.client = client
        self.limit: float = min(FIRST_LIMIT, most)
        self.bound = 0
        self.failed = 0
        self.unknown = 0
        self.in_flight = 0
        self.seconds: float = 0.0
        """The sum of the latencies of all answered binds."""
        self._report = report
        self._least, self._most, self._patience, self._clock = min(least, most), most, patience, clock
        self._waiting: deque[Placement] = deque()
        self._under_way: set[str] = set()
        self._questions: asyncio.Queue[Placement] = asyncio.Queue()
        self._asked: set[str] = set()
        self._more = asyncio.Event()
        self._grown = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self._encode = msgspec.json.Encoder().encode
        self._pod = msgspec.json.Decoder(Pod)
        self._backed_off = float("-inf")
        self._not_before = float("-inf")

    def room(self) -> int:
        """Return how many placements to decide now: enough to keep the pipeline full, few enough to decide late."""
        return max(0, int(2 * self.limit) - len(self._waiting) - self.in_flight)

    def submit(self, placement: Placement) -> None:
        """Queue a placement."""
        self._waiting.append(placement)
        self._under_way.add(placement.uid)
        self._done.clear()
        self._more.set()

    def verify(self, placement: Placement) -> None:
        """Ask what became of a placement of which nothing has been heard; one that is still under way is not asked about, it reports itself."""
        if placement.uid not in self._under_way and placement.uid not in self._asked:
            self._asked.add(placement.uid)
            self._questions.put_nowait(placement)

    def withdraw(self) -> list[Placement]:
        """Take back what has not been sent."""
        taken = list(self._waiting)
        self._waiting.clear()
        self._under_way.difference_update(placement.uid for placement in taken)
        if not self.in_flight:
            self._done.set()
        return taken

    async def run(self) -> None:
        """Bind until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._most):
                group.create_task(self._worker(number), name=f"bind-{number}")
            group.create_task(self._answer(), name="verify")

    async def drain(self, seconds: float) -> bool:
        """Wait until nothing is queued or in flight; returns whether that was so in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._done.wait()
        except TimeoutError:
            return False
        return True

    async def _worker(self, number: int) -> None:
        waiting, more = self._waiting, self._more
        while True:
            while number >= self.limit or not waiting:
                if number >= self.limit:
                    self._grown.clear()
                    await self._grown.wait()
                else:
                    more.clear()
                    await more.wait()
            placement = waiting.popleft()
            self.in_flight += 1
            try:
                await self._bind(placement)
            except Exception:
                log.exception("bind of %s/%s to %s", placement.namespace, placement.name, placement.node)
                await self._find_out(placement)
            finally:
                self.in_flight -= 1
                self._under_way.discard(placement.uid)
                if not waiting and not self.in_flight:
                    self._done.set()

    async def _answer(self) -> None:
        """Answer questions, one at a time: they are rare."""
        while True:
            placement = await self._questions.get()
            try:
                await self._find_out(placement, asked=True)
            except Exception:
                log.exception("asking for %s/%s", placement.namespace, placement.name)
            finally:
                self._asked.discard(placement.uid)

    async def _bind(self, placement: Placement) -> None:
        while (pause := self._not_before - self._clock()) > 0:  # noqa: ASYNC110 - the server names the time, no event does
            await asyncio.sleep(pause)
        body = _Binding(
            _Meta(
                placement.name,
                placement.namespace,
                placement.uid,
                {ALLOCATED_QUEUE: placement.queue, ALLOCATED_APPLICATION: placement.application} if placement.queue else {},
            ),
            _Target(placement.node),
        )
        start = self._clock()
        try:
            answer = await self.client.request("POST", f"{_path(placement)}/binding", self._encode(body), pool="bind")
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
            await self._find_out(placement)
            return
        took = self._clock() - start
        self.seconds += took
        if answer.status == 201:
            self.bound += 1
            if took > self._patience:
                self._back_off(None)
            elif self.limit < self._most:
                self._grow()
            self._report(BindDone(placement.uid))
            return
        await self._refused(placement, answer)

    async def _refused(self, placement: Placement, answer: Response) -> None:
        self.failed += 1
        message = answer.error().message
        if answer.status in {409, 404}:
            await self._find_out(placement, after=message)
            return
        if answer.status == 429 or answer.status >= 500:
            self._back_off(answer.retry_after)
        log.warning("bind of %s/%s to %s: %d %s", placement.namespace, placement.name, placement.node, answer.status, message)
        self._report(BindFailed(placement.uid, "transient", f"{answer.status} {message}"))

    async def _find_out(self, placement: Placement, after: str = "", *, asked: bool = False) -> None:
        """Ask for the pod until there is an answer, and report what is so; ``asked``: because somebody asked, whom no watch has told."""
        wait = 0.1
        while True:
            try:
                answer = await self.client.request("GET", _path(placement), pool="read", timeout=10)
                if answer.status in {200, 404}:
                    break
            except Unreachable:
                pass
            await asyncio.sleep(wait)
            wait = min(wait * 2, 5.0)
        if asked and placement.uid in self._under_way:
            return
        if answer.status == 404:
            self._report(PodGone(placement.uid))
            return
        try:
            pod = self._pod.decode(answer.body)
        except msgspec.DecodeError as error:  # ours once, and something in it has become unreadable: the watch skips it as well
            self._report(BindFailed(placement.uid, "transient", f"the pod cannot be read: {error}"))
            return
        if pod.metadata.uid != placement.uid:
            self._report(PodGone(placement.uid))
        elif pod.spec is not None and pod.spec.node_name == placement.node:
            if asked:
                self._report(PodSeen(translate.pod(pod), answer=True))
            else:
                self.bound += 1
                self._report(BindDone(placement.uid))
        elif pod.spec is not None and pod.spec.node_name:
            self._report(PodSeen(translate.pod(pod), answer=True))
        else:
            self._report(
                BindFailed(placement.uid, "refused" if after else "transient", after or "no answer, and the pod is not bound")
            )
            if not asked:
                self._report(PodSeen(translate.pod(pod)))

    def _grow(self) -> None:
        """Let one more be in flight once as many binds as may be now have gone well."""
        before = self.limit
        self.limit = min(self._most, before + 1.0 / before)
        if math.ceil(self.limit) > math.ceil(before):
            self._grown.set()
            self._more.set()

    def _back_off(self, retry_after: float | None) -> None:
        """Halve the number in flight, at most twice a second, and keep quiet for as long as the server asks."""
        now = self._clock()
        if now - self._backed_off > 0.5:
            self._backed_off = now
            self.limit = max(self._least, self.limit / 2)
        if retry_after is not None:
            self._not_before = now + min(retry_after, 30.0)


def _path(placement: Placement) -> str:
    return f"/api/v1/namespaces/{placement.namespace}/pods/{placement.name}"
