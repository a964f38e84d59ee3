"""Pods that prefer something come and go on nodes that change; the points that the core gives nodes, and its choice, are held against a naive reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.between_machine import APPS, SPACES, selectors
from core.builders import Scenario, a_node, a_pod
from core.naive_preferences import HOST, Liking
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import BindDone, BindFailed, NamespaceSeen, NodeGone, NodeSeen, PodGone, PodSeen
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import Constraints, PodRules, PodSpec, PodTerm, Requirement, SpreadTerm, Taint, Toleration, Wish
from treadle.core.model.scheduler import Weights

NODES = [f"n{number}" for number in range(6)]
MB = 1 << 20
topologies = st.sampled_from(["zone", "zone", HOST, "rack"])
terms = st.builds(
    PodTerm,
    topologies,
    selectors,
    st.lists(st.sampled_from(SPACES), min_size=1, max_size=2, unique=True).map(tuple),
    st.sampled_from([None, None, None, (), (Requirement("team", "In", ("x",)),)]),
)
preferred = st.dictionaries(terms, st.sampled_from([1, 10, 100, -1, -50]), max_size=2).map(
    lambda found: tuple((weight, term) for term, weight in found.items())
)
spreads = st.lists(
    st.builds(
        SpreadTerm,
        topology=topologies,
        max_skew=st.sampled_from([1, 1, 3]),
        selector=selectors,
        honor_affinity=st.booleans(),
        honor_taints=st.booleans(),
    ),
    max_size=2,
    unique_by=lambda one: one.topology,
).map(tuple)
rules = st.builds(
    PodRules,
    st.just("ns"),
    affinity=st.sampled_from([(), (), ()]) | st.lists(terms, max_size=1).map(tuple),
    preferred=preferred,
    preferred_spread=spreads,
)
wishes = st.sampled_from(
    [None, None, Wish(terms=((10, (Requirement("disk", "In", ("ssd",)),)), (3, (Requirement("zone", "Exists"),))))]
)
tolerations = st.sampled_from(
    [(), (), (Toleration("slow", "Exists"),), (Toleration("old", "Exists", effect="PreferNoSchedule"),)]
)
node_labels = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from(["z0", "z1", "z2"]),
        "rack": st.sampled_from(["r0", "r1"]),
        "disk": st.sampled_from(["ssd", "hdd"]),
    },
)
node_taints = st.lists(
    st.builds(
        Taint,
        st.sampled_from(["slow", "old"]),
        st.just(""),
        st.sampled_from(["PreferNoSchedule", "PreferNoSchedule", "NoSchedule"]),
    ),
    max_size=2,
    unique=True,
).map(tuple)
images = st.lists(
    st.tuples(st.sampled_from([("a:1",), ("b:1", "b:2")]), st.sampled_from([10 * MB, 300 * MB, 2000 * MB])),
    max_size=2,
    unique_by=lambda one: one[0],
).map(tuple)
weights = st.builds(
    Weights,
    taints=st.sampled_from([3, 0]),
    spread=st.sampled_from([2, 5]),
    pod_affinity=st.sampled_from([2, 0]),
    images=st.sampled_from([1, 1, 0]),
    required_affinity=st.sampled_from([1, 0, 7]),
)


class PreferencesMachine(RuleBasedStateMachine):
    """A few nodes, and pods of ours and of others."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Scenario()
        self.cluster = Liking()
        self.pods: dict[str, PodSpec] = {}
        self.flying: dict[str, str] = {}
        self.made = 0

    @rule(
        name=st.sampled_from(NODES),
        labels=node_labels,
        taints=node_taints,
        host=st.booleans(),
        images=images,
        cpu=st.integers(1, 4),
    )
    def node(self, name: str, labels: dict[str, str], taints: tuple[Taint, ...], host: bool, images: Any, cpu: int) -> None:
        if host:
            labels = {**labels, HOST: name}
        spec = a_node(name, cpu=cpu, labels=labels, taints=taints, images=images)
        self.cluster.nodes[name] = spec
        self.at.tell(NodeSeen(spec))

    @initialize(data=st.data())
    def there_are_nodes_with_pods(self, data: st.DataObject) -> None:
        for number, name in enumerate(NODES[:5]):
            labels = {"zone": f"z{number % 3}", HOST: name, "rack": f"r{number % 2}"}
            spec = a_node(name, cpu=8, labels=labels)
            self.cluster.nodes[name] = spec
            self.at.tell(NodeSeen(spec))
        for app, on in data.draw(st.lists(st.tuples(st.sampled_from(APPS), st.sampled_from(NODES[:5])), max_size=8)):
            self.made += 1
            self._told(a_pod(f"p{self.made}", labels=(("app", app),), node=on, memory=0, scheduler="default-scheduler"))

    @rule(name=st.sampled_from(NODES))
    def without_node(self, name: str) -> None:
        if self.cluster.nodes.pop(name, None) is not None:
            self.at.tell(NodeGone(name))

    @rule(name=st.sampled_from(SPACES), team=st.sampled_from(["", "x", "y"]))
    def namespace(self, name: str, team: str) -> None:
        labels = {"team": team} if team else {}
        self.cluster.namespaces[name] = labels
        self.at.tell(NamespaceSeen(name, "", tuple(labels.items())))

    @rule(weights=weights, scoring=st.sampled_from(["Pack", "Spread"]))
    def scheduler(self, weights: Weights, scoring: str) -> None:
        self.cluster.weights = weights
        self.at.scheduler(weights=weights, scoring=scoring)

    @rule(
        space=st.sampled_from(SPACES),
        app=st.sampled_from(APPS),
        rules=rules | st.none(),
        wish=wishes,
        tolerations=tolerations,
        images=st.sampled_from([(), ("a:1",), ("a:1", "b:2")]),
        on=st.sampled_from([None, None, None, None, *NODES[:3]]),
        ours=st.booleans(),
        copies=st.integers(1, 3),
    )
    def pods_come(
        self,
        space: str,
        app: str,
        rules: PodRules | None,
        wish: Wish | None,
        tolerations: tuple[Toleration, ...],
        images: tuple[str, ...],
        on: str | None,
        ours: bool,
        copies: int,
    ) -> None:
        for _ in range(copies):
            self.made += 1
            name = f"p{self.made}"
            own = None if rules is None else replace(rules, namespace=space, labels=(("app", app), ("tier", "")))
            if own is not None and not (own.affinity or own.preferred or own.preferred_spread):
                own = None
            spec = a_pod(
                name,
                namespace=space,
                application=f"{space}/{app}",
                labels=(("app", app),),
                constraints=Constraints(tolerations=tolerations, wish=wish, pods=own),
                images=images,
                scheduler="treadle" if ours or on is None else "default-scheduler",
                node=on or "",
                memory=0,
            )
            spec.application = f"{space}/{app}"
            self._told(spec)

    def _told(self, spec: PodSpec) -> None:
        self.pods[spec.uid] = spec
        self.flying.pop(spec.uid, None)
        if spec.node:
            self.cluster.placed[spec.uid] = (spec, spec.node)
        else:
            self.cluster.placed.pop(spec.uid, None)
        self.at.tell(PodSeen(spec))

    @rule(data=st.data())
    def pod_goes(self, data: st.DataObject) -> None:
        if self.pods:
            name = data.draw(st.sampled_from(sorted(self.pods)))
            del self.pods[name]
            self.flying.pop(name, None)
            self.cluster.placed.pop(name, None)
            self.at.tell(PodGone(name))

    @rule(data=st.data(), app=st.sampled_from(APPS))
    def pod_is_relabelled_or_begins_to_go(self, data: st.DataObject, app: str) -> None:
        there = sorted(name for name, spec in self.pods.items() if name not in self.flying)
        if there:
            spec = self.pods[data.draw(st.sampled_from(there))]
            changed = (
                replace(spec, deleting=True) if data.draw(st.booleans()) and spec.node else replace(spec, labels=(("app", app),))
            )
            self._told(changed)

    @rule(budget=st.sampled_from([1, 1, 1000]))
    def plan(self, budget: int) -> None:
        """Place pods; a single one goes to a node with the most points."""
        self.at.plan(0)  # what has changed is looked at
        before = {uid: self._naive(uid) for uid, record in self.at.core.state.pods.items() if record.state is PodState.WAITING}
        for bind in self.at.plan(budget):
            if budget == 1 and self._weighed(bind.uid):  # of more, the later ones have changed what nodes are worth
                self._is_best(bind, before[bind.uid])
            self.flying[bind.uid] = bind.node
            self.cluster.placed[bind.uid] = (self.pods[bind.uid], bind.node)

    @rule(more=st.booleans())
    def one_is_placed(self, more: bool) -> None:
        self.plan(budget=1)
        if more:
            self.plan(budget=1)

    @rule(data=st.data(), held=st.booleans())
    def bind_ends(self, data: st.DataObject, held: bool) -> None:
        if self.flying:
            name = data.draw(st.sampled_from(sorted(self.flying)))
            node = self.flying.pop(name)
            if held:
                self.at.tell(BindDone(name))
                self._told(replace(self.pods[name], node=node))
            else:
                self.cluster.placed.pop(name, None)
                self.at.tell(BindFailed(name, "refused", "no"))
                self.at.tell(PodSeen(self.pods[name]))

    @rule()
    def everything_is_tidied(self) -> None:
        prune(self.at.core.state)
        close_up(self.at.core.state)

    @rule()
    def a_core_that_is_told_the_same_says_the_same(self) -> None:
        self.at.plan(0)
        again = Core(self.at.core.state.settings, validate=True)
        for event in self.at.core.facts():
            again.handle(event, self.at.now)
        again.plan(self.at.now, 0)
        for uid, record in self.at.core.state.pods.items():
            if record.state is PodState.WAITING and self._weighed(uid):
                found = self._told_apart(self.at.core.view.preferences(uid))
                if any(found.values()):  # a preference that no pod has any more may be known for a while, and says nothing
                    assert self._told_apart(again.view.preferences(uid)) == found

    def _weighed(self, uid: str) -> bool:
        return self.at.core.state.pods[uid].shape.preferences is not None

    def _naive(self, uid: str) -> dict[str, dict[str, int]]:
        names = sorted(self.at.core.view.preferences(uid))
        return self.cluster.points(self.pods[uid], names) if names else {}

    def _is_best(self, bind: Bind, points: dict[str, dict[str, int]]) -> None:
        state = self.at.core.state
        record = state.pods[bind.uid]
        row_of, nodes = state.nodes.row, state.nodes
        worth = {}
        for name, each in points.items():
            row = row_of[name]
            free = list(nodes.free[row])
            if name == bind.node:  # as it was before
                for position, value in record.shape.demand:
                    free[position] += value
            left = state.score(free[0], free[1], record.shape.memory, record.shape.cpu, nodes.per_memory[row], nodes.per_cpu[row])
            worth[name] = sum(each.values()) - 50 * self.cluster.weights.resources * left
        assert worth[bind.node] >= max(worth.values()) - 1e-6, (bind.node, worth)

    @staticmethod
    def _told_apart(scores: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
        """Points without the plugins that say the same of all nodes."""
        plugins = {plugin for each in scores.values() for plugin in each}
        telling = sorted(plugin for plugin in plugins if len({each.get(plugin, 0) for each in scores.values()}) > 1)
        return {name: {plugin: each.get(plugin, 0) for plugin in telling} for name, each in scores.items()}

    @invariant()
    def points_are_what_a_naive_reading_gives(self) -> None:
        self.at.core.plan(self.at.now, 0)
        for uid, record in self.at.core.state.pods.items():
            if record.state is not PodState.WAITING:
                continue
            if self._weighed(uid):
                found = self.at.core.view.preferences(uid)
                if found:
                    assert self._told_apart(found) == self._told_apart(self._naive(uid)), uid
            elif self.cluster.nodes:  # it prefers nothing but nodes
                points = self._told_apart(self.cluster.points(self.pods[uid], sorted(self.cluster.nodes)))
                assert {plugin for each in points.values() for plugin in each} <= {"NodeAffinity"}, uid
