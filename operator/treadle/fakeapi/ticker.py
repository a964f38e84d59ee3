"""A kubelet for all nodes of the demo: bound pods start, run for as long as they say, end; what is deleted vanishes.

Like a kubelet it checks a pod again when it arrives and refuses what does not fit its node (phase Failed, reason OutOfcpu and the
like), so that a scheduler that overcommits is seen.
"""

import asyncio
import heapq
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from itertools import count

import msgspec

from treadle.core.units.resources import amount
from treadle.fakeapi import pods
from treadle.fakeapi.errors import Json
from treadle.fakeapi.objects import Objects
from treadle.fakeapi.store import Event, Key
from treadle.kube import accounting, wire

RUN_SECONDS = "demo.treadle.dev/run-seconds"


class Ticker:
    """The life of bound pods. `speed` divides all durations, of which two are given: the seconds to start and those to vanish.

    ``step(now)`` does what is due, for tests and loops of one's own; ``run`` does so for ever.
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
        self.api, self.speed, self._clock, self._sleep = api, speed, clock or api.clock, sleep
        self._delays = {"Pending": start_seconds, "Terminating": stop_seconds}
        self._due: list[tuple[float, int, Key, str, str]] = []
        self._order = count()
        self._charged: dict[Key, tuple[str, Counter[str]]] = {}
        self._used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        collection = api.store.collections["pods"]
        for entry in collection.entries.values():
            self._see(Event(0, None, entry, entry))
        collection.listeners.append(self._see)

    async def run(self, interval: float = 0.1) -> None:
        """Step every `interval` seconds until cancelled."""
        while True:
            self.step(self._clock())
            await self._sleep(interval)

    def step(self, now: float) -> int:
        """Do what is due at `now`; returns the number of pods that moved on."""
        moved = 0
        while self._due and self._due[0][0] <= now:
            _, _, key, uid, stage = heapq.heappop(self._due)
            entry = self.api.store.collections["pods"].entries.get(key)
            if entry is not None and entry.obj["metadata"]["uid"] == uid and _stage(entry.obj) == stage:
                self._advance(key, entry.obj, stage)
                moved += 1
        return moved

    def _see(self, event: Event) -> None:
        pod, stage = event.last.obj, _stage(event.last.obj)
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if event.new is None or pod["status"].get("phase") in pods.FINISHED:
            node, asked = self._charged.pop(key, ("", Counter()))
            self._used[node].subtract(asked)
        elif event.old is None or _stage(event.old.obj) != stage:
            seconds = (
                (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS) if stage == "Running" else self._delays.get(stage)
            )
            if seconds is not None:
                due = self._clock() + float(seconds) / self.speed
                heapq.heappush(self._due, (due, next(self._order), key, pod["metadata"]["uid"], stage))

    def _advance(self, key: Key, pod: Json, stage: str) -> None:
        status, now = pod["status"], self.api.now()
        if stage == "Terminating":
            self.api.delete("pods", key[1], key[0], {"gracePeriodSeconds": 0})
            return
        if stage == "Running":
            status = pods.with_condition(status | {"phase": "Succeeded"}, "Ready", "False", now, "PodCompleted")
        elif short := self._short(key, pod):
            text = f"Pod was rejected: Node didn't have enough resource: {short}"
            status = status | {"phase": "Failed", "reason": f"OutOf{short}", "message": text}
        else:
            status = pods.with_condition(status | {"phase": "Running", "startTime": now}, "Ready", "True", now)
        self.api.update("pods", pod | {"status": status}, "status")

    def _short(self, key: Key, pod: Json) -> str:
        """Charge the pod to its node, or name the resource that is short there."""
        entry = self.api.store.collections["nodes"].entries.get(("", pod["spec"]["nodeName"]))
        allocatable = entry.obj.get("status", {}).get("allocatable", {}) if entry else {}
        asked, used = Counter(dict(accounting.demand(msgspec.convert(pod, wire.Pod)))), self._used[pod["spec"]["nodeName"]]
        for name, value in asked.items():
            if used[name] + value > amount(name, allocatable.get(name, 0)):
                return name
        used.update(asked)
        self._charged[key] = (pod["spec"]["nodeName"], asked)
        return ""


def _stage(pod: Json) -> str:
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in pods.FINISHED:
        return ""
    return "Terminating" if pod["metadata"].get("deletionTimestamp") else str(pod["status"].get("phase"))
