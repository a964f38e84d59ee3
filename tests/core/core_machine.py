"""Anything that may happen to a core under the fair discipline, in any order, held against a naive reading of the rules."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from core.builders import Scenario, a_pod, limits, replaced
from treadle.core.effects import Bind
from treadle.core.events import ApplicationGone, ApplicationSeen, PodRefused, PodSeen, ResizeFailed
from treadle.core.kernel.nodes.rules import host_ports, static_refusal
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.state import State
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.kernel.tree.members import Application, Ask, Queue
from treadle.core.model import NO_CONSTRAINTS, ApplicationSpec, Constraints, HostPort, Limit, Taint, Toleration

QUEUES = ["root.a", "root.b", "root.b.x", "root.b.y", "root.c", "root.c.z", "root.default"]


NODES = ["n0", "n1", "n2", "n3"]


CONSTRAINTS = [
    NO_CONSTRAINTS,
    Constraints(selector=(("zone", "a"),)),
    Constraints(tolerations=(Toleration("gpu", "Exists"),)),
    Constraints(host_ports=(HostPort("0.0.0.0", "TCP", 80),)),
    Constraints(unsupported=("spec.resourceClaims",)),
]


policies = st.sampled_from(["drf", "drf", "fair", "fifo"])


maxima = st.sampled_from([{}, {}, limits(cpu="3"), limits(cpu="50%", memory="50%"), limits(memory="4Gi"), limits(pods="2")])


minima = st.sampled_from([{}, {}, limits(cpu="1", memory="1Gi")])


def can_take(state: State, ask: Ask, row: int) -> bool:
    """Whether a node takes a pod, by the rules alone."""
    spec = state.nodes.specs[row]
    shape = ask.shape
    return (
        spec is not None
        and not static_refusal(spec, shape.constraints)
        and all(state.nodes.free[row][position] >= value for position, value in shape.demand)
        and host_ports.free(shape.constraints.host_ports, state.nodes.ports[row])
    )


def within_maxima(ask: Ask) -> bool:
    return all(
        queue.usage[position] + value <= queue.maximum[position]
        for queue in ask.application.chain
        for position, value in ask.shape.demand
    )


def placeable(state: State, ask: Ask) -> bool:
    return (
        not ask.shape.constraints.unsupported
        and within_maxima(ask)
        and any(can_take(state, ask, row) for row in range(len(state.nodes)))
    )


def naive_choice(state: State, queue: Queue) -> Application | None:
    """Who is next: a full sort at every level, the first that has anything placeable."""
    for child in sorted(queue.children.values(), key=queue.rank):
        found = naive_choice(state, child)
        if found is not None:
            return found
    for application in sorted(queue.applications.values(), key=queue.rank):
        if any(placeable(state, ask) for ask in application.asks.values()):
            return application
    return None


class CoreMachine(RuleBasedStateMachine):
    pods: Bundle[str] = Bundle("pods")
    binds: Bundle[Bind] = Bundle("binds")

    def __init__(self) -> None:
        super().__init__()
        self.scenario = Scenario()
        self.number = 0
        self.spots: list[str] = []

    @rule(
        name=st.sampled_from(NODES),
        cpu=st.integers(0, 6),
        memory=st.integers(0, 12),
        pods=st.integers(0, 6),
        zone=st.sampled_from("ab"),
        odd=st.integers(0, 7),
    )
    def node(self, name: str, cpu: int, memory: int, pods: int, zone: str, odd: int) -> None:
        taints = (Taint("gpu", "", "NoSchedule"),) if odd == 0 else ()
        headroom = (("cpu", Limit(value=2000)), ("gpu", Limit(percent=50.0))) if odd in {1, 2} else ()
        extra = {"gpu": 2} if odd in {0, 1} else {}
        self.scenario.node(
            name, cpu=cpu, memory=memory, pods=pods, labels={"zone": zone}, taints=taints, unschedulable=odd == 7, resources=extra,
            headroom=headroom,
        )  # fmt: skip

    @rule(name=st.sampled_from(NODES))
    def no_node(self, name: str) -> None:
        self.scenario.without_node(name)

    @rule(cpu=st.integers(1, 6), zone=st.sampled_from("ab"))
    def a_node_with_a_new_name(self, cpu: int, zone: str) -> None:
        self.number += 1
        self.spots.append(f"spot-{self.number}")
        self.scenario.node(self.spots[-1], cpu=cpu, memory=cpu, labels={"zone": zone})

    @rule()
    def the_oldest_such_node_goes(self) -> None:
        if self.spots:
            self.scenario.without_node(self.spots.pop(0))

    @rule()
    def everything_is_tidied(self) -> None:
        state = self.scenario.core.state
        prune(state)
        close_up(state)
        self.scenario.core.check()

    @rule(
        path=st.sampled_from([*QUEUES, "root"]),
        weight=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        policy=policies,
        maximum=maxima,
        minimum=minima,
        running=st.integers(0, 9),
    )
    def queue(self, path: str, weight: float, policy: str, maximum: Any, minimum: Any, running: int) -> None:
        fields = {} if path == "root" else {"maximum": maximum, "minimum": minimum}
        self.scenario.queue(path, weight=weight, policy=policy, running=running > 0, **fields)

    @rule(path=st.sampled_from(QUEUES))
    def no_queue(self, path: str) -> None:
        self.scenario.without_queue(path)

    @rule(name=st.integers(0, 3), queue=st.sampled_from(["", *QUEUES]), priority=st.integers(-1, 1))
    def application(self, name: int, queue: str, priority: int) -> None:
        self.scenario.application(f"app{name}", queue, priority)

    @rule(name=st.integers(0, 3))
    def no_application(self, name: int) -> None:
        self.scenario.without_application(f"app{name}")

    @rule(queue=st.sampled_from(["", *QUEUES]))
    def namespace(self, queue: str) -> None:
        self.scenario.namespace("ns", queue)

    @rule(
        target=pods,
        count=st.integers(1, 5),
        queue=st.sampled_from(["", "nowhere", "root", *QUEUES]),
        application=st.integers(0, 3),
        cpu=st.integers(0, 3),
        memory=st.integers(0, 4),
        constraints=st.sampled_from(CONSTRAINTS),
        priority=st.integers(0, 1),
        gpu=st.sampled_from([0, 0, 1]),
        gated=st.sampled_from([False, False, True]),
    )
    def new_pods(
        self,
        count: int,
        queue: str,
        application: int,
        cpu: int,
        memory: int,
        constraints: Constraints,
        priority: int,
        gpu: int,
        gated: bool,
    ) -> Any:
        names = []
        for _ in range(count):
            self.number += 1
            names.append(f"pod-{self.number}")
            self.scenario.pod(
                names[-1], queue, f"app{application}", cpu=cpu, memory=memory, constraints=constraints, priority=priority, gated=gated,
                resources={"gpu": gpu} if gpu else {}, created=float(self.number),
            )  # fmt: skip
        return multiple(*names)

    @rule(
        target=pods,
        count=st.integers(1, 3),
        queue=st.sampled_from(["", "nowhere", *QUEUES]),
        application=st.integers(0, 4),
        cpu=st.integers(0, 3),
        requests=st.sampled_from([0, 0, 0, 1]),
        node=st.sampled_from(["", "", "", *NODES, "unheard-of"]),
        constraints=st.sampled_from(CONSTRAINTS),
        says=st.sampled_from([True, True, False]),
        gang=st.sampled_from([0, 0, 0, 2, 3]),
    )
    def new_opportunistic_pods(
        self,
        count: int,
        queue: str,
        application: int,
        cpu: int,
        requests: int,
        node: str,
        constraints: Constraints,
        says: bool,
        gang: int,
    ) -> Any:
        names = []
        uses = (("cpu", cpu * 1000), ("memory", 0))
        for _ in range(count):
            self.number += 1
            names.append(f"pod-{self.number}")
            self.scenario.pod(
                names[-1], queue, f"app{application}", cpu=requests, memory=0, constraints=constraints, node=node,
                says_type=says, opportunistic=uses if says else (), if_opportunistic=() if says or requests else uses,
                created=float(self.number), **({"gang": "g", "gang_minimums": (("g", gang),)} if gang and says and not requests else {}),
            )  # fmt: skip
        return multiple(*names)

    @rule(application=st.integers(0, 4), says=st.sampled_from([True, True, False, None]))
    def application_says_what_its_pods_are(self, application: int, says: bool | None) -> None:
        identity = f"ns/app{application}"
        self.scenario.tell(
            ApplicationGone(identity) if says is None else ApplicationSeen(ApplicationSpec(identity, opportunistic=says))
        )

    @rule(node=st.sampled_from([*NODES, "unheard-of"]), cpu=st.integers(0, 3), ours=st.booleans())
    def pod_bound_by_somebody(self, node: str, cpu: int, ours: bool) -> None:
        self.number += 1
        self.scenario.pod(
            f"pod-{self.number}", "root.a", "app0", scheduler="treadle" if ours else "other", node=node, cpu=cpu, memory=0
        )

    @rule(number=st.integers(0, 3), node=st.sampled_from([*NODES, "unheard-of", ""]), cpu=st.integers(0, 3), bound=st.booleans())
    def pod_expected_by_another_scheduler(self, number: int, node: str, cpu: int, bound: bool) -> None:
        where = {"node": node} if bound else {"expected": node}
        self.scenario.pod(f"theirs-{number}", "", "other", scheduler="default-scheduler", cpu=cpu, memory=0, **where)

    @rule(number=st.integers(0, 3))
    def such_a_pod_goes(self, number: int) -> None:
        self.scenario.gone(f"theirs-{number}")

    @rule(name=consumes(pods))
    def pod_is_refused_by_its_kubelet(self, name: str) -> None:
        record = self.scenario.core.state.pods.get(name)
        if record is not None and record.spec.node:
            self.scenario.tell(PodRefused(record.spec, "OutOfcpu", "no room"))

    @rule(name=consumes(pods))
    def pod_goes(self, name: str) -> None:
        self.scenario.gone(name)

    @rule(
        name=pods,
        gated=st.booleans(),
        deleting=st.booleans(),
        cpu=st.integers(0, 3),
        queue=st.sampled_from(QUEUES),
        idle=st.booleans(),
    )
    def pod_changes(self, name: str, gated: bool, deleting: bool, cpu: int, queue: str, idle: bool) -> None:
        record = self.scenario.core.state.pods.get(name)
        if record is not None:
            changed = a_pod(
                name,
                queue,
                record.spec.application.partition("/")[2],
                cpu=cpu,
                gated=gated and not record.spec.node,
                deleting=deleting,
                node=record.spec.node,
                opportunistic=record.spec.opportunistic if idle else (),
            )
            self.scenario.tell(PodSeen(replaced(changed, created=record.spec.created)))

    @rule(name=pods, cpu=st.integers(0, 3), demotes=st.booleans(), itself=st.booleans())
    def pod_asks_for_the_other_type(self, name: str, cpu: int, demotes: bool, itself: bool) -> None:
        record = self.scenario.core.state.pods.get(name)
        if record is None or not record.spec.node:
            return
        uses = (("cpu", cpu * 1000), ("memory", 0))
        spec = self.scenario.core.state.opportunistic.turning.promoting.get(name, record.spec)
        if all(one == "pods" for one, _ in spec.demand):
            self.scenario.tell(PodSeen(replaced(spec, opportunistic=uses, promotes=uses, promotes_itself=itself, demotes=False)))
        elif demotes:
            self.scenario.tell(PodSeen(replaced(spec, opportunistic=uses, demotes=True, promotes=(), promotes_itself=False)))

    @rule(name=pods, outcome=st.sampled_from(["shown", "shown", "failed", "refused", "taken back"]))
    def its_requests_are_changed_or_not(self, name: str, outcome: str) -> None:
        state = self.scenario.core.state
        record, turning = state.pods.get(name), state.opportunistic.turning
        if record is None or name not in turning.until:
            return
        spec = turning.promoting.get(name, record.spec)
        if outcome == "taken back":
            self.scenario.tell(PodSeen(replaced(spec, promotes=(), promotes_itself=False, demotes=False)))
        elif outcome != "shown":
            self.scenario.tell(ResizeFailed(name, "no", outcome == "refused"))
        elif name in turning.promoting:
            wants = tuple(one for one in spec.promotes if one[1])
            self.scenario.tell(
                PodSeen(replaced(spec, demand=(*wants, ("pods", 1)), opportunistic=(), promotes=(), promotes_itself=False))
            )
        else:
            self.scenario.tell(PodSeen(replaced(spec, demand=(("pods", 1),), demotes=False)))

    @rule(target=binds, budget=st.sampled_from([1, 3, 1000]))
    def plan(self, budget: int) -> Any:
        return multiple(*self.scenario.plan(budget))

    @rule(target=binds)
    def plan_as_the_naive_reading_would(self) -> Any:
        """One decision at a time: the core chooses the application that a full sort would choose."""
        made = []
        state = self.scenario.core.state
        for _ in range(6):
            self.scenario.plan(0)
            expected = naive_choice(state, state.tree.root)
            binds = self.scenario.plan(1)
            guaranteed = [bind for bind in binds if bind.uid not in state.opportunistic.of]
            assert [bind.application for bind in guaranteed] == ([expected.id] if expected is not None else [])
            made += binds
            if not guaranteed:
                break
        return multiple(*made)

    @rule(bind=consumes(binds))
    def bind_confirmed(self, bind: Bind) -> None:
        record = self.scenario.core.state.pods.get(bind.uid)
        if record is not None and record.state is PodState.ASSUMED:
            self.scenario.confirm([bind])

    @rule(bind=consumes(binds), kind=st.sampled_from(["transient", "refused"]))
    def bind_failed(self, bind: Bind, kind: str) -> None:
        self.scenario.fail(bind, kind)

    @rule(bind=consumes(binds), node=st.sampled_from(NODES))
    def bound_elsewhere(self, bind: Bind, node: str) -> None:
        record = self.scenario.core.state.pods.get(bind.uid)
        if record is not None:
            self.scenario.tell(PodSeen(replaced(record.spec, node=node)))

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.scenario.wait(seconds)

    @rule(scoring=st.sampled_from(["Pack", "Spread"]), aliases=st.sampled_from([(), ("other",)]), left=st.sampled_from([0, 0, 1]))
    def scheduler(self, scoring: str, aliases: tuple[str, ...], left: int) -> None:
        headroom = (("cpu", Limit(value=1000)),) if left else ()
        self.scenario.scheduler(scoring=scoring, aliases=aliases, headroom=headroom)

    @rule()
    def nothing_placeable_is_left_after_a_full_plan(self) -> None:
        self.scenario.wait(1.0).plan()
        state = self.scenario.core.state
        for record in state.pods.values():
            ask = record.ask
            assert (ask is None) == (record.state is not PodState.WAITING or record.spec.uid in state.opportunistic.waiting)
            if ask is not None:
                assert not ask.active
                if ask.application.queue is not None:
                    assert not placeable(state, ask), self.scenario.why(record.spec.uid)

    @rule()
    def shares_are_within_the_cluster_and_the_demand(self) -> None:
        self.scenario.wait(1.0).plan(0)
        core = self.scenario.core
        core.refresh_shares()
        state = core.state
        for queue in state.tree.queues.values():
            for position in state.cluster.counted:
                assert 0 <= queue.fair_share[position] <= max(queue.demand[position], 0)

    @invariant()
    def an_opportunistic_pod_counts_in_no_queue(self) -> None:
        state = self.scenario.core.state
        for uid, record in state.pods.items():
            if uid in state.opportunistic.of:
                assert record.part is None
                if record.state is not PodState.ASSUMED:  # what was decided stays counted until its outcome is known
                    assert record.spec.demand == (("pods", 1),)

    @invariant()
    def every_waiting_pod_can_say_why(self) -> None:
        self.scenario.everybody_says_why()
