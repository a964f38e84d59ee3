"""A world of nodes and pods that use something, and somebody who tells a core of it, truly or not.

It keeps books of its own: what was told, what was placed when, and who was asked to go, by the plainest rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from core.builders import GIB, a_node, a_pod, amounts
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import NodeSampled, NodeSeen, PodGone, PodSampled, PodSeen, SchedulerSeen
from treadle.core.model import PodSpec, SchedulerSpec
from treadle.core.model.opportunistic import METRICS, NodePolicy, OpportunisticSettings, Threshold

SIZE = 10
"""Cores and GiB of a node."""
ALLOCATION, PREEMPTION = 500, 800
OLD_AFTER = 60.0
NODES = 3
Vector = tuple[int, int]
"""Milli-units of cpu and bytes of memory."""


@dataclass
class Pod:
    spec: PodSpec
    wants: Vector
    uses: Vector = (0, 0)
    node: str = ""
    placed: float = 0.0


@dataclass
class Told:
    """A sample as it counts: at a time that is not in the future, and never less than nothing."""

    used: Vector
    at: float
    window: float


@dataclass
class World:
    """``binds`` and ``asked`` are the opportunistic pods that the last pass placed and asked to go."""

    settings: dict[str, Any] = field(default_factory=dict)
    now: float = 1000.0
    pods: dict[str, Pod] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    binds: list[Pod] = field(default_factory=list)
    asked: list[Evict] = field(default_factory=list)
    going: set[str] = field(default_factory=set)
    number: int = 0
    borne: int = 0
    news: set[str] = field(default_factory=set)
    """Nodes with a sample by which no pass has looked yet who has to go."""
    rows: dict[str, list[int]] = field(default_factory=dict)
    """In how many passes in a row the last sample of a node was above its preemption thresholds, of cpu and of memory."""

    def __post_init__(self) -> None:
        self.core = Core(validate=True)
        both = Threshold(ALLOCATION, PREEMPTION, self.borne)
        policy = NodePolicy((("cpu", both), ("memory", both)))
        chosen = OpportunisticSettings(**{"source": METRICS, "old_after": OLD_AFTER, "policy": policy, **self.settings})
        self.tell(SchedulerSeen(SchedulerSpec(opportunistic=chosen)))
        for at in range(NODES):
            self.tell(NodeSeen(a_node(f"n{at}", cpu=SIZE, memory=SIZE)))

    def tell(self, event: Any) -> None:
        self.core.handle(event, self.now)

    def guaranteed(self, application: int, size: int) -> None:
        self.number += 1
        name = f"g{self.number}"
        spec = a_pod(name, "", f"app{application}", demand=amounts(size, size))
        self.pods[name] = Pod(spec, (size * 1000, size * GIB))
        self.tell(PodSeen(spec))

    def idle(self, application: int, size: int) -> None:
        self.number += 1
        name = f"o{self.number}"
        wants = (("cpu", size * 1000), ("memory", size * GIB))
        spec = a_pod(name, "", f"idle{application}", 0, 0, opportunistic=wants)
        self.pods[name] = Pod(spec, (size * 1000, size * GIB))
        self.tell(PodSeen(spec))

    def uses(self, which: int, cpu: int, memory: int) -> None:
        """Let a pod use so many tenths of what it wants, and more than that."""
        if self.pods:
            pod = list(self.pods.values())[which % len(self.pods)]
            pod.uses = pod.wants[0] * cpu // 10, pod.wants[1] * memory // 10

    def gone(self, which: int) -> None:
        if self.pods:
            self.end(list(self.pods)[which % len(self.pods)])

    def end(self, uid: str) -> None:
        del self.pods[uid]
        self.going.discard(uid)
        self.tell(PodGone(uid))

    def use_of(self, node: str) -> Vector:
        there = [pod.uses for pod in self.pods.values() if pod.node == node]
        return sum(cpu for cpu, _ in there), sum(memory for _, memory in there)

    def sample(self, node: str, used: Vector, at: float, window: float) -> None:
        """Tell of a node whatever is said of it."""
        self.tell(NodeSampled(node, (("cpu", used[0]), ("memory", used[1])), at, window))
        counted = Told((max(0, used[0]), max(0, used[1])), min(at, self.now), max(window, 0.0))
        before = self.told.get(node)
        if before is None or counted.at > before.at:
            self.told[node] = counted
            self.news.add(node)

    def tell_truly(self, *, of_pods: bool = True, window: float = 0.0) -> None:
        """Tell of all nodes and pods what they use."""
        for uid, pod in self.pods.items():
            if of_pods and pod.node:
                self.tell(PodSampled(uid, (("cpu", pod.uses[0]), ("memory", pod.uses[1])), self.now, window))
        for at in range(NODES):
            self.sample(f"n{at}", self.use_of(f"n{at}"), self.now, window)

    def tell_falsely_of_a_pod(self, which: int, used: int, ago: float) -> None:
        uid = list(self.pods)[which % len(self.pods)] if self.pods else "nobody"
        self.tell(PodSampled(uid, (("cpu", used), ("memory", used), ("gpu", used)), self.now + ago, 1.0))

    def plan(self, wait: float = 0.0) -> None:
        self.now += wait
        for node in self.news:
            rows = self.rows.get(node, [0, 0])
            self.rows[node] = [row + 1 if above else 0 for row, above in zip(rows, self.above(node), strict=True)]
        self.news.clear()
        effects = self.core.plan(self.now)
        self.asked = [one for one in effects if isinstance(one, Evict)]
        self.going |= {one.uid for one in self.asked}
        self.binds = []
        for one in effects:
            if isinstance(one, Bind):
                pod = self.pods[one.uid]
                pod.node, pod.placed = one.node, self.now
                if one.uid.startswith("o"):
                    self.binds.append(pod)
        for one in effects:
            if isinstance(one, Bind):
                self.tell(PodSeen(replace(self.pods[one.uid].spec, node=one.node, held_in=one.queue)))

    def is_fresh(self, node: str) -> bool:
        told = self.told.get(node)
        return told is not None and self.now - told.at <= OLD_AFTER

    def counted(self, node: str) -> Vector:
        """What the last sample tells, and what is asked for by all pods that were placed since its window began."""
        told = self.told[node]
        new = [pod.wants for pod in self.pods.values() if pod.node == node and pod.placed > told.at - told.window]
        return told.used[0] + sum(cpu for cpu, _ in new), told.used[1] + sum(memory for _, memory in new)

    def above(self, node: str) -> tuple[bool, bool]:
        """Whether the last sample tells that more is used of a node than its preemption thresholds, of cpu and of memory."""
        cpu, memory = self.told[node].used
        return cpu > SIZE * PREEMPTION, memory > SIZE * GIB * PREEMPTION // 1000

    def excess(self, node: str) -> Vector:
        """How much more than the preemption threshold is really used."""
        cpu, memory = self.use_of(node)
        return max(0, cpu - SIZE * PREEMPTION), max(0, memory - SIZE * GIB * PREEMPTION // 1000)

    def lacks_without(self, node: str, going: set[str], asked: list[str]) -> bool:
        """Whether more than the preemption threshold is really used, what those use not counted that go already or were asked."""
        gone = [self.pods[uid].uses for uid in {*going, *asked} & self.pods.keys() if self.pods[uid].node == node]
        return any(over > sum(uses[at] for uses in gone) for at, over in enumerate(self.excess(node)))

    def helpful(self, node: str) -> list[str]:
        """The opportunistic pods of a node that use any of what is used too much."""
        excess = self.excess(node)
        return [
            uid
            for uid, pod in self.pods.items()
            if pod.node == node
            and uid.startswith("o")
            and any(over > 0 < have for over, have in zip(excess, pod.uses, strict=True))
        ]
