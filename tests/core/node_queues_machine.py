"""Queues at nodes, and whatever may happen to nodes, pods, samples and settings meanwhile: who stands where, and who gets what a node has idle, is held against a plain reading of the documentation."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import Scenario, limits, replaced
from core.core_machine import CONSTRAINTS, NODES, QUEUES
from treadle.core.events import ApplicationSeen, NodeSampled, PodSeen, UsageKnown
from treadle.core.kernel.nodes.rules import static_refusal
from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic.caps import Caps
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.placing import held_by_queue, obstacle
from treadle.core.kernel.opportunistic.room import Room
from treadle.core.kernel.opportunistic.sets import is_of_set
from treadle.core.kernel.opportunistic.together import Together
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.model import ApplicationSpec, Taint
from treadle.core.model.opportunistic import METRICS, REQUESTS, NodePolicy, NodeQueueSettings, OpportunisticSettings, Threshold
from treadle.core.rules.constraints.processor import SERIAL

QUIET = 6
"""Passes without anything new after which nothing more may come to be."""

queues_at_nodes = st.builds(
    lambda by_wait, candidates, nodes_per_pod, deviations, least, more: NodeQueueSettings(
        by_wait, candidates, nodes_per_pod, deviations, least, least + more
    ),
    st.booleans(),
    st.sampled_from([1, 2, 10]),
    st.sampled_from([1, 2, 16]),
    st.sampled_from([0.0, 1.0, 100.0]),
    st.sampled_from([1, 1, 2, 5]),
    st.sampled_from([0, 1, 10]),
)
policies = st.builds(
    lambda at, most: NodePolicy((("cpu", Threshold(at, 900)),) if at else (), most),
    st.sampled_from([0, 1, 500, 800]),
    st.sampled_from([0, 500, 1000, 1000, 2000]),
)


class NodeQueuesMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario()
        self.number = 0
        self.opportunistic = OpportunisticSettings()

    @initialize(queues=queues_at_nodes, nodes=st.integers(1, 3), running=st.integers(0, 12))
    def begin(self, queues: NodeQueueSettings, nodes: int, running: int) -> None:
        self.opportunistic = OpportunisticSettings(node_queues=queues)
        self.scenario.scheduler(opportunistic=self.opportunistic)
        for path in QUEUES:
            self.scenario.queue(path)
        for name in NODES[:nodes]:
            self.scenario.node(name, cpu=4, memory=8, labels={"zone": "a"})
        self.pods_come(running, 0, 1, 0, 0, "")
        self.scenario.confirm(self.scenario.plan())

    @rule(
        queues=st.one_of(st.none(), queues_at_nodes, queues_at_nodes, queues_at_nodes),
        by_usage=st.sampled_from([False, False, True]),
        policy=policies,
    )
    def settings_change(self, queues: NodeQueueSettings | None, by_usage: bool, policy: NodePolicy) -> None:
        policy = policy if by_usage else NodePolicy((), policy.most)
        self.opportunistic = OpportunisticSettings(METRICS if by_usage else REQUESTS, policy=policy, node_queues=queues)
        self.scenario.scheduler(opportunistic=self.opportunistic)

    @rule(
        name=st.sampled_from(NODES),
        cpu=st.integers(0, 6),
        slots=st.sampled_from([110, 110, 2]),
        zone=st.sampled_from("aab"),
        odd=st.integers(0, 7),
    )
    def a_node(self, name: str, cpu: int, slots: int, zone: str, odd: int) -> None:
        taints = (Taint("gpu", "", "NoSchedule"),) if odd == 0 else ()
        self.scenario.node(name, cpu=cpu, memory=8, pods=slots, labels={"zone": zone}, taints=taints, unschedulable=odd == 1)

    @rule(name=st.sampled_from(NODES))
    def no_node(self, name: str) -> None:
        self.scenario.without_node(name)

    @rule(
        names=st.lists(st.sampled_from([*NODES, "unheard-of"]), min_size=1, max_size=4),
        cpu=st.sampled_from([-(1 << 70), 0, 0, 1000, 4000, 1 << 70]),
        ago=st.sampled_from([0.0, 0.0, 5.0, 59.0, 61.0, -3600.0, 1e12]),
    )
    def nodes_are_sampled(self, names: list[str], cpu: int, ago: float) -> None:
        for name in names:
            self.scenario.tell(NodeSampled(name, (("cpu", cpu), ("memory", 0)), self.scenario.now - ago, 1.0))

    @rule(known=st.booleans())
    def samples_can_be_had_or_not(self, known: bool) -> None:
        self.scenario.tell(UsageKnown(known, "" if known else "404"))

    @rule(
        count=st.integers(1, 8),
        application=st.integers(0, 3),
        cpu=st.sampled_from([0, 1, 1, 2, 4, 99]),
        priority=st.integers(0, 2),
        kind=st.integers(0, 9),
        gang=st.sampled_from(["", "", "", "g"]),
    )
    def pods_come(self, count: int, application: int, cpu: int, priority: int, kind: int, gang: str) -> None:
        queue = ["root.a", "root.b.x", "root.b.y", "root.a"][application]
        for _ in range(count):
            self.number += 1
            self.scenario.pod(
                f"pod-{self.number}", queue, f"app{application}", cpu=0, memory=0, says_type=True, priority=priority,
                opportunistic=(("cpu", cpu * 1000), ("memory", 0)), created=float(self.number),
                constraints=CONSTRAINTS[kind] if kind < len(CONSTRAINTS) else CONSTRAINTS[0],
                gang=gang, gang_minimums=(("g", 1 + priority),) if gang else (),
            )  # fmt: skip

    @rule(cpu=st.integers(1, 3))
    def a_guaranteed_pod_comes(self, cpu: int) -> None:
        self.number += 1
        self.scenario.pod(f"pod-{self.number}", "root.c.z", "busy", cpu=cpu, memory=0)

    @rule(application=st.integers(0, 3), together=st.sampled_from(["", "", SERIAL]))
    def application_is_placed_together_or_not(self, application: int, together: str) -> None:
        self.scenario.tell(ApplicationSeen(ApplicationSpec(f"ns/app{application}", together=together)))

    @rule(path=st.sampled_from(["root.a", "root.b", "root.b.x"]), most=st.sampled_from([None, "0", "1", "3", "50%"]))
    def queue_limits_its_opportunistic_pods(self, path: str, most: str | None) -> None:
        self.scenario.queue(path, max_opportunistic={} if most is None else limits(cpu=most))

    @rule(which=st.integers(0, 99), count=st.integers(1, 3))
    def pods_on_nodes_end(self, which: int, count: int) -> None:
        there = sorted(uid for uid, record in self.scenario.core.state.pods.items() if record.spec.node)
        self.scenario.gone(*{there[(which + at) % len(there)] for at in range(count) if there})

    @rule(which=st.integers(0, 99))
    def one_that_waits_is_deleted(self, which: int) -> None:
        there = [*self.scenario.core.state.opportunistic.waiting]
        if there:
            self.scenario.gone(there[which % len(there)])

    @rule(which=st.integers(0, 99), what=st.sampled_from(["guaranteed", "gated", "gang", "deleting", "nothing"]))
    def one_that_waits_is_edited(self, which: int, what: str) -> None:
        waiting = self.scenario.core.state.opportunistic.waiting
        if waiting:
            spec = waiting[[*waiting][which % len(waiting)]].spec
            edits = {
                "guaranteed": {"opportunistic": ()},
                "gated": {"gated": True},
                "gang": {"gang": "g", "gang_minimums": (("g", 2),)},
                "deleting": {"deleting": True},
            }
            self.scenario.tell(PodSeen(replaced(spec, version=str(which), **edits.get(what, {}))))

    @rule(
        fails=st.sampled_from([0, 0, 1]),
        budget=st.sampled_from([1, 3, 1000, 1000]),
        seconds=st.sampled_from([0.1, 1.0, 1.0, 5.0, 70.0]),
    )
    def plan(self, fails: int, budget: int, seconds: float) -> None:
        binds = self.scenario.wait(seconds).plan(budget)
        for bind in binds[:fails]:
            self.scenario.fail(bind)
        self.scenario.confirm(binds[fails:])

    @rule()
    def who_stands_where_is_as_documented(self) -> None:
        scenario = self.scenario
        scenario.plan()
        for _ in range(QUIET):
            binds = scenario.wait(1.1).plan()
            scenario.confirm(binds)
        if binds:
            return  # guaranteed pods were evicted, or more came than there are places in some passes
        state = scenario.core.state
        kept, settings = state.opportunistic, state.scheduler.opportunistic.node_queues
        queues = kept.queues
        if settings is None:
            assert not kept.waiting or not queues.at
            settings = NodeQueueSettings()
        room, caps, together = Room(state), Caps(state, held_by_queue(state)), Together(state)
        able = {uid: record for uid, record in kept.waiting.items() if self.may_be_placed(record, caps, together)}
        closed = set()
        for name, line in queues.at.items():
            if not kept.waiting:
                break
            row = state.nodes.row[name]
            assert len(line) <= settings.most
            for uid in line:
                record = kept.waiting[uid]
                assert record.shape.gang == NO_GANG
                assert not is_of_set(state, record)
                if not room.has(row, vector(record.spec.opportunistic)):
                    assert uid in able, "who may not be placed keeps no room"
                    closed.add(row)
                    break
        for uid, nodes in queues.of.items():
            assert uid not in kept.waiting or len(nodes) <= settings.nodes_per_pod
        for record in able.values():
            if record.shape.gang != NO_GANG or is_of_set(state, record):
                continue
            wants = vector(record.spec.opportunistic)
            for row, spec in enumerate(state.nodes.specs):
                if spec is None or row in closed or static_refusal(spec, record.shape.constraints):
                    continue
                assert not (room.has(row, wants) and room.takes(row, record) and room.may_be_on(row, record)), (
                    f"{record.spec.uid} could go to {spec.name}"
                )

    def may_be_placed(self, record: PodRecord, caps: Caps, together: Together) -> bool:
        application = record.application
        return (
            application is not None
            and application.queue is not None
            and obstacle(self.scenario.core.state, record, together) is None
            and caps.full(application.queue, vector(record.spec.opportunistic)) is None
        )

    @invariant()
    def every_waiting_pod_can_say_why(self) -> None:
        self.scenario.everybody_says_why()
