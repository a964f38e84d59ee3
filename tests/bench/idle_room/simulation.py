"""A day of a cluster: pods come, run and end; nodes are sampled; the core decides; what it removes comes back.

The core is the one that serves, with a clock that moves by ``TICK``.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench.idle_room.trace import DAY, Pod, Trace
from bench.idle_room.usage import Usage
from treadle.core import Core
from treadle.core.effects import Bind, Evict
from treadle.core.events import BindDone, NodeSampled, NodeSeen, PodGone, PodSeen, QueueSeen, SchedulerSeen
from treadle.core.model import NodeSpec, PodSpec, QueueSpec, SchedulerSpec
from treadle.core.model.opportunistic import METRICS, WHOLE, NodePolicy, OpportunisticSettings, Threshold

TICK = 30.0
"""Seconds between two samples, in which a pod that has to go is gone."""
BUDGET = 256


class Plan(NamedTuple):
    """How idle room is given: by thresholds in thousandths, at a fixed ratio of what is requested, or, with neither, where nobody requests."""

    name: str
    allocation: int = 0
    preemption: int = 0
    ratio: float = 0.0

    @property
    def settings(self) -> OpportunisticSettings:
        """The settings of the Scheduler; with a ratio nobody ever has to go for usage."""
        if not self.allocation and not self.ratio:
            return OpportunisticSettings()
        one = Threshold(self.allocation or WHOLE, self.preemption or 1000 * WHOLE)
        borne = Threshold(one.allocation, one.preemption, 1)
        return OpportunisticSettings(
            METRICS, old_after=10 * TICK, policy=NodePolicy((("memory", one), ("cpu", borne)), 10 * WHOLE)
        )


@dataclass(slots=True)
class Running:
    """A pod on a node."""

    pod: Pod
    spec: PodSpec
    node: str
    since: float
    usage: Usage


@dataclass(slots=True)
class Day:
    """What happened."""

    started: int = 0
    ended: int = 0
    removed: int = 0
    guaranteed_removed: int = 0
    lost: float = 0.0
    """Seconds that removed pods had run."""
    seconds: float = 0.0
    """Seconds that opportunistic pods ran which ended by themselves."""
    waited: float = 0.0
    used: list[float] = field(default_factory=list)
    """The part of all cpu that was used, by tick."""
    crowded: int = 0
    """Samples of a node on which more cpu was wanted than there is."""
    overflown: int = 0
    """Samples of a node on which more memory was used than there is: somebody would have been killed."""
    samples: int = 0
    longest: float = 0.0
    """Seconds for which a node was above the removal threshold with an opportunistic pod on it that had not been asked to go."""


class Moment(NamedTuple):
    """A node at a time, as (memory, cpu): what it uses, what guaranteed pods request there, what opportunistic pods were given, and how many of those had to go."""

    at: float
    used: tuple[int, int]
    requested: tuple[int, int]
    given: tuple[int, int]
    removed: int


class Simulation:
    """One day under one plan. With ``noted`` each node's moments are kept in ``moments``."""

    def __init__(self, trace: Trace, plan: Plan, *, noted: bool = False) -> None:
        self.noted = noted
        self.moments: dict[str, list[Moment]] = {name: [] for name, *_ in trace.nodes}
        self.went: dict[str, int] = {}
        """How many opportunistic pods of a node were asked to go since its last moment."""
        self.trace, self.plan, self.day = trace, plan, Day()
        self.core, self.now = Core(), 0.0
        self.sizes = {name: (memory, cpu) for name, memory, cpu in trace.nodes}
        self.running: dict[str, Running] = {}
        self.waiting: dict[str, tuple[Pod, PodSpec, float]] = {}
        self.leaving: set[str] = set()
        self.above: dict[str, float] = {}
        self.number = 0
        self.used: dict[str, tuple[int, int]] = {}
        self.tell(SchedulerSeen(SchedulerSpec(opportunistic=plan.settings)))
        self.tell(*(QueueSeen(QueueSpec(path)) for path in ("root.services", "root.batch")))
        self.tell(*(NodeSeen(NodeSpec(name, {"memory": memory, "cpu": cpu, "pods": 250})) for name, memory, cpu in trace.nodes))

    def tell(self, *events: Any) -> None:
        """Let the core know."""
        for event in events:
            self.core.handle(event, self.now)

    def comes(self, pod: Pod) -> None:
        """Let a pod come, or come again."""
        self.number += 1
        uses = (("cpu", pod.cpu), ("memory", pod.memory))
        spec = PodSpec(
            uid=f"{pod.name}-{self.number}",
            namespace="trace",
            name=pod.name,
            scheduler="treadle",
            demand=(("pods", 1),) if pod.idle else (*uses, ("pods", 1)),
            opportunistic=uses if pod.idle else (),
            application=f"trace/{pod.name}",
            queue="root.batch" if pod.idle else "root.services",
            created=self.now,
        )
        self.waiting[spec.uid] = pod, spec, self.now
        self.tell(PodSeen(spec))

    def goes(self, uid: str) -> Running:
        """Let a pod be gone."""
        self.tell(PodGone(uid))
        self.leaving.discard(uid)
        return self.running.pop(uid)

    def run(self) -> Day:
        """Play the day."""
        coming = list(reversed(self.trace.pods))
        while self.now < DAY:
            for uid in list(self.leaving):
                one = self.goes(uid)
                self.day.lost += self.now - one.since
                self.comes(one.pod)
            for uid in [uid for uid, one in self.running.items() if self.now >= one.since + one.pod.runs]:
                one = self.goes(uid)
                self.day.ended += one.pod.idle
                self.day.seconds += one.pod.runs if one.pod.idle else 0.0
            while coming and coming[-1].comes <= self.now:
                self.comes(coming.pop())
            self.sample()
            while self.decide():
                pass
            if self.noted:
                self.note()
            self.now += TICK
        return self.day

    def sample(self) -> None:
        """Tell what each node uses, and look at what is too much."""
        used = {name: [0, 0] for name in self.sizes}
        staying: set[str] = set()
        for uid, one in self.running.items():
            memory, cpu = one.usage.at(self.now, one.since)
            if self.plan.ratio and not one.pod.idle:
                told = (one.pod.memory / self.plan.ratio, one.pod.cpu / self.plan.ratio)
            elif self.plan.ratio:
                told = (one.pod.memory, one.pod.cpu)
            else:
                told = (memory, cpu)
            used[one.node][0] += int(told[0])
            used[one.node][1] += int(told[1])
            if one.pod.idle and uid not in self.leaving:
                staying.add(one.node)
        real = self._real() if self.plan.ratio else used
        for name, (memory, cpu) in real.items():
            size = self.sizes[name]
            self.day.samples += 1
            self.day.crowded += cpu > size[1]
            self.day.overflown += memory > size[0]
            most = self.plan.preemption or WHOLE
            if name in staying and (memory * WHOLE > most * size[0] or cpu * WHOLE > most * size[1]):
                since = self.above.setdefault(name, self.now)
                self.day.longest = max(self.day.longest, self.now - since)
            else:
                self.above.pop(name, None)
        self.day.used.append(
            sum(min(cpu, self.sizes[name][1]) for name, (_, cpu) in real.items()) / sum(cpu for _, cpu in self.sizes.values())
        )
        self.used = {name: (memory, cpu) for name, (memory, cpu) in real.items()}
        self.tell(
            *(NodeSampled(name, (("memory", memory), ("cpu", cpu)), self.now, TICK) for name, (memory, cpu) in used.items())
        )

    def note(self) -> None:
        """Keep what each node is like."""
        held = {name: ([0, 0], [0, 0]) for name in self.sizes}
        for uid, one in self.running.items():
            if uid not in self.leaving:
                there = held[one.node][one.pod.idle]
                there[0] += one.pod.memory
                there[1] += one.pod.cpu
        for name, (requested, given) in held.items():
            moment = Moment(self.now, self.used[name], (requested[0], requested[1]), (given[0], given[1]), self.went.pop(name, 0))
            self.moments[name].append(moment)

    def _real(self) -> dict[str, list[int]]:
        used = {name: [0, 0] for name in self.sizes}
        for one in self.running.values():
            memory, cpu = one.usage.at(self.now, one.since)
            used[one.node][0] += memory
            used[one.node][1] += cpu
        return used

    def decide(self) -> bool:
        """Make a pass; returns whether it placed anything."""
        placed = False
        for effect in self.core.plan(self.now, BUDGET):
            if isinstance(effect, Bind):
                placed = True
                pod, spec, since = self.waiting.pop(effect.uid)
                self.running[spec.uid] = Running(pod, spec, effect.node, self.now, Usage(pod))
                fields = {name: getattr(spec, name) for name in spec.__slots__}
                self.tell(BindDone(spec.uid), PodSeen(PodSpec(**{**fields, "node": effect.node})))
                if pod.idle:
                    self.day.started += 1
                    self.day.waited += self.now - since
            elif isinstance(effect, Evict) and effect.uid in self.running:
                if self.running[effect.uid].pod.idle:
                    self.day.removed += 1
                    self.leaving.add(effect.uid)
                    node = self.running[effect.uid].node
                    self.went[node] = self.went.get(node, 0) + 1
                else:
                    self.day.guaranteed_removed += 1
        return placed


def simulate(trace: Trace, plan: Plan) -> dict[str, Any]:
    """Play a day and return its figures."""
    simulation = Simulation(trace, plan)
    day = simulation.run()
    still = sum(simulation.now - one.since for one in simulation.running.values() if one.pod.idle)
    return {
        "mean_running": round((day.seconds + still + day.lost) / DAY, 1),
        "useful_pod_hours": round((day.seconds + still) / 3600),
        "ended": day.ended,
        "still_waiting": sum(pod.idle for pod, _, _ in simulation.waiting.values()),
        "mean_wait_minutes": round(day.waited / max(1, day.started) / 60, 1),
        "cpu_used_percent": round(100 * sum(day.used) / len(day.used), 1),
        "removed": day.removed,
        "lost_pod_hours": round(day.lost / 3600, 1),
        "guaranteed_removed": day.guaranteed_removed,
        "crowded_percent": round(100 * day.crowded / day.samples, 2),
        "overflown_percent": round(100 * day.overflown / day.samples, 2),
        "longest_above_s": day.longest,
    }
