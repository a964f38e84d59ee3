"""A kubelet for all nodes of the demo: bound pods start, run for as long as they say, end; what is deleted vanishes.

Like a kubelet it checks a pod again when it arrives and refuses what does not fit its node (phase Failed, reason OutOfcpu and the like),
so that a scheduler that overcommits is seen.
"""

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Awaitable, Callable
from itertools import count

from treadle.core import resources
from treadle.fakeapi import pods
from treadle.fakeapi.errors import Json
from treadle.fakeapi.objects import Objects
from treadle.fakeapi.store import Event, Key

RUN_SECONDS = "demo.treadle.dev/run-seconds"


class Ticker:
    """The life of bound pods. `speed` divides all durations; `start_seconds` and `stop_seconds` are the time to start and to vanish.

    ``step(now)`` does what is due, for tests and loops of one's own; ``run`` does so for ever, every `interval` seconds.
    """

    def __init__(
        self,
        api: Objects,
        *,
        speed: float = 1.0,
        start_seconds: float = 1.0,
        stop_seconds: float = 1.0,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.api, self.speed, self.start_seconds, self.stop_seconds = api, speed, start_seconds, stop_seconds
        self._clock, self._sleep = clock or api.clock, sleep
        self._due: list[tuple[float, int, Key, str]] = []
        self._order = count()
        self._charged: dict[Key, tuple[str, dict[str, int]]] = {}
        self._used: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._arrived: list[Key] = []
        collection = api.store.collections["pods"]
        self._arrived += collection.entries
        collection.listeners.append(self._see)

    async def run(self, interval: float = 0.1) -> None:
        """Step until cancelled."""
        while True:
            self.step(self._clock())
            await self._sleep(interval)

    def step(self, now: float) -> int:
        """Do what is due at `now`; returns the number of pods that were changed."""
        arrived, self._arrived = self._arrived, []
        for key in dict.fromkeys(arrived):
            entry = self.api.store.collections["pods"].entries.get(key)
            if entry is not None:
                self._plan(key, entry.obj, now)
        changed = 0
        while self._due and self._due[0][0] <= now:
            _, _, key, uid = heapq.heappop(self._due)
            entry = self.api.store.collections["pods"].entries.get(key)
            if entry is not None and entry.obj["metadata"]["uid"] == uid:
                self._advance(key, entry.obj, now)
                changed += 1
        return changed

    def _see(self, event: Event) -> None:
        pod = event.last.obj
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if event.new is None or pod["status"].get("phase") in pods.FINISHED:
            node, asked = self._charged.pop(key, ("", {}))
            for name, value in asked.items():
                self._used[node][name] -= value
        before = event.old.obj if event.old else {"spec": {}, "metadata": {}}
        came = pod["spec"].get("nodeName") and not before["spec"].get("nodeName")
        if event.new is not None and (
            came or (pod["metadata"].get("deletionTimestamp") and not before["metadata"].get("deletionTimestamp"))
        ):
            self._arrived.append(key)

    def _plan(self, key: Key, pod: Json, now: float) -> None:
        if not pod["spec"].get("nodeName") or pod["status"].get("phase") in pods.FINISHED:
            return
        going = pod["metadata"].get("deletionTimestamp")
        self._later(
            now, min(self.stop_seconds, pod["metadata"]["deletionGracePeriodSeconds"]) if going else self.start_seconds, key, pod
        )

    def _later(self, now: float, seconds: float, key: Key, pod: Json) -> None:
        heapq.heappush(self._due, (now + seconds / self.speed, next(self._order), key, pod["metadata"]["uid"]))

    def _advance(self, key: Key, pod: Json, now: float) -> None:
        namespace, name = key
        if pod["metadata"].get("deletionTimestamp"):
            self.api.delete("pods", name, namespace, {"gracePeriodSeconds": 0})
        elif pod["status"].get("phase") == "Pending":
            short = self._admit(key, pod)
            if short:
                text = f"Pod was rejected: Node didn't have enough resource: {short}"
                self._write(pod, pod["status"] | {"phase": "Failed", "reason": f"OutOf{short}", "message": text})
                return
            status = pod["status"] | {"phase": "Running", "startTime": self.api.now()}
            for kind in ("Initialized", "ContainersReady", "Ready"):
                status = pods.with_condition(status, kind, "True", self.api.now())
            self._write(pod, status)
            seconds = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
            if seconds is not None:
                self._later(now, float(seconds), key, pod)
        elif pod["status"].get("phase") == "Running":
            status = pod["status"] | {"phase": "Succeeded"}
            for kind in ("ContainersReady", "Ready"):
                status = pods.with_condition(status, kind, "False", self.api.now(), "PodCompleted")
            self._write(pod, status)

    def _admit(self, key: Key, pod: Json) -> str:
        """Charge the pod to its node, or name the resource that is short there."""
        node = pod["spec"]["nodeName"]
        entry = self.api.store.collections["nodes"].entries.get(("", node))
        allocatable = ((entry.obj if entry else {}).get("status") or {}).get("allocatable") or {}
        asked = pods.requests(pod) | {"pods": 1}
        for name, value in asked.items():
            if value and self._used[node][name] + value > resources.amount(name, allocatable.get(name, 0)):
                return name
        for name, value in asked.items():
            self._used[node][name] += value
        self._charged[key] = (node, asked)
        return ""

    def _write(self, pod: Json, status: Json) -> None:
        self.api.update("pods", pod | {"status": status}, "status")
