"""A core with a clock that tests move by hand, and short words for what happens to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from treadle.core import Core
from treadle.core.effects import Bind, ReportWaiting
from treadle.core.events import (
    ApplicationGone,
    ApplicationSeen,
    BindDone,
    BindFailed,
    Event,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QueueGone,
    QueueSeen,
    SchedulerSeen,
)
from treadle.core.model import (
    RACK_LABEL,
    ApplicationSpec,
    Constraints,
    FairSettings,
    Limit,
    NodeSpec,
    PodSpec,
    QueueSpec,
    Requirement,
    SchedulerSpec,
    Settings,
    Wish,
)

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.disciplines.capacity.state import CapacityState
    from treadle.core.kernel.state import State

GIB = 1 << 30


def amounts(cpu: int = 0, memory: int = 0, pods: int = 1, **others: int) -> tuple[tuple[str, int], ...]:
    """A pod's demand: cpu in whole cores, memory in GiB, further types as they are."""
    named = {"cpu": cpu * 1000, "memory": memory * GIB, "pods": pods, **others}
    return tuple(sorted((name, value) for name, value in named.items() if value))


def a_pod(name: str, queue: str = "", application: str = "app", cpu: int = 1, memory: int = 1, **fields: Any) -> PodSpec:
    """A waiting pod of ours in namespace ``ns``; its uid is its name."""
    extra = fields.pop("resources", {})
    return PodSpec(
        **{
            "uid": name,
            "namespace": "ns",
            "name": name,
            "scheduler": "treadle",
            "demand": amounts(cpu, memory, **extra),
            "application": f"ns/{application}",
            "queue": queue,
            **fields,
        }
    )


def a_node(name: str, cpu: int = 4, memory: int = 16, pods: int = 110, **fields: Any) -> NodeSpec:
    """A node with whole cores and GiB."""
    extra = fields.pop("resources", {})
    return NodeSpec(name, {"cpu": cpu * 1000, "memory": memory * GIB, "pods": pods, **extra}, **fields)


def limits(**named: str | int) -> dict[str, Limit]:
    return {name: Limit.parse(name, text) for name, text in named.items()}


class Scenario:
    """Tells a core what happens. Invariants are checked after every step; ``now`` moves by ``wait``."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.core = Core(settings, validate=True)
        self.now = 0.0
        self.effects: list[Bind | ReportWaiting] = []

    def tell(self, *events: Event) -> Scenario:
        for event in events:
            self.core.handle(event, self.now)
        return self

    def nodes(self, count: int = 1, prefix: str = "node", **fields: Any) -> Scenario:
        return self.tell(*(NodeSeen(a_node(f"{prefix}-{number}", **fields)) for number in range(count)))

    def node(self, name: str, **fields: Any) -> Scenario:
        return self.tell(NodeSeen(a_node(name, **fields)))

    def without_node(self, name: str) -> Scenario:
        return self.tell(NodeGone(name))

    def queue(self, path: str, **fields: Any) -> Scenario:
        return self.tell(QueueSeen(QueueSpec(path, **fields)))

    def without_queue(self, path: str) -> Scenario:
        return self.tell(QueueGone(path))

    def application(self, name: str, queue: str = "", priority: int = 0) -> Scenario:
        return self.tell(ApplicationSeen(ApplicationSpec(f"ns/{name}", queue, priority)))

    def without_application(self, name: str) -> Scenario:
        return self.tell(ApplicationGone(f"ns/{name}"))

    def scheduler(self, **fields: Any) -> Scenario:
        return self.tell(SchedulerSeen(SchedulerSpec(**fields)))

    def namespace(self, name: str, queue: str) -> Scenario:
        return self.tell(NamespaceSeen(name, queue))

    def pod(self, name: str, queue: str = "", application: str = "app", **fields: Any) -> Scenario:
        return self.tell(PodSeen(a_pod(name, queue, application, **fields)))

    def pods(self, count: int, prefix: str, queue: str = "", application: str = "app", **fields: Any) -> Scenario:
        return self.tell(*(PodSeen(a_pod(f"{prefix}-{number}", queue, application, **fields)) for number in range(count)))

    def gone(self, *names: str) -> Scenario:
        return self.tell(*(PodGone(name) for name in names))

    def wait(self, seconds: float) -> Scenario:
        self.now += seconds
        return self

    def plan(self, budget: int = 1_000_000) -> list[Bind]:
        """Plan and return the binds; reports are kept in ``reports``."""
        self.effects = list(self.core.plan(self.now, budget))
        return [effect for effect in self.effects if isinstance(effect, Bind)]

    @property
    def reports(self) -> list[ReportWaiting]:
        return [effect for effect in self.effects if isinstance(effect, ReportWaiting)]

    def confirm(self, binds: list[Bind], done: bool = True) -> Scenario:
        """Let the API server take the binds and the watch show them."""
        for bind in binds:
            if done:
                self.tell(BindDone(bind.uid))
            spec = self.core.state.pods[bind.uid].spec
            self.tell(PodSeen(replaced(spec, node=bind.node)))
        return self

    def fail(self, bind: Bind, kind: str = "transient") -> Scenario:
        return self.tell(BindFailed(bind.uid, kind, "no"))  # type: ignore[arg-type]

    def used(self, path: str, resource: str = "cpu") -> float:
        """A queue's usage in cores, GiB, or as it is."""
        state = self.core.state
        value = state.tree.queues[path].usage[state.types.index[resource]]
        return value / {"cpu": 1000, "memory": GIB}.get(resource, 1)

    def free(self, node: str, resource: str = "cpu") -> float:
        state = self.core.state
        value = state.nodes.free[state.nodes.row[node]][state.types.index[resource]]
        return value / {"cpu": 1000, "memory": GIB}.get(resource, 1)

    def why(self, pod: str) -> tuple[str, str]:
        explanation = self.core.explain(pod)
        assert explanation is not None
        return explanation.reason, explanation.message

    def everybody_says_why(self) -> None:
        """Assert that everything that is told of has a reason and words."""
        for uid, record in self.core.state.pods.items():
            if record.application is not None:
                reason, words = self.why(uid)
                assert reason
                assert words


def replaced(spec: PodSpec, **fields: Any) -> PodSpec:
    from dataclasses import replace

    return replace(spec, **fields)


def capacity_state(state: State) -> CapacityState | None:
    """What the capacity discipline keeps, None under the fair one."""
    return getattr(state.discipline, "kept", None)


def capacities_in(state: State) -> LiveCapacityTree | None:
    """The capacities in force, None under the fair discipline."""
    kept = capacity_state(state)
    return None if kept is None else kept.capacities


def by_queue(binds: list[Bind]) -> Counter[str]:
    return Counter(bind.queue for bind in binds)


def by_node(binds: list[Bind]) -> Counter[str]:
    return Counter(bind.node for bind in binds)


def racks(cpu: int = 2, **settings: Any) -> Scenario:
    """Nodes a1, a2 in rack a and b1, b2 in rack b."""
    scenario = Scenario().scheduler(fair=FairSettings(**settings))
    for name in ("b1", "b2", "a1", "a2"):
        scenario.node(name, cpu=cpu, labels={RACK_LABEL: name[0], "disk": "ssd" if name == "b2" else "hdd"})
    return scenario


def wish(*nodes: str, racks: tuple[str, ...] = (), relax: bool = True, **terms: int) -> dict[str, Any]:
    found = tuple((weight, (Requirement("disk", "In", (value,)),)) for value, weight in terms.items())
    return {"constraints": Constraints(wish=Wish(nodes, racks, found, relax))}


def places(binds: list) -> list[str]:
    return [bind.node for bind in binds]


__all__ = [
    "GIB",
    "Constraints",
    "Scenario",
    "a_node",
    "a_pod",
    "amounts",
    "by_node",
    "by_queue",
    "capacities_in",
    "capacity_state",
    "limits",
    "replaced",
]
