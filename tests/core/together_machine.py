"""Pods that are placed together come and go beside others, with a solver and without; where they go is held against a plain reading of their constraints."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import a_node, a_pod, limits
from core.clusters import Cluster, settings
from core.kernel.together.sets import HIGHS, Answering, discontent
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, BindDone, BindFailed, NodeGone, NodeSeen, PodGone, PodSeen
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, PodRules, PodSpec
from treadle.core.model.programs import Solution
from treadle.core.model.scheduler import TogetherSettings
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.processor import POPULAR_TAGS, SERIAL

NODES = [f"n{number}" for number in range(5)]
SETS = {"t0": SERIAL, "t1": POPULAR_TAGS}
TAGS = ["a", "b", "c"]
SOLVERS = {"none": None, "highs": HIGHS, "infeasible": Answering(Solution("infeasible"))}
singles = st.builds(
    lambda kind, scope, tag: f"{kind},{scope},{tag}",
    st.sampled_from(["in", "notin", "notin"]),
    st.sampled_from(["node", "node", "rack"]),
    st.sampled_from(TAGS),
) | st.builds(
    lambda scope, tag, most: f"cardinality,{scope},{tag},0,{most}",
    st.sampled_from(["node", "rack"]),
    st.sampled_from(TAGS),
    st.integers(0, 2),
)
constraints = (
    st.sampled_from(["", ""])
    | singles
    | st.builds(lambda one, other: f"or({one}:{other})", singles, singles)
    | st.builds(lambda one, other: f"delayed-or(20s,{one}:1s,{other})", singles, singles)
)


class TogetherMachine(RuleBasedStateMachine):
    """A few nodes in two racks, two applications that are placed together and one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Cluster()
        self.capacity = False
        self.pods: dict[str, PodSpec] = {}
        self.on: dict[str, str] = {}
        self.flying: dict[str, str] = {}
        self.solver = "none"
        self.made = 0

    @initialize(
        solver=st.sampled_from(["none", "highs", "highs", "infeasible"]), most=st.sampled_from([0, 0, 6]), capacity=st.booleans()
    )
    def begin(self, solver: str, most: int, *, capacity: bool) -> None:
        self.capacity = capacity
        for name, iterator in SETS.items():
            self.at.tell(ApplicationSeen(ApplicationSpec(f"ns/{name}", together=iterator)))
        if capacity:
            self.at.share("root.default", "100%", user_limit_factor=0.5 if most else -1.0)
        elif most:
            self.at.queue("root.default", maximum=limits(cpu=most))
        self.solved_by(solver)
        for name in NODES[:3]:
            self.node(name, 3, "r0" if name == "n0" else "r1")

    @rule(solver=st.sampled_from(["none", "highs", "infeasible"]))
    def solved_by(self, solver: str) -> None:
        self.solver = solver
        self.at.core.state.settings.solver = SOLVERS[solver]
        together = TogetherSettings(solver=solver != "none")
        if self.capacity:
            self.at.scheduler(discipline="Capacity", capacity=settings(), together=together)
        else:
            self.at.scheduler(together=together)

    @rule(name=st.sampled_from(NODES), cpu=st.sampled_from([0, 1, 3, 4]), rack=st.sampled_from(["r0", "r1", ""]))
    def node(self, name: str, cpu: int, rack: str) -> None:
        labels = {RACK_LABEL: rack} if rack else {}
        self.at.tell(NodeSeen(a_node(name, cpu=cpu, labels=labels)) if cpu else NodeGone(name))

    @rule(
        application=st.sampled_from([*SETS, *SETS, "alone"]),
        tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
        constraint=constraints,
        count=st.integers(1, 3),
        cpu=st.integers(1, 2),
        priority=st.sampled_from([0, 0, 0, 1]),
        labelled=st.booleans(),
    )
    def come(self, application: str, tags: tuple[str, ...], constraint: str, count: int, cpu: int, priority: int, *, labelled: bool) -> None:  # fmt: skip
        identity = f"ns/{application}"
        rules = PodRules("ns", placement=(parse_expression(constraint),), application=identity) if constraint else None
        for _ in range(count):
            self.made += 1
            labels = (("each", str(self.made)),) if labelled else ()
            spec = a_pod(
                f"p{self.made}", application=application, cpu=cpu, tags=tags, priority=priority, labels=labels, constraints=Constraints(pods=rules)
            )  # fmt: skip
            self.pods[spec.uid] = spec
            self.at.tell(PodSeen(spec))

    @rule(data=st.data(), count=st.integers(1, 3))
    def go(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            if self.pods:
                uid = data.draw(st.sampled_from(sorted(self.pods)))
                for known in (self.pods, self.on, self.flying):
                    known.pop(uid, None)
                self.at.tell(PodGone(uid))

    @rule(data=st.data(), done=st.sampled_from([True, True, False]))
    def bound(self, data: st.DataObject, *, done: bool) -> None:
        for _ in range(3):
            if self.flying:
                uid = data.draw(st.sampled_from(sorted(self.flying)))
                node = self.flying.pop(uid)
                if done:
                    self.at.tell(BindDone(uid))
                    self.pods[uid] = replace(self.pods[uid], node=node)
                    self.at.tell(PodSeen(self.pods[uid]))
                else:
                    del self.on[uid]
                    self.at.tell(BindFailed(uid, "transient", "no"))

    @rule(seconds=st.sampled_from([1, 30]))
    def wait(self, seconds: int) -> None:
        self.at.now += seconds

    @rule()
    def tidied(self) -> None:
        prune(self.at.core.state)
        close_up(self.at.core.state)

    @rule(budget=st.sampled_from([1, 1000]))
    def planned(self, budget: int) -> None:
        """What is placed together may be where it is beside all others; with a solver nothing that was content before is not any more."""
        before = {uid: node for uid, node in self.on.items() if self._of_a_set(uid)}
        content = before.keys() - set(self._discontent(before))
        sets = sum(self.at.core.view.sets.values())
        now = {effect.uid: effect.node for effect in self.at.core.plan(self.at.now, budget) if isinstance(effect, Bind)}
        self.on.update(now)
        self.flying.update(now)
        after = {uid: node for uid, node in self.on.items() if self._of_a_set(uid)}
        wrong = set(self._discontent(after))
        if self.solver != "none":
            assert not wrong & (content | now.keys()), f"{sorted(wrong)} may not be where they are: {after}"
        elif sum(self.at.core.view.sets.values()) == sets + 1:
            assert not wrong & now.keys(), f"{sorted(wrong)} may not be where they are: {after}"

    def _of_a_set(self, uid: str) -> bool:
        return self.pods[uid].application[3:] in SETS

    def _discontent(self, on: dict[str, str]) -> list[str]:
        known = {node.name for node in self.at.core.state.nodes.specs if node is not None}
        return discontent(self.at, self.pods.values(), {uid: node for uid, node in on.items() if node in known})

    @rule()
    def anew(self) -> None:
        """A core that knows no more than the facts goes on with what is known."""
        core = self.at.core
        again = Core(core.state.settings, validate=True)
        for event in core.facts():
            again.handle(event, self.at.now)
        again.plan(self.at.now, 0)
        assert {uid for uid, record in again.state.pods.items() if record.node >= 0} == set(self.on)

    @invariant()
    def everybody_says_why(self) -> None:
        for uid, record in self.at.core.state.pods.items():
            if record.state is PodState.WAITING:
                reason, words = self.at.why(uid)
                assert reason
                assert words
