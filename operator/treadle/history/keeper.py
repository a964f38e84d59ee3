"""Keeps the history while the scheduler runs: takes events in on the loop, and writes from time to time in a thread of its own.

Nothing here holds up a pass: taking an event in costs microseconds, and what cannot be written waits, ``MOST`` records at the most; beyond that the oldest
are dropped and counted. Only the leader writes. A standby takes events in as well, so that it can go on with the runs under way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from treadle.core.events import PodGone, PodRefused, PodSeen
from treadle.history.runs import FAILED, SUCCEEDED, Runs
from treadle.history.said import Said
from treadle.history.store import OtherVersion, QueueSample, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from treadle.core.events import Event
    from treadle.core.views.view import View
    from treadle.history.runs import Run
    from treadle.kube.recorder import Told

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two looks at what is to be written."""
UNDER_WAY_EVERY, QUEUES_EVERY, PRUNE_EVERY = 60.0, 300.0, 3600.0
"""Seconds after which runs under way are written as they are by then, queues are sampled, and what is too old is deleted."""
MOST = 10_000
"""Records that wait to be written at the most, of each kind."""
STANDBY = 300.0
"""Seconds for which a standby keeps runs that are over, for the case that the leader ends before it has written them."""
DAY = 86_400.0


class Keeper:
    """Keeps the history in a store. ``days`` is how long it is kept, ``clock`` gives seconds since 1970."""

    def __init__(
        self, store: Store, view: Callable[[], View], days: float = 90.0, clock: Callable[[], float] = time.time
    ) -> None:
        self.store, self.days = store, days
        self.written = self.dropped = self.failures = 0
        self.watched_from = float("inf")
        """Since when all that happens has been taken in; infinite while the first lists are under way."""
        self.problem = ""
        """Why the last write failed; empty if it did not."""
        self._view, self._clock = view, clock
        self._runs = Runs()
        self._over: deque[tuple[float, Run]] = deque()
        self._changed: dict[str, Run] = {}
        self._queues: deque[QueueSample] = deque()
        self._said: deque[Said] = deque()
        self._due = dict.fromkeys(("under way", "queues", "prune"), 0.0)
        self._leads = False
        self._thread = ThreadPoolExecutor(1, "history")

    @property
    def waiting(self) -> int:
        """How many records wait to be written."""
        return len(self._over) + len(self._changed) + len(self._queues) + len(self._said)

    @property
    def trouble(self) -> str:
        """What to tell of the store where it could not be written, empty where it could."""
        return f"the history in {self.store.name} cannot be written: {self.problem}" if self.problem else ""

    def note(self, event: Event) -> None:
        """Take an event in after the core has handled it."""
        kind = type(event)
        if kind is not PodSeen and kind is not PodGone and kind is not PodRefused:
            return
        now = self._clock()
        if isinstance(event, PodGone):
            self._runs.left(now, event.uid)
            return
        if isinstance(event, PodRefused):
            self._runs.left(now, event.pod.uid, FAILED)
            return
        assert isinstance(event, PodSeen)
        pod = event.pod
        if not pod.node or self._runs.knows(pod.uid):
            return
        found = self._view().pod(pod.uid)
        if found is None or not found.node:
            return
        application = self._view().application(found.application)
        user = "" if application is None else application.user
        self._runs.on_node(now, pod.uid, found.application, found.queue, user, pod.demand, pod.created)

    def ended(self, uid: str, succeeded: bool) -> None:
        """Take in that a pod ended by itself; this may come before or after it leaves its node."""
        self._runs.ended(uid, SUCCEEDED if succeeded else FAILED)

    def hear(self, told: Told) -> None:
        """Take in what was said in an event of the API server, but for that pods were bound, which their runs have."""
        if told.reason == "Scheduled":
            return
        application, queue = told.application, told.queue
        if told.kind == "Application":
            application = application or f"{told.namespace}/{told.name}"
        elif told.kind == "Pod" and not (application and queue):
            pod = self._view().pod(told.uid)
            if pod is not None:
                application, queue = application or pod.application, queue or pod.queue
        self._said.append(Said(self._clock(), told.reason, told.kind, told.namespace, told.name, application, queue, told.note))

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Write until cancelled, while we may. Called once what there was at the start has been taken in."""
        self.watched_from = self._clock()
        while True:
            await asyncio.sleep(EVERY)
            await self.look(leads=may_write())

    async def look(self, *, leads: bool) -> None:
        """Gather what there is to write, and write it if we lead."""
        now = self._clock()
        self._over += [(now, run) for run in self._runs.over(now)]
        for _, run in self._over:
            if self._changed.get(run.application) is run:
                del self._changed[run.application]
        began, self._leads = leads and not self._leads, leads
        if not leads:
            while self._over and self._over[0][0] < now - STANDBY:
                self._over.popleft()
            self._changed.clear()
            self._queues.clear()
            self._said.clear()
            return
        if began:
            self._due = {"under way": now, "queues": now, "prune": now}
            await self._in_thread(self.store.forget)
            self._runs.change_all()
        if now >= self._due["under way"]:
            self._due["under way"] = now + UNDER_WAY_EVERY
            self._changed |= {run.application: run for run in self._runs.changed()}
        if now >= self._due["queues"]:
            self._due["queues"] = now + QUEUES_EVERY
            self._queues += self._sample(now)
        self._drop()
        await self._write(now)
        if not self.problem and now >= self._due["prune"]:
            self._due["prune"] = now + PRUNE_EVERY
            await self._prune(now)

    def _sample(self, now: float) -> list[QueueSample]:
        return [
            QueueSample(
                queue.path,
                now,
                dict(queue.used),
                dict(queue.pending),
                dict(queue.here.guaranteed),
                queue.running,
                queue.accepted,
                queue.waiting_pods,
            )
            for queue in self._view().queues()
        ]

    def _drop(self) -> None:
        for waiting in (self._over, self._queues, self._said):
            while len(waiting) > MOST:
                waiting.popleft()
                self.dropped += 1

    async def _write(self, now: float) -> None:
        over, changed, queues = list(self._over), list(self._changed.values()), list(self._queues)
        said = list(self._said)
        if not over and not changed and not queues and not said:
            return
        # Runs under way change while the thread reads them, so it is given what they are now.
        held = [run.copied() for run in changed]
        if await self._try(self.store.write, [run for _, run in over], held, queues, now, self.watched_from, said):
            self.written += len(over) + len(changed) + len(queues) + len(said)
            for waiting, count in ((self._over, len(over)), (self._queues, len(queues)), (self._said, len(said))):
                for _ in range(count):
                    waiting.popleft()
            self._changed.clear()

    async def _prune(self, now: float) -> None:
        """Delete what is too old; the first time also end the runs that ended while nobody watched."""
        if await self._try(self.store.end_orphans, self._runs.under_way() | {run.application for _, run in self._over}):
            await self._try(self.store.prune, now - self.days * DAY, now - self.days * DAY)

    async def _try(self, call: Callable[..., Any], *args: Any) -> bool:
        try:
            await self._in_thread(call, *args)
        except (SQLAlchemyError, OSError, OtherVersion) as error:
            self.failures += 1
            said = str(getattr(error, "orig", None) or error)[:300]
            if not self.problem:
                log.warning("the history in %s cannot be written: %s; %d records wait", self.store.name, said, self.waiting)
            self.problem = said
            return False
        if self.problem:
            log.info("the history in %s is written again; %d records were dropped", self.store.name, self.dropped)
        self.problem = ""
        return True

    async def _in_thread(self, call: Callable[..., Any], *args: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    async def close(self) -> None:
        """Write what there is if we lead, and close the store."""
        if self._leads:
            now = self._clock()
            self._over += [(now, run) for run in self._runs.over(now)]
            self._changed |= {run.application: run for run in self._runs.changed()}
            await self._write(now)
        await self._in_thread(self.store.close)
        self._thread.shutdown(wait=False)
