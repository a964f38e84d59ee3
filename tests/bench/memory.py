"""What a scheduler keeps of what came and went: nodes, pods with their applications, edits of queues; and how long collections of garbage stop it.

Everything goes through ``Core.handle`` and ``plan``, and pods also through the reading of API objects. Sizes are of the process
(RSS, which an allocator gives back late) and of what Python counts itself (``objects`` known to the collector after a full
collection).
"""

import gc
import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import BindDone, NodeGone, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import CAPACITY, FAIR, NodeSpec, PodSpec, QueueSpec, SchedulerSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion
from treadle.runtime.garbage import OFTEN, Garbage, give_back

GIB = 1 << 30
LIVE = int(os.environ.get("MEMORY_LIVE_NODES", "3000"))
"""Nodes that stay."""
CAME_AND_WENT = int(os.environ.get("MEMORY_NODES", "100000"))
BOUND_AND_GONE = int(os.environ.get("MEMORY_PODS", "1000000"))
EDITS = int(os.environ.get("MEMORY_EDITS", "1000"))
MANY_NODES, MANY_PODS = 5_000, 100_000
"""With how many the collections of garbage are measured."""
PARENTS, LEAVES, STAY, AT_ONCE, PLANNED = 10, 100, 2_000, 2_000, 300


class Life:
    """A core in use: ``now`` is moved by what happens, names are never used twice."""

    def __init__(self, discipline: str = FAIR) -> None:
        self.core = Core()
        self.now = 0.0
        self.number = 0
        self.weight = 0
        self.tell(SchedulerSeen(SchedulerSpec(discipline=discipline)))
        for number in range(LIVE):
            self.tell(NodeSeen(_node(f"node-{number}")))
        for number in range(PARENTS):
            self.queue(f"root.d{number}", 1)
        for number in range(LEAVES):
            self.queue(_leaf(number), 1 + number % 5)
        self.bind(STAY)

    def tell(self, *events: Any) -> None:
        for event in events:
            self.core.handle(event, self.now)

    def plan(self) -> list[str]:
        """Plan, let every bind succeed, and return the uids."""
        self.now += 1.0
        bound = [effect for effect in self.core.plan(self.now) if isinstance(effect, Bind)]
        for bind in bound:
            record = self.core.state.pods[bind.uid]
            self.tell(BindDone(bind.uid), PodSeen(_on(record.spec, bind.node)))
        return [bind.uid for bind in bound]

    def bind(self, count: int) -> list[str]:
        """Let new pods come, one in fifty of an application of its own shape and user, and bind them."""
        for _ in range(count):
            self.number += 1
            self.tell(PodSeen(_pod(self.number)))
        return self.plan()

    def pods(self, count: int) -> None:
        """Let pods come, be bound and go."""
        for _ in range(0, count, AT_ONCE):
            for uid in self.bind(AT_ONCE):
                self.tell(PodGone(uid))
            self.plan()

    def nodes(self, count: int, together: int = 1_000) -> None:
        """Let nodes with new names come and go, some at a time; pods are on some of them."""
        for _ in range(0, count, together):
            names = []
            for _ in range(together):
                self.number += 1
                names.append(f"spot-{self.number}")
                self.tell(NodeSeen(_node(names[-1])))
            bound = self.bind(AT_ONCE // 20)
            self.tell(*(NodeGone(name) for name in names), *(PodGone(uid) for uid in bound))
            self.plan()

    def queue(self, path: str, weight: int) -> None:
        share = PartitionShare(Capacity(Portion(Kind.WEIGHT, float(weight))))
        capacity = CapacityQueueSpec(path, partitions={"": share}, user_limit_factor=-1)
        self.tell(QueueSeen(QueueSpec(path, weight=weight, capacity=capacity)))

    def edits(self, count: int) -> None:
        """Edit queues, one between two plans."""
        for _ in range(count):
            self.weight += 1
            self.queue(_leaf(self.weight % LEAVES), 1 + self.weight % 17)
            self.plan()

    def planning(self) -> float:
        """Return how many milliseconds a plan of some hundred pods takes, the best of some."""
        best = float("inf")
        for _ in range(7):
            for _ in range(PLANNED):
                self.number += 1
                self.tell(PodSeen(_pod(self.number)))
            start = time.perf_counter()
            effects = self.core.plan(self.now)
            best = min(best, time.perf_counter() - start)
            bound = [effect.uid for effect in effects if isinstance(effect, Bind)]
            self.tell(*(PodGone(uid) for uid in bound))
            self.plan()
        return best * 1000


def _leaf(number: int) -> str:
    return f"root.d{number % PARENTS}.q{number}"


def _node(name: str) -> NodeSpec:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{len(name) % 3}"}
    return NodeSpec(name, {"cpu": 32_000, "memory": 128 * GIB, "pods": 110}, labels)


def _pod(number: int) -> PodSpec:
    application = number // 50
    odd = number if number % 50 == 0 else application % 4  # one in fifty is like no other
    return PodSpec(
        uid=f"uid-{number}",
        namespace=f"ns-{application % 500}",
        name=f"pod-{number}",
        scheduler="treadle",
        demand=(("cpu", 500), ("memory", GIB + odd), ("pods", 1)),
        application=f"ns-{application % 500}/app-{application}",
        queue=_leaf(application % LEAVES),
        user=f"user-{application}",
        created=float(application),
    )


def _on(spec: PodSpec, node: str) -> PodSpec:
    return replace(spec, node=node)


def rss() -> float:
    """Return the memory of the process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


def taken(life: Life) -> dict[str, float]:
    """Return the sizes after a full collection, and the time of a plan."""
    plan = round(life.planning(), 1)
    gc.collect()
    give_back()
    return {"mib": round(rss(), 1), "objects": len(gc.get_objects()), "plan_ms": plan}


def passage(discipline: str) -> dict[str, Any]:
    life = Life(discipline)
    life.nodes(1_000)
    life.pods(20_000)  # what is made once is made by now
    life.edits(20)
    found = {"before": taken(life)}
    for name, what in (
        ("nodes", lambda: life.nodes(CAME_AND_WENT)),
        ("nodes_at_once", lambda: life.nodes(CAME_AND_WENT // 2, CAME_AND_WENT // 2)),
        ("pods", lambda: life.pods(BOUND_AND_GONE)),
        ("edits", lambda: life.edits(EDITS)),
    ):
        what()
        found[f"after_{name}"] = taken(life)
    return found


def collections() -> dict[str, Any]:
    """Return the longest collection of garbage while pods come, and while as many go as come, beside that of a full one over everything."""
    life, garbage = Life(), Garbage()
    garbage.begin()
    life.tell(*(NodeSeen(_node(f"more-{number}")) for number in range(MANY_NODES - LIVE)))
    tended = 0.0
    uids: list[str] = []
    for step in range(2 * MANY_PODS // 100):
        for _ in range(100):
            life.number += 1
            life.tell(PodSeen(_pod(life.number)))
            uids.append(f"uid-{life.number}")
        if len(uids) > MANY_PODS:
            life.tell(*(PodGone(uid) for uid in uids[:100]))
            del uids[:100]
        if step % 10 == 9:
            life.plan()
        if time.monotonic() > tended + OFTEN:
            tended = time.monotonic()
            garbage.tend(tended)
    longest = garbage.longest
    garbage.end()
    start = time.perf_counter()
    gc.collect()
    return {
        "pods": len(life.core.state.pods),
        "nodes": MANY_NODES,
        "longest_ms": round(longest * 1000, 1),
        "full_collections": garbage.full,
        "one_over_everything_ms": round((time.perf_counter() - start) * 1000),
    }


def measure() -> dict[str, Any]:
    return {
        "benchmark": "memory",
        "nodes_live": LIVE,
        "nodes_came_and_went": CAME_AND_WENT,
        "pods_bound_and_gone": BOUND_AND_GONE,
        "edits_of_queues": EDITS,
        "fair": passage(FAIR),
        "capacity": passage(CAPACITY),
        "collections": collections(),
    }
