"""How many ends of pods a second the core answers in a full cluster, without any I/O: each is followed by a pass that places what waits.

Besides, passes after as many ends as come in within the engine's rest between two passes at the rate that is wanted; the live
engine makes such passes. Memory and processor of the pods come in a dozen shapes, so that what an end leaves suits some of them.

A pass is timed with the ends that it answers (``PodGone``, ``plan``). The news of its binds (``BindDone``, ``PodSeen``) is timed
apart, and is in ``ends_with_news_per_s``; making the events is in neither.
"""

import gc
import random
import time
from typing import Any

from bench.core import GIB, LEAVES, PARENTS, capacity
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import BindDone, Event, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import CAPACITY, FAIR, NodeSpec, PodSpec, QueueSpec, SchedulerSpec
from treadle.runtime.engine import BREATH
from treadle.runtime.garbage import YOUNG

NODES, RUNNING, WAITING = 2_000, 20_000, 167_000
APPLICATIONS = (100, 1_000, 10_000)
BUDGET = 128
"""Placements to a pass, as the live engine asks for with its pipeline full."""
WANTED = 10_000
"""Ends a second that the core is to answer; as many come in a second of its clock, so what is done from time to time is done as often as it would be."""
ENDS, SECONDS = 20_000, 8.0
"""Ends that are measured at the most, which are two seconds of the core's clock, and for how long."""
AT_ONCE = round(WANTED * BREATH)
"""Ends that come in while the engine rests, at that rate."""


class Cluster:
    """A cluster in which every node is full, and everything that waits has been told why."""

    def __init__(self, discipline: str, applications: int) -> None:
        self.core, self.now = Core(), 0.0
        self.pods: dict[str, PodSpec] = {}
        self.running: list[str] = []
        self.dice = random.Random(1)
        handle = self.core.handle
        handle(SchedulerSeen(SchedulerSpec(discipline=discipline)), 0.0)
        for number in range(NODES):
            handle(NodeSeen(NodeSpec(f"node-{number}", {"cpu": 13_000, "memory": 22 * GIB, "pods": 110})), 0.0)
        for number in range(PARENTS):
            path, weight = f"root.d{number}", 1 + number % 3
            handle(QueueSeen(QueueSpec(path, weight=weight, capacity=capacity(path, weight))), 0.0)
        for number in range(LEAVES):
            path, weight = f"root.d{number % PARENTS}.q{number}", 1 + number % 5
            handle(QueueSeen(QueueSpec(path, weight=weight, capacity=capacity(path, weight))), 0.0)
        for number in range(RUNNING + WAITING):
            self._pod(number, number % applications)
        while self.plan():
            pass
        assert len(self.core.state.pods) - self.core.state.waiting > RUNNING * 0.8
        for _ in range(3):
            self.now += 10.0
            self.plan()
            while (self.core.next_timer() or self.now + 1.0) <= self.now:
                self.plan()

    def _pod(self, number: int, application: int) -> None:
        leaf = application % LEAVES
        spec = PodSpec(
            uid=f"uid-{number}",
            namespace="bench",
            name=f"pod-{number}",
            scheduler="treadle",
            demand=(("cpu", 500 + 500 * (application % 4)), ("memory", (1 + application % 3) * GIB), ("pods", 1)),
            application=f"bench/app-{application}",
            queue=f"root.d{leaf % PARENTS}.q{leaf}",
            created=float(application),
        )
        self.pods[spec.uid] = spec
        self.core.handle(PodSeen(spec), 0.0)

    def plan(self) -> list[Bind]:
        """Decide what fits; the API server takes it at once."""
        return self.confirm(self.core.plan(self.now, BUDGET))

    def confirm(self, effects: list[Any]) -> list[Bind]:
        """Let the binds of a pass be done and be seen."""
        binds = [effect for effect in effects if isinstance(effect, Bind)]
        for event in self._news(binds):
            self.core.handle(event, self.now)
        return binds

    def _news(self, binds: list[Bind]) -> list[Event]:
        news: list[Event] = []
        for bind in binds:
            spec = self.pods[bind.uid]
            news += [BindDone(bind.uid), PodSeen(PodSpec(**{**_fields(spec), "node": bind.node}))]
            self.running.append(bind.uid)
        return news

    def ends(self, at_once: int) -> tuple[list[float], float]:
        """Let pods end, so many before each pass; returns how long each pass took with the ends that it answers, and the news of all binds."""
        found: list[float] = []
        afterwards = 0.0
        begun, core = time.perf_counter(), self.core
        while len(found) * at_once < ENDS and time.perf_counter() < begun + SECONDS:
            gone = [PodGone(self._running_pod()) for _ in range(at_once)]
            self.now += at_once / WANTED
            start = time.perf_counter()
            for end in gone:
                core.handle(end, self.now)
            effects = core.plan(self.now, BUDGET)
            found.append(time.perf_counter() - start)
            news = self._news([effect for effect in effects if isinstance(effect, Bind)])
            start = time.perf_counter()
            for event in news:
                core.handle(event, self.now)
            afterwards += time.perf_counter() - start
        return found, afterwards

    def _running_pod(self) -> str:
        at = self.dice.randrange(len(self.running))
        self.running[at], self.running[-1] = self.running[-1], self.running[at]
        return self.running.pop()


def _fields(spec: PodSpec) -> dict[str, Any]:
    return {
        name: getattr(spec, name)
        for name in ("uid", "namespace", "name", "scheduler", "demand", "application", "queue", "created")
    }


def told(passes: list[float], afterwards: float, at_once: int) -> dict[str, float]:
    """Ends a second, without and with the news of binds, and in milliseconds the median, the 99th percentile and the longest pass."""
    each = sorted(seconds * 1000 for seconds in passes)
    return {
        "ends_per_s": round(at_once * len(each) * 1000 / sum(each)),
        "ends_with_news_per_s": round(at_once * len(each) / (sum(passes) + afterwards)),
        "p50_ms": round(each[len(each) // 2], 3),
        "p99_ms": round(each[len(each) * 99 // 100], 3),
        "longest_ms": round(each[-1], 3),
    }


def measure() -> dict[str, Any]:
    """Ends with a pass after each, and with as many to a pass as the engine's rest brings, by discipline and the number of applications that wait."""
    found: dict[str, Any] = {"benchmark": "ends", "nodes": NODES, "queues": LEAVES, "waiting": WAITING, "at_once": AT_ONCE}
    for discipline in (FAIR, CAPACITY):
        for applications in APPLICATIONS:
            cluster = Cluster(discipline, applications)
            gc.collect()
            gc.freeze()
            before = gc.get_threshold()
            gc.set_threshold(*YOUNG)
            for at_once in (1, AT_ONCE):
                name = "a pass after each end" if at_once == 1 else f"a pass after {at_once} ends (the engine's rest)"
                found[f"{discipline.lower()}, {applications} applications, {name}"] = told(*cluster.ends(at_once), at_once)
            gc.set_threshold(*before)
            gc.unfreeze()
            cluster.core.check()
            assert cluster.core.state.discipline.name == discipline
            del cluster
    return found
