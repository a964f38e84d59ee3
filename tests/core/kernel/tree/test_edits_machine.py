"""A core that follows edits of queues where they make a difference has every figure of one that computes all of them anew at each edit.

Two cores are told the same in random order, under both disciplines: queues that are defined, changed and removed, queues that
applications make and leave, templates, partitions, users, masters, nodes that come and go. One of them is made to look at
everything whenever it looks at definitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core.builders import a_node, a_pod, capacities_in, capacity_state, limits
from core.clusters import LABEL
from core.clusters import settings as capacity_settings
from core.figures import figures
from examples import examples
from treadle.controllers.capacity import capacity as read
from treadle.core import Core
from treadle.core.effects import Bind, Effect
from treadle.core.events import (
    ApplicationSeen,
    BindDone,
    Event,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    QueueGone,
    QueueSeen,
    SchedulerSeen,
)
from treadle.core.model import ApplicationSpec, FairSettings, PlacementRule, QueueSpec, SchedulerSpec
from treadle.core.model.capacity import CapacityQueueSpec, FlexibleCreation, ManagedCreation, PartitionShare

LEAVES = ("root.a", "root.b.x", "root.b.y", "root.b.z", "root.c.d.e", "root.c.d.f", "root.c.g", "root.default")
QUEUES = ("root", "root.b", "root.c", "root.c.d", "root.users", "root.managed", *LEAVES)
ASKED = (
    *LEAVES,
    "root.b",
    "x",
    "root.users.ann",
    "root.users.bob",
    "root.users.team.cid",
    "root.managed.one",
    "root.managed.two",
    "root.b.made",
)
USERS = ("ann", "bob", "cid")
KINDS = {
    "weight": ("1w", "1w", "2w", "0w", "3.5w"),
    "percent": ("50%", "25%", "100%", "0%"),
    "amounts": ("[memory=4Gi,cpu=2]", "[memory=8Gi,cpu=4]"),
}


class Two:
    """Two cores that are told the same; ``whole`` looks at everything when it looks at definitions, or at queues that came or went."""

    def __init__(self) -> None:
        self.edited, self.whole = Core(validate=True), Core(validate=True)
        self.now = 1.0

    def everything(self) -> None:
        state = self.whole.state
        state.tree.whole = True
        if capacity_state(state) is not None:
            capacity_state(state).automatic.checked.forget()
        capacities = capacities_in(state)
        if capacities is not None and (capacities.defined or capacities.sharing):
            capacity_state(state).automatic.grown = True

    def tell(self, *events: Event) -> None:
        for event in events:
            self.everything()
            self.whole.handle(event, self.now)
            self.edited.handle(event, self.now)

    def plan(self, budget: int) -> list[Effect]:
        """Plan with both and compare. How soon what is due follows the cluster is not compared: who computes everything anew may do so sooner."""
        for core in (self.whole, self.edited):
            if core.state.updates.cluster_changed:
                self.now = max(self.now, core.state.updates.at + core.state.discipline.limits.interval())
        self.everything()
        expected, found = self.whole.plan(self.now, budget), self.edited.plan(self.now, budget)
        assert found == expected
        self.everything()
        self.whole.refresh_shares()
        differences = list(differing(figures(self.edited), figures(self.whole)))
        assert not differences, differences[:8]
        return found


def differing(one: Any, other: Any, where: str = "") -> Any:
    """Yield where two nested dictionaries differ, and both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            yield from differing(one.get(key, "-"), other.get(key, "-"), f"{where}/{key}")
    elif one != other and repr(one) != repr(other):  # a share of nothing is no number, which equals nothing
        yield where, one, other


def template(guaranteed: str) -> CapacityQueueSpec:
    return CapacityQueueSpec("template", partitions={"": PartitionShare(read("guaranteed", guaranteed))}, user_limit_factor=-1.0)


class QueueEdits(RuleBasedStateMachine):
    discipline = "Capacity"

    @initialize(legacy=st.booleans(), precise=st.booleans(), kind=st.sampled_from(["weight", "weight", "percent", "amounts"]))
    def begin(self, legacy: bool, precise: bool, kind: str) -> None:
        self.two, self.number = Two(), 0
        self.kind = kind
        self.two.tell(*(NodeSeen(a_node(f"plain-{number}", cpu=8, memory=16)) for number in range(3)))
        self.two.tell(NodeSeen(a_node("gpu-0", cpu=8, memory=16, labels={LABEL: "gpu"})))
        self.scheduler(legacy=legacy, precise=precise, discipline=self.discipline, masters=0.5, ruled=False, largest=0)
        for path in QUEUES:
            if path not in {"root", "root.users", "root.managed"}:
                self.defined(path, KINDS[kind][0], None, "1w" if kind == "weight" else None)

    def defined(self, path: str, guaranteed: str, most: str | None, gpu: str | None, **fields: Any) -> None:
        partitions = {"": PartitionShare(read("guaranteed", guaranteed), read("maximum", most))}
        if gpu is not None:
            partitions["gpu"] = PartitionShare(read("guaranteed", gpu))
        given = {} if path == "root" else partitions
        both = {name: fields.pop(name) for name in ("flexible", "managed") if name in fields}
        of_capacity = {name: fields.pop(name) for name in list(fields) if name in CapacityQueueSpec.__dataclass_fields__}
        self.two.tell(
            QueueSeen(QueueSpec(path, capacity=CapacityQueueSpec(path, partitions=given, **of_capacity, **both), **fields))
        )

    @rule(
        path=st.sampled_from(QUEUES),
        other=st.booleans(),
        at=st.integers(0, 9),
        maximum=st.sampled_from([None, None, "50%", "100%", "10%", "[memory=8Gi,cpu=4]"]),
        gpu=st.sampled_from([None, "1w", "3w", "50%"]),
        fields=st.fixed_dictionaries(
            {},
            optional={
                "user_limit": st.sampled_from([100.0, 50.0, 25.0]),
                "user_limit_factor": st.sampled_from([-1.0, 0.5, 2.0]),
                "max_applications": st.sampled_from([1, 3, 100]),
                "user_weights": st.sampled_from([{"ann": 2.0}, {"bob": 0.5}]),
                "order": st.sampled_from(["fifo", "fair", "utilization", "priority-utilization"]),
                "priority": st.integers(0, 2),
                "state": st.sampled_from(["RUNNING", "STOPPED"]),
                "max_allocation": st.sampled_from([{"cpu": 2000}, {"memory": 4 << 30}]),
                "master_share": st.sampled_from([0.1, 1.0]),
                "default_partition": st.sampled_from(["", "gpu"]),
                "accessible": st.sampled_from([frozenset(), frozenset({"*"}), frozenset({"gpu"})]),
                "max_lifetime": st.sampled_from([100.0, 1000.0]),
                "disable_preemption": st.booleans(),
                "max_running": st.integers(0, 2),
                "weight": st.sampled_from([0.5, 2.0]),
                "maximum": st.sampled_from([limits(cpu="3"), limits(cpu="50%", memory="50%"), limits(memory="0")]),
                "minimum": st.sampled_from([limits(cpu="1", memory="1Gi"), limits(cpu="2")]),
                "policy": st.sampled_from(["drf", "fair", "fifo"]),
                "max_container": st.sampled_from([limits(cpu="2"), limits(memory="4Gi")]),
                "max_child": st.sampled_from([limits(cpu="2"), limits(memory="4Gi")]),
                "max_master_share": st.sampled_from([-1.0, 0.2]),
                "running": st.booleans(),
                "holds_queues": st.booleans(),
                "submit": st.just((frozenset({"ann"}), frozenset())),
                "flexible": st.builds(
                    FlexibleCreation,
                    enabled=st.booleans(),
                    common=st.sampled_from([None, template("2w")]),
                    leaf=st.sampled_from([None, template("3w"), template("10%")]),
                ),
            },
        ),
    )
    def a_queue_is_defined(
        self, path: str, other: bool, at: int, maximum: str | None, gpu: str | None, fields: dict[str, Any]
    ) -> None:
        kinds = KINDS[self.kind] if not other else tuple(one for kind in KINDS.values() for one in kind)
        fields = dict(list(fields.items())[at % 3 :: 3]) if at % 4 else fields
        if "user_weights" in fields:
            fields["user_limit"] = 50.0
        self.defined(path, kinds[at % len(kinds)], maximum, gpu, **fields)

    @rule(
        data=st.data(), at=st.integers(0, 9), user_limit=st.sampled_from([100.0, 50.0, 25.0]), weight=st.sampled_from([0.5, 2.0])
    )
    def a_queue_is_edited_a_little(self, data: st.DataObject, at: int, user_limit: float, weight: float) -> None:
        for number in range(at, at + 1 + at % 4):
            known = self.two.edited.state.tree.defined
            paths = sorted(path for path, spec in known.items() if spec.capacity is not None)
            if not paths:
                return
            spec = known[data.draw(st.sampled_from(paths))]
            assert spec.capacity is not None
            shares = dict(spec.capacity.partitions)
            if shares and number % 2:
                kinds = KINDS[self.kind]
                shares[""] = replace(shares[""], guaranteed=read("guaranteed", kinds[number % len(kinds)]))
            given = replace(spec.capacity, user_limit=user_limit, partitions=shares)
            self.two.tell(QueueSeen(replace(spec, weight=weight * (1 + number % 2), capacity=given)))
            if at > 3:
                self.two.plan(100)

    @rule(enabled=st.booleans(), managed=st.booleans(), guaranteed=st.sampled_from(["1w", "2w"]))
    def queues_are_made_below(self, enabled: bool, managed: bool, guaranteed: str) -> None:
        if managed:
            creation = ManagedCreation(template("50%")) if enabled else None
            self.defined("root.managed", "25%" if self.kind == "percent" else guaranteed, None, None, managed=creation)
        else:
            self.defined(
                "root.users",
                "25%" if self.kind == "percent" else guaranteed,
                None,
                None,
                flexible=FlexibleCreation(enabled=enabled),
            )

    @rule(path=st.sampled_from(QUEUES), back=st.booleans())
    def a_queue_is_deleted(self, path: str, back: bool) -> None:
        known = self.two.edited.state.tree.defined.get(path)
        self.two.tell(QueueGone(path))
        if back and known is not None:
            self.two.plan(100)
            self.two.tell(QueueSeen(known))
            self.two.plan(100)

    @rule(
        legacy=st.booleans(),
        precise=st.booleans(),
        discipline=st.sampled_from(["same", "same", "same", "Fair", "Capacity"]),
        masters=st.sampled_from([0.1, 0.5]),
        ruled=st.booleans(),
        largest=st.integers(0, 1),
    )
    def scheduler(self, legacy: bool, precise: bool, discipline: str, masters: float, ruled: bool, largest: int) -> None:
        wanted = self.discipline if discipline == "same" else discipline
        rules = (PlacementRule("specified"), PlacementRule("user")) if ruled else None
        fair = FairSettings(queue_max_default=limits(cpu="6") if largest else {}, queue_max_master_share_default=masters)
        capacity = capacity_settings(
            legacy=legacy,
            precise=precise,
            master_share=masters,
            partitions={"gpu": False},
            idle_before_removal=3.0,
            removal_interval=2.0,
            max_depth=3,
        )
        self.two.tell(
            SchedulerSeen(SchedulerSpec(discipline=wanted, capacity=capacity, rules=rules, fair=fair, partition_label=LABEL))
        )

    @rule(name=st.sampled_from(["plain-0", "plain-1", "gpu-0"]), gpu=st.booleans(), cpu=st.integers(1, 8), odd=st.integers(0, 6))
    def a_node_is_as_it_says(self, name: str, gpu: bool, cpu: int, odd: int) -> None:
        extra = {"resources": {"example.com/odd": 3}} if odd == 6 else {}
        self.two.tell(NodeSeen(a_node(name, cpu=cpu, memory=16, labels={LABEL: "gpu"} if gpu else {}, **extra)))

    @rule(name=st.sampled_from(["plain-0", "plain-1", "gpu-0"]))
    def a_node_goes(self, name: str) -> None:
        self.two.tell(NodeGone(name))

    @rule(
        queue=st.sampled_from(ASKED),
        application=st.integers(0, 7),
        user=st.sampled_from(USERS),
        count=st.integers(1, 4),
        cpu=st.integers(1, 3),
        partition=st.sampled_from(["", "", "gpu"]),
        master=st.sampled_from([False, False, True]),
    )
    def pods_come(self, queue: str, application: int, user: str, count: int, cpu: int, partition: str, master: bool) -> None:
        for _ in range(count):
            self.number += 1
            role = "master" if master else ""
            spec = a_pod(f"p{self.number}", queue, f"app{application}", cpu=cpu, user=user, partition=partition, role=role)
            self.two.tell(PodSeen(replace(spec, created=float(self.number))))

    @rule(data=st.data(), many=st.booleans())
    def pods_go(self, data: st.DataObject, many: bool) -> None:
        pods = sorted(self.two.edited.state.pods)
        if pods:
            first = data.draw(st.sampled_from(pods))
            application = self.two.edited.state.pods[first].application
            gone = list(application.pods) if many and application is not None else [first]
            self.two.tell(*(PodGone(uid) for uid in gone))

    @rule(number=st.integers(0, 7), queue=st.sampled_from(["", *ASKED]), user=st.sampled_from(["", *USERS]), gpu=st.booleans())
    def an_application_says(self, number: int, queue: str, user: str, gpu: bool) -> None:
        self.two.tell(ApplicationSeen(ApplicationSpec(f"ns/app{number}", queue, user=user, partition="gpu" if gpu else "")))

    @rule(budget=st.sampled_from([1, 100]), confirmed=st.booleans())
    def a_pass(self, budget: int, confirmed: bool) -> None:
        for effect in self.two.plan(budget):
            if isinstance(effect, Bind) and confirmed:
                spec = self.two.edited.state.pods[effect.uid].spec
                self.two.tell(BindDone(effect.uid), PodSeen(replace(spec, node=effect.node, held_in=effect.queue)))

    @rule(seconds=st.sampled_from([0.3, 1.0, 3.0, 12.0]))
    def time_passes(self, seconds: float) -> None:
        self.two.now += seconds
        self.two.plan(100)

    def teardown(self) -> None:
        if hasattr(self, "two"):
            for _ in range(3):
                self.two.now += 2.0
                self.two.plan(100)


class FairEdits(QueueEdits):
    discipline = "Fair"


OFTEN = settings(
    max_examples=examples(25),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TestQueueEdits = QueueEdits.TestCase
TestQueueEdits.settings = OFTEN
TestFairEdits = FairEdits.TestCase
TestFairEdits.settings = OFTEN
