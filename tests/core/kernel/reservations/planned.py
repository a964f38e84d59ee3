"""A core with a queue that takes reservations, by a clock whose 0 is the beginning of 1970, and short words for what is asked of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.builders import GIB, Scenario
from core.clusters import LABEL
from treadle.core.effects import ReservationDecided
from treadle.core.events import ApplicationSeen, QueueSeen, ReservationGone, ReservationSeen
from treadle.core.model import CAPACITY, ApplicationSpec, FairSettings, QueueSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion, live
from treadle.core.model.reservations import Alternative, Asked, Decision, Interpreter, PlanSpec, ReservationSpec
from treadle.core.views.reservations import ReservationFigures

HOUR = 3_600_000
PLAN = "root.plan"
DISCIPLINES = ["Fair", CAPACITY]


def asked(cpu: int = 1, count: int = 1, hours: float = 1, concurrency: int = 1, memory: int = 0, **others: int) -> Asked:
    """A request: whole cores and GiB for each container, and a duration in hours."""
    named = {"cpu": cpu * 1000, "memory": memory * GIB, **others}
    return Asked(tuple(sorted((name, value) for name, value in named.items() if value)), count, concurrency, round(hours * HOUR))


def wanted(
    name: str, *requests: Asked, start: float = 1, end: float = 3, generation: int = 1, queue: str = PLAN, **fields: Any
) -> ReservationSpec:
    """A reservation of namespace ``ns`` with a window in hours."""
    given = {"user": "ann", "uid": name, **fields}
    return ReservationSpec(
        f"ns/{name}", generation, queue, round(start * HOUR), round(end * HOUR), requests or (asked(),), **given
    )


def changed(spec: ReservationSpec, one: Alternative) -> ReservationSpec:
    """The reservation with what is offered."""
    if one.deadline is not None:
        return replace(spec, deadline=one.deadline)
    if one.queue:
        return replace(spec, queue=one.queue)
    assert one.concurrency is not None
    return replace(spec, requests=tuple(_held(each, one.concurrency) for each in spec.requests))


def _held(each: Asked, most: int) -> Asked:
    if each.concurrency <= most:
        return each
    size = max(at for at in range(1, most + 1) if each.count % at == 0)
    return replace(each, concurrency=size, least=min(each.least, size))


def share(percent: float) -> PartitionShare:
    return PartitionShare(Capacity(Portion(Kind.PERCENT, percent)))


class Reserving(Scenario):
    """Two nodes of 10 cores and 100 GiB; ``root.plan`` has half of them, or as much as is said."""

    def __init__(self, discipline: str = "Fair", percent: float = 50, **plan: Any) -> None:
        super().__init__()
        self.discipline = discipline
        self.decided: list[ReservationDecided] = []
        preempting = replace(live(), preemption=replace(live().preemption, enabled=True, per_round=1.0, natural_termination=1.0))
        capacity: dict[str, Any] = {"capacity": preempting} if discipline == CAPACITY else {}
        self.scheduler(discipline=discipline, fair=FairSettings(preemption=True, utilization_threshold=0.0), **capacity)
        self.percents: dict[str, float] = {}
        self.divide({"plan": percent, "rest": 100 - percent}, plan=PlanSpec(**{"lead": 0, **plan}))
        self.nodes(2, cpu=10, memory=100)
        self.plan()

    def divide(self, percents: dict[str, float], plan: PlanSpec | None = None, **plans: PlanSpec) -> Reserving:
        """Let queues below the root have parts of it; ``plan`` and those named take reservations."""
        for name, percent in percents.items():
            self.percents[name] = percent
            taking = plans.get(name, plan if name == "plan" else None)
            self.define(name, plan=taking)
        return self

    def define(self, name: str, plan: PlanSpec | None = None, **fields: Any) -> Reserving:
        path, percent = f"root.{name}", self.percents[name]
        capacity = CapacityQueueSpec(path, partitions={"": share(percent)}, user_limit_factor=-1.0)
        weight = percent or 0.001
        return self.tell_queue(QueueSpec(path, weight=weight, capacity=capacity, plan=plan, **fields))

    def tell_queue(self, spec: QueueSpec) -> Reserving:
        self.tell(QueueSeen(spec))
        return self

    def ask(self, spec: ReservationSpec, decided: Decision | None = None) -> Reserving:
        self.tell(ReservationSeen(spec, decided))
        return self

    def withdraw(self, name: str) -> Reserving:
        self.tell(ReservationGone(f"ns/{name}"))
        return self

    def plan(self, budget: int = 1_000_000) -> list[Any]:
        binds = super().plan(budget)
        told = [effect for effect in self.effects if isinstance(effect, ReservationDecided)]
        self.decided += told
        return binds

    def at(self, hours: float) -> Reserving:
        self.now = hours * 3600
        return self

    def figures(self, name: str) -> ReservationFigures:
        found = self.core.view.reservation(f"ns/{name}")
        assert found is not None
        return found

    def inside(self, application: str, reservation: str) -> Reserving:
        """Let an application name a reservation."""
        self.tell(ApplicationSeen(ApplicationSpec(f"ns/{application}", reservation=f"ns/{reservation}", uid=application)))
        return self

    def shares(self, resource: str = "cpu", path: str = PLAN) -> dict[str, float]:
        """What each queue of a plan is guaranteed now, in cores, GiB, or as it is; by reservation, and ``default``."""
        state = self.core.state
        one, at = state.plans.of[path], state.types.index[resource]
        unit = {"cpu": 1000, "memory": GIB}.get(resource, 1)
        found = {}
        for identity, child in one.children.items():
            minimum = state.tree.queues[child].minimum
            found["default" if identity == path else identity.partition("/")[2]] = (0 if minimum is None else minimum[at]) / unit
        return found

    def queue_of(self, application: str) -> str:
        """The queue of an application without what tells reservations of several namespaces apart; empty if it has none."""
        found = self.core.state.applications[f"ns/{application}"].queue
        return "" if found is None else found.path.rpartition("-")[0]

    def phase(self, name: str) -> str:
        return self.figures(name).phase

    def said(self, name: str) -> tuple[str, str]:
        figures = self.figures(name)
        return figures.reason, figures.words

    def steps(self, name: str) -> list[tuple[float, float, dict[str, float]]]:
        """What is promised: from hour to hour, cores and GiB."""
        decided = self.figures(name).decided
        assert decided is not None
        assert decided.promise is not None
        units = {"cpu": 1000, "memory": GIB}
        return [
            (start / HOUR, end / HOUR, {name: value / units.get(name, 1) for name, value in amounts})
            for start, end, amounts in decided.promise.steps
        ]


GPU = "gpu"


class Split(Reserving):
    """Under the capacity discipline with two more such nodes of a partition ``gpu``, of which ``plan`` and ``rest`` have half each."""

    def __init__(self, default_partition: str | None = None, nodes: int = 2, **plan: Any) -> None:
        self.default_partition = default_partition
        super().__init__(CAPACITY, **plan)
        spec = self.core.state.scheduler
        self.scheduler(discipline=CAPACITY, fair=spec.fair, capacity=replace(spec.capacity, partitions={GPU: True}))
        self.nodes(nodes, "gpu", cpu=10, memory=100, labels={LABEL: GPU})
        self.plan()

    def define(self, name: str, plan: PlanSpec | None = None, *, gpu: float | None = 50, **fields: Any) -> Reserving:
        """Define a queue by its parts of both, of the partition nothing where that is None."""
        path = f"root.{name}"
        shares = {"": share(self.percents[name])} | ({} if gpu is None else {GPU: share(gpu)})
        first = self.default_partition if name == "plan" else None
        capacity = CapacityQueueSpec(path, partitions=shares, user_limit_factor=-1.0, default_partition=first)
        return self.tell_queue(QueueSpec(path, capacity=capacity, plan=plan, **fields))


__all__ = ["DISCIPLINES", "GPU", "HOUR", "PLAN", "Interpreter", "Reserving", "Split", "asked", "wanted"]
