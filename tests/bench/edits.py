"""What the edit of one queue costs among many, under both disciplines: the event handled and the next pass, in milliseconds of the processor.

Queues are in groups of twenty below the root, with weights for both disciplines; every fifth of some 5,000 applications has pods
on nodes. Edits of all kinds come in turn: a weight, a maximum, a limit on users, a leaf that is added or removed, and a queue
that an application makes and leaves. A series of edits ends early where it takes very long.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import Event, NodeSeen, PodGone, PodSeen, QueueGone, QueueSeen, SchedulerSeen
from treadle.core.model import CAPACITY, FAIR, Limit, NodeSpec, PlacementRule, PodSpec, QueueSpec, SchedulerSpec
from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    PartitionShare,
    Portion,
)
from treadle.runtime.garbage import YOUNG

SIZES = (200, 1_000, 5_000)
GROUP = 20
APPLICATIONS, NODES = 5_000, 200
LONGEST_SERIES = 60.0
GIB = 1 << 30
WHOLE = Capacity(Portion(Kind.PERCENT, 100.0))
SETTINGS = CapacitySettings(
    precise=True, all_types=True, least={"memory": 1, "cpu": 1}, max_priority=10, idle_before_removal=1.0, removal_interval=1.0
)
RULES = (PlacementRule("specified"), PlacementRule("reject"))
EDITED, MADE = ("weight", "maximum", "user limit", "added", "removed"), ("made", "unmade")

Step = Callable[[], None]


def queue(path: str, weight: float = 1.0, most: float = 100.0, user_limit: float = 100.0, *, makes: bool = False) -> QueueSpec:
    share = PartitionShare(Capacity(Portion(Kind.WEIGHT, weight)), Capacity(Portion(Kind.PERCENT, most)))
    spec = CapacityQueueSpec(path, partitions={"": share}, user_limit=user_limit, flexible=FlexibleCreation(enabled=makes))
    limits = {"cpu": Limit(percent=most), "memory": Limit(percent=most)}
    return QueueSpec(
        path, weight=weight, maximum=limits, max_running=int(user_limit) * 1000, holds_queues=makes, capacity=spec, submit=None
    )


def pod(name: str, path: str, application: str) -> PodSpec:
    demand = (("cpu", 100), ("memory", GIB // 8), ("pods", 1))
    return PodSpec(
        uid=name, namespace="bench", name=name, scheduler="treadle", demand=demand, application=f"bench/{application}", queue=path
    )


class Cluster:
    """A core with a tree of queues, applications in their leaves, and a clock."""

    def __init__(self, discipline: str, queues: int, *, ruled: bool) -> None:
        self.core, self.now = Core(), 1.0
        rules = RULES if ruled else None
        self.tell(SchedulerSeen(SchedulerSpec(discipline=discipline, capacity=SETTINGS, rules=rules)))
        for number in range(NODES):
            self.tell(NodeSeen(NodeSpec(f"node-{number}", {"cpu": 32_000, "memory": 128 * GIB, "pods": 110})))
        self.groups = [f"root.d{number}" for number in range(queues // (GROUP + 1))]
        self.leaves = [f"{group}.q{number}" for group in self.groups for number in range(GROUP)]
        self.tell(QueueSeen(queue("root.made", makes=True)))
        for number, path in enumerate((*self.groups, *self.leaves)):
            self.tell(QueueSeen(queue(path, 1.0 + number % 3)))
        for number in range(APPLICATIONS):
            path = self.leaves[number % len(self.leaves)]
            self.tell(PodSeen(pod(f"pod-{number}", path, f"app-{number}")))
        self.plan(APPLICATIONS // 5)
        for _ in range(5):
            self.now += 10.0
            self.plan(0)

    def tell(self, event: Event) -> None:
        self.core.handle(event, self.now)

    def plan(self, budget: int = 0) -> None:
        for effect in self.core.plan(self.now, budget):
            if isinstance(effect, Bind):
                spec = self.core.state.pods[effect.uid].spec
                self.tell(PodSeen(_bound(spec, effect)))

    def rounds(self, kinds: Sequence[str]) -> Iterator[tuple[str, Step]]:
        """Yield edits of some kinds in turn; each is done before the next one is asked for."""
        number = 0
        while True:
            number += 1
            leaf, group = self.leaves[number * 37 % len(self.leaves)], self.groups[number % len(self.groups)]
            added, made = f"{group}.new{number}", f"root.made.user{number}"
            events: dict[str, Event | None] = {
                "weight": QueueSeen(queue(leaf, 4.0)),
                "maximum": QueueSeen(queue(leaf, 4.0, 50.0)),
                "user limit": QueueSeen(queue(leaf, 4.0, 50.0, 25.0)),
                "added": QueueSeen(queue(added)),
                "removed": QueueGone(added),
                "made": PodSeen(pod(made, made, made)),
                "unmade": None,
            }
            for kind in kinds:
                if kind == "unmade":
                    self.leave(made)
                event = events[kind]
                yield kind, partial(self.tell, event) if event is not None else lambda: None

    def leave(self, pod_name: str) -> None:
        """Let a pod go, and time pass until its queue is to be removed with the next pass."""
        self.tell(PodGone(pod_name))
        self.plan()
        self.now += 2.0
        self.plan()
        self.now += 11.0

    def edited(self, kinds: Sequence[str], edits: int) -> dict[str, list[float]]:
        """Return the milliseconds of each edit and the pass after it, by its kind."""
        found: dict[str, list[float]] = {}
        begun = time.process_time()
        for count, (kind, step) in enumerate(self.rounds(kinds)):
            if count >= edits or (count >= len(kinds) and time.process_time() > begun + LONGEST_SERIES):
                break
            self.now += 1.0
            before = time.process_time()
            step()
            self.plan()
            found.setdefault(kind, []).append(1000 * (time.process_time() - before))
        return found


def _bound(spec: PodSpec, bind: Bind) -> PodSpec:
    fields = {name: getattr(spec, name) for name in ("uid", "namespace", "name", "scheduler", "demand", "application", "queue")}
    return PodSpec(**fields, node=bind.node, held_in=bind.queue)


def series(discipline: str, queues: int) -> dict[str, Any]:
    """Return the times of edits in a tree; queues are made by placement rules under the fair discipline, in a cluster of their own."""
    found: dict[str, list[float]] = {}
    for kinds, edits in ((EDITED, 40), (MADE, 16)):
        cluster = Cluster(discipline, queues, ruled=discipline == FAIR and kinds is MADE)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*YOUNG)
        found.update(cluster.edited(kinds, edits))
        gc.unfreeze()
        state = cluster.core.state
        assert (state.discipline.name, state.tree.problems) == (discipline, {})
        del cluster, state
    every = [each for times in found.values() for each in times]
    return {
        "edits": len(every),
        "median_ms": round(statistics.median(every), 2),
        "longest_ms": round(max(every), 2),
        "median_ms_by_kind": {kind: round(statistics.median(times), 2) for kind, times in found.items()},
    }


def measure() -> dict[str, Any]:
    return {
        "benchmark": "edits",
        "applications": APPLICATIONS,
        **{discipline.lower(): {str(size): series(discipline, size) for size in SIZES} for discipline in (FAIR, CAPACITY)},
    }
