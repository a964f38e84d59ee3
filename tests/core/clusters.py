"""Scenarios under the capacity discipline: shares, queues that applications make, partitions, preemption, nodes that are kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from core.builders import Scenario
from treadle.controllers.capacity import capacity as read
from treadle.core.effects import Evict
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.model.capacity import (
    CapacityPreemption,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    ManagedCreation,
    PartitionShare,
)

LEAST = {"memory": 1, "cpu": 1}


def settings(**fields: Any) -> CapacitySettings:
    return CapacitySettings(**{"precise": True, "all_types": True, "least": LEAST, "max_priority": 1 << 31, **fields})


class Cluster(Scenario):
    """A scenario under the capacity discipline."""

    def capacity(self, **fields: Any) -> Cluster:
        self.scheduler(discipline="Capacity", capacity=settings(**fields))
        return self

    def share(self, path: str, guaranteed: str | None = None, maximum: str | None = None, **fields: Any) -> Cluster:
        """Define a queue: its capacity, and whatever else its block says."""
        partition = PartitionShare(read("guaranteed", guaranteed), read("maximum", maximum))
        running = fields.pop("running", True)
        spec = CapacityQueueSpec(path, partitions={"": partition}, state=None if running else "STOPPED", **fields)
        self.queue(path, capacity=spec, running=running)
        return self

    def classic(self, **fields: Any) -> Cluster:
        """The organisation of YARN's documentation."""
        self.capacity(**fields)
        self.share("root.prod", "40%")
        self.share("root.dev", "60%", "75%")
        self.share("root.dev.eng", "50%", user_limit_factor=-1)
        self.share("root.dev.science", "50%", user_limit_factor=-1)
        return self

    def settle(self, rounds: int = 3) -> Cluster:
        for _ in range(rounds):
            self.confirm(self.plan())
            self.wait(1.0)
        return self


def template(guaranteed: str | None = None, maximum: str | None = None, **fields: Any) -> CapacityQueueSpec:
    shares = {"": PartitionShare(read("guaranteed", guaranteed), read("maximum", maximum))} if guaranteed or maximum else {}
    return CapacityQueueSpec("template", partitions=shares, **fields)


class Growing(Cluster):
    """A cluster in which queues are made below ``root.users`` and ``root.managed``."""

    def capacity(self, **fields: Any) -> Growing:
        super().capacity(**{"idle_before_removal": 301.0, "removal_interval": 300.0, **fields})
        return self

    def flexible(self, nodes: int = 1, **fields: Any) -> Growing:
        settings = {name: fields.pop(name) for name in ("idle_before_removal", "removal_interval", "max_depth") if name in fields}
        self.capacity(**settings)
        self.share("root.users", "1w", flexible=FlexibleCreation(enabled=True, **fields)).share("root.rest", "1w")
        self.nodes(nodes, cpu=20, memory=40)
        return self

    def managed(self, **fields: Any) -> Growing:
        self.capacity(management_interval=1.5)
        creation = ManagedCreation(template("50%", "100%", user_limit_factor=-1.0), **fields)
        self.share("root.managed", "100%", managed=creation).nodes(1, cpu=20, memory=40)
        return self

    @property
    def queues(self) -> set[str]:
        return set(self.core.state.tree.queues)

    def due(self, path: str) -> float:
        """What a queue is guaranteed, in cores."""
        state = self.core.state
        least = state.tree.queues[path].minimum
        assert least is not None
        return least[state.types.index["cpu"]] / 1000


LABEL = "treadle.dev/partition"


class Partitioned(Cluster):
    def partitions(self, **exclusive: bool) -> Partitioned:
        self.scheduler(discipline="Capacity", capacity=settings(partitions=exclusive))
        return self

    def shares(self, path: str, default: str, gpu: str | None = None, most: str | None = None, **fields: Any) -> Partitioned:
        """Define a queue by its share of the default partition and of the one named gpu."""
        partitions = {"": PartitionShare(read("guaranteed", default))}
        if gpu is not None:
            partitions["gpu"] = PartitionShare(read("guaranteed", gpu), read("maximum", most))
        fields = {"user_limit_factor": -1, **fields}
        self.queue(path, capacity=CapacityQueueSpec(path, partitions=partitions, **fields))
        return self

    def machines(self, plain: int, gpu: int, cpu: int = 10) -> Partitioned:
        self.nodes(plain, "plain", cpu=cpu, memory=cpu * 2)
        self.nodes(gpu, "gpu", cpu=cpu, memory=cpu * 2, labels={LABEL: "gpu"})
        return self


QUICK = CapacityPreemption(
    enabled=True,
    interval=1.0,
    wait_before_kill=15.0,
    natural_termination=1.0,
    per_round=1.0,
    by_priority_delay=0.0,
    balance_wait=0.0,
)


class Preempting(Cluster):
    """A cluster in which those who are asked to go go at once."""

    def preempting(self, **fields: Any) -> Preempting:
        preemption = replace(QUICK, **fields)
        self.scheduler(discipline="Capacity", capacity=settings(preemption=preemption))
        return self

    def share(self, path: str, guaranteed: str | None = None, maximum: str | None = None, **fields: Any) -> Preempting:
        super().share(path, guaranteed, maximum, **{"user_limit_factor": -1, **fields})
        return self

    def run(self, seconds: int) -> list[Evict]:
        asked: list[Evict] = []
        for _ in range(seconds):
            self.wait(1.0)
            binds = self.plan()
            evicted = [effect for effect in self.effects if isinstance(effect, Evict)]
            self.confirm(binds)
            self.gone(*(one.uid for one in evicted))
            asked += evicted
        return asked

    def running(self) -> Counter[str]:
        return Counter(record.spec.name.partition("-")[0] for record in self.core.state.pods.values() if record.spec.node)


class Churn(Partitioned):
    """Nodes of four cores full of small pods that end one after the other, and are made again at once."""

    def __init__(self, nodes: int = 1, small: str = "50%", large: str = "50%", hold: float = 600.0, **fields: Any) -> None:
        super().__init__()
        self.made = 0
        self.running: list[str] = []
        self.rules(**{"preemption": replace(QUICK, enabled=False, hold_timeout=hold), **fields}).shares(
            "root.small", small
        ).shares("root.large", large).nodes(nodes)
        for _ in range(4 * nodes + 2):
            self.small()
        self.pass_()

    def rules(self, **fields: Any) -> Churn:
        found = {"reservable_nodes": 0.5, "preemption": replace(QUICK, enabled=False, hold_timeout=600.0), **fields}
        self.scheduler(discipline="Capacity", capacity=settings(**found))
        return self

    def small(self) -> None:
        self.made += 1
        self.pod(f"small-{self.made}", "root.small", "small", created=float(self.made))

    def pass_(self) -> None:
        binds = self.plan()
        self.confirm(binds)
        self.running += [bind.uid for bind in binds if bind.uid.startswith("small")]

    def churn(self, seconds: int) -> Churn:
        """Every second the oldest small pod ends and another comes."""
        for _ in range(seconds):
            self.wait(1.0)
            self.gone(self.running.pop(0))
            self.small()
            self.pass_()
        return self

    def passes(self, seconds: int) -> Churn:
        """Nobody comes or goes."""
        for _ in range(seconds):
            self.wait(1.0).pass_()
        return self

    def bound(self, prefix: str) -> int:
        return sum(record.spec.name.startswith(prefix) and bool(record.spec.node) for record in self.core.state.pods.values())

    @property
    def holds(self) -> list[Hold]:
        return list(self.core.state.preemption.holds)

    @property
    def kept(self) -> list[str]:
        """The nodes that are kept."""
        return [self.core.state.nodes.names[hold.row] for hold in self.holds]
