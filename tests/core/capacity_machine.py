"""Anything that may happen to a core under the capacity discipline, in any order, with what must hold after each step."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.builders import capacities_in, replaced
from core.clusters import LABEL, QUICK, Partitioned
from core.clusters import settings as capacity_settings
from treadle.controllers.capacity import capacity as read
from treadle.core.disciplines.capacity.lending import lend
from treadle.core.effects import Bind, Evict
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.tidy import close_up, leave_partitions, prune
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model import ApplicationSpec
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare

LEAVES = ["root.a", "root.b.x", "root.b.y"]


QUEUES = ["root.a", "root.b", "root.b.x", "root.b.y"]


USERS = ["ann", "bob"]


class CapacityMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scenario = Partitioned()
        self.scenario.nodes(2, "plain", cpu=6, memory=12)
        self.scenario.nodes(1, "gpu", cpu=6, memory=12, labels={LABEL: "gpu"})
        self.number = 0
        self.shared = False
        self.switch(capacity=True, shareable=False, masters=0.5, preempts=False, all_types=True)
        for path in QUEUES:
            self.define(path, "2w", None, "1w", None, -1.0, 100.0, "fifo", "")

    @rule(
        capacity=st.sampled_from([True, True, True, False]),
        shareable=st.booleans(),
        masters=st.sampled_from([0.1, 0.5, 1.0]),
        preempts=st.booleans(),
        all_types=st.booleans(),
        reservable=st.sampled_from([0.0, 0.05, 1.0]),
    )
    def switch(
        self, *, capacity: bool, shareable: bool, masters: float, preempts: bool, all_types: bool, reservable: float = 1.0
    ) -> None:
        preemption = QUICK if preempts else capacity_settings().preemption
        self.scenario.scheduler(
            discipline="Capacity" if capacity else "Fair",
            capacity=capacity_settings(
                partitions={"gpu": not shareable},
                master_share=masters,
                preemption=preemption,
                all_types=all_types,
                reservable_nodes=reservable,
            ),
        )

    @rule(
        path=st.sampled_from(QUEUES),
        guaranteed=st.sampled_from(["0w", "1w", "3w", "50%"]),
        maximum=st.sampled_from([None, "50%", "10%"]),
        gpu=st.sampled_from(["0w", "1w", "2w"]),
        gpu_maximum=st.sampled_from([None, "50%"]),
        factor=st.sampled_from([-1.0, 0.5, 1.0, 2.0]),
        user_limit=st.sampled_from([100.0, 50.0, 10.0]),
        order=st.sampled_from(["fifo", "fair"]),
        default=st.sampled_from(["", "gpu"]),
    )
    def define(
        self,
        path: str,
        guaranteed: str,
        maximum: str | None,
        gpu: str,
        gpu_maximum: str | None,
        factor: float,
        user_limit: float,
        order: str,
        default: str,
    ) -> None:
        partitions = {
            "": PartitionShare(read("guaranteed", guaranteed), read("maximum", maximum)),
            "gpu": PartitionShare(read("guaranteed", gpu), read("maximum", gpu_maximum)),
        }
        leaf = path in LEAVES
        spec = CapacityQueueSpec(
            path,
            partitions=partitions,
            user_limit=user_limit,
            user_limit_factor=factor,
            order=order if leaf else None,
            default_partition=(default or None) if leaf else None,
        )
        self.scenario.queue(path, capacity=spec)

    @rule(path=st.sampled_from(QUEUES))
    def without(self, path: str) -> None:
        self.scenario.without_queue(path)

    @rule(name=st.sampled_from(["plain-0", "gpu-0"]), gpu=st.booleans(), cpu=st.integers(1, 8))
    def node(self, name: str, gpu: bool, cpu: int) -> None:
        self.scenario.node(name, cpu=cpu, memory=12, labels={LABEL: "gpu"} if gpu else {})

    @rule(name=st.sampled_from(["plain-0", "gpu-0"]))
    def without_node(self, name: str) -> None:
        self.scenario.without_node(name)

    @rule(cpu=st.integers(6, 8), gpu=st.booleans(), oldest=st.sampled_from(["plain-0", "gpu-0"]))
    def another_node_takes_the_place_of_one(self, cpu: int, gpu: bool, oldest: str) -> None:
        self.number += 1
        self.scenario.without_node(oldest)
        self.scenario.node(f"spot-{self.number}", cpu=cpu, memory=12, labels={LABEL: "gpu"} if gpu else {})
        self.scenario.without_node(f"spot-{self.number - 20}")

    @rule()
    def everything_is_tidied(self) -> None:
        state = self.scenario.core.state
        prune(state)
        close_up(state)
        leave_partitions(state)
        self.scenario.core.check()

    @rule(
        leaf=st.sampled_from(LEAVES),
        application=st.integers(0, 4),
        user=st.sampled_from(USERS),
        count=st.integers(1, 6),
        cpu=st.integers(1, 3),
        partition=st.sampled_from(["", "", "gpu"]),
        master=st.sampled_from([False, False, True]),
        on=st.sampled_from(["", "", "", "", "plain-1", "gpu-0"]),
    )
    def pods(self, leaf: str, application: int, user: str, count: int, cpu: int, partition: str, master: bool, on: str) -> None:
        for _ in range(count):
            self.number += 1
            self.scenario.pod(
                f"p{self.number}", leaf, f"app{application}", user=user, cpu=cpu, partition=partition,
                role="master" if master else "", created=float(self.number), node=on,
            )  # fmt: skip

    @rule(number=st.integers(0, 4), leaf=st.sampled_from(["", *LEAVES]), user=st.sampled_from(["", *USERS]), gpu=st.booleans())
    def application(self, number: int, leaf: str, user: str, gpu: bool) -> None:
        spec = ApplicationSpec(f"ns/app{number}", leaf, user=user, partition="gpu" if gpu else "")
        self.scenario.tell(ApplicationSeen(spec))

    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        pods = sorted(self.scenario.core.state.pods)
        if pods:
            self.scenario.gone(data.draw(st.sampled_from(pods)))

    @rule(budget=st.sampled_from([1, 100]), outcome=st.sampled_from(["confirmed", "confirmed", "transient", "unknown"]))
    def plan(self, budget: int, outcome: str) -> None:
        binds: list[Bind] = self.scenario.plan(budget)
        for bind in binds:
            if outcome == "confirmed":
                self.scenario.confirm([bind])
            elif outcome == "transient":
                self.scenario.fail(bind, outcome)
        for effect in self.scenario.effects:
            if isinstance(effect, Evict):
                self.scenario.tell(PodSeen(replaced(self.scenario.core.state.pods[effect.uid].spec, deleting=True)))

    @rule(seconds=st.sampled_from([0.2, 1.0, 3.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.scenario.wait(seconds)

    @rule()
    def a_while_passes(self) -> None:
        for _ in range(5):
            self.scenario.wait(3.0)
            self.scenario.confirm(self.scenario.plan())

    @rule()
    def the_deleted_go(self) -> None:
        state = self.scenario.core.state
        self.scenario.gone(*[uid for uid, record in state.pods.items() if record.spec.deleting])

    @rule()
    def after_a_pass_nothing_waits_that_could_be_placed(self) -> None:
        self.scenario.wait(61.0).plan(1000)
        # what may be lent depends on what others got in the same pass: that is found by the next one
        self.scenario.wait(1.0).plan(1000)
        state = self.scenario.core.state
        for application in state.applications.values():
            for ask in application.every_ask():
                if ask.wait is None or ask.application.queue is None or ask.wait.reason not in {"Unschedulable", "QueueMaximum"}:
                    continue
                full = exceeded(ask.application.limiting, ask.shape.demand) is not None
                if ask.wait.reason == "QueueMaximum":
                    assert full or state.preemption.holds
                else:
                    assert pick(state.nodes, ask.shape, state.score) < 0
                    assert capacities_in(state) is None or lend(state, ask) is None

    @invariant()
    def everything_that_waits_says_why(self) -> None:
        self.scenario.everybody_says_why()
