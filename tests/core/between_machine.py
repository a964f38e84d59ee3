"""Pods with rules about each other come and go on nodes that change; what the core knows of them is held against a naive reading."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.builders import Scenario, a_node, a_pod
from core.naive_rules import Cluster
from treadle.core.effects import Bind
from treadle.core.events import BindDone, BindFailed, NamespaceSeen, NodeGone, NodeSeen, PodGone, PodSeen
from treadle.core.kernel.nodes.rules import static_refusal
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import (
    RACK_LABEL,
    Constraints,
    NodeSpec,
    PodRules,
    PodSpec,
    PodTerm,
    Requirement,
    SpreadTerm,
    Taint,
    Toleration,
    selects,
)
from treadle.core.model.placement_constraints import MOST, And, AttributeTarget, Or, Single, TagTarget

NODES = [f"n{number}" for number in range(6)]
SPACES = ["ns", "blue", "green"]
APPS = ["web", "db", "cache"]

labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(APPS), "tier": st.sampled_from(["a", "b"]), "one": st.sampled_from(["1", "2", "3"])}
).map(lambda found: tuple(found.items()))
requirements = st.one_of(
    st.builds(lambda value: Requirement("app", "In", (value,)), st.sampled_from(APPS)),
    st.builds(
        lambda values: Requirement("app", "In", tuple(values)),
        st.lists(st.sampled_from(APPS), min_size=2, max_size=2, unique=True),
    ),
    st.sampled_from(
        [
            Requirement("tier", "Exists"),
            Requirement("tier", "DoesNotExist"),
            Requirement("app", "NotIn", ("web",)),
            Requirement("tier", "In", ("a",)),
        ]
    ),
)
selectors = st.one_of(st.lists(requirements, min_size=1, max_size=2).map(tuple), st.just(()), st.none())
topologies = st.sampled_from(["zone", "zone", "host", "rack"])
terms = st.builds(
    PodTerm,
    topologies,
    selectors,
    st.lists(st.sampled_from(SPACES), min_size=1, max_size=2, unique=True).map(tuple),
    st.sampled_from([None, None, None, (), (Requirement("team", "In", ("x",)),)]),
)
spreads = st.builds(
    SpreadTerm,
    topology=topologies,
    max_skew=st.integers(1, 2),
    selector=selectors,
    min_domains=st.sampled_from([1, 1, 2, 4]),
    honor_affinity=st.booleans(),
    honor_taints=st.booleans(),
)
TAGS = ["a", "b"]
tag_targets = st.one_of(
    st.builds(
        TagTarget,
        st.lists(st.sampled_from(TAGS), min_size=1, max_size=2, unique=True).map(tuple),
        st.sampled_from(["self", "self", "not-self", "all"]),
    ),
    st.builds(TagTarget, st.sampled_from(TAGS).map(lambda tag: (tag,)), st.just("app-id"), st.sampled_from(["ns/a1", "blue/a2"])),
    st.builds(TagTarget, st.sampled_from(TAGS).map(lambda tag: (tag,)), st.just("app-tag"), st.sampled_from(["x", "y"])),
)
singles = st.one_of(
    st.builds(
        lambda scope, bounds, targets: Single(scope, *bounds, targets),
        st.sampled_from(["node", "rack"]),
        st.sampled_from([(1, MOST), (0, 0), (0, 1), (1, 2), (2, 3)]),
        st.lists(tag_targets, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(
        lambda operator, value: Single("node", -1, -1, (AttributeTarget("gpu", (value,)),), operator),
        st.sampled_from(["EQ", "NE"]),
        st.sampled_from(["yes", "no"]),
    ),
)
placements = st.recursive(
    singles,
    lambda children: st.builds(
        lambda kind, found: kind(tuple(found)), st.sampled_from([And, Or]), st.lists(children, min_size=1, max_size=2)
    ),
    max_leaves=4,
)
tags = st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple)
several = st.lists(terms, max_size=2).map(tuple)
node_labels = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from(["z0", "z1", "z2"]),
        "rack": st.sampled_from(["r0", "r1"]),
        RACK_LABEL: st.sampled_from(["k0", "k1"]),
        "gpu": st.just("yes"),
    },
)


class BetweenMachine(RuleBasedStateMachine):
    """A few nodes, and pods of ours and of others."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Scenario().scheduler(scoring="Spread")
        self.cluster = Cluster()
        self.pods: dict[str, PodSpec] = {}
        self.flying: dict[str, str] = {}
        self.made = 0

    # -- the cluster

    @rule(
        name=st.sampled_from(NODES),
        labels=node_labels,
        tainted=st.booleans(),
        cordoned=st.sampled_from([False, False, True]),
        host=st.booleans(),
    )
    def node(self, name: str, labels: dict[str, str], *, tainted: bool, cordoned: bool, host: bool) -> None:
        if host:
            labels = {**labels, "host": name}
        taints = (Taint("dedicated", "x", "NoSchedule"),) if tainted else ()
        spec = a_node(name, cpu=4, labels=labels, taints=taints, unschedulable=cordoned)
        self.cluster.nodes[name] = spec
        self.at.tell(NodeSeen(spec))

    @rule(name=st.sampled_from(NODES))
    def without_node(self, name: str) -> None:
        if self.cluster.nodes.pop(name, None) is not None:
            self.at.tell(NodeGone(name))

    @rule(name=st.sampled_from(SPACES), team=st.sampled_from(["", "x", "y"]))
    def namespace(self, name: str, team: str) -> None:
        labels = {"team": team} if team else {}
        self.cluster.namespaces[name] = labels
        self.at.tell(NamespaceSeen(name, "", tuple(labels.items())))

    # -- pods

    def _spec(self, labels, namespace, affinity, anti, spread, tolerates, wants) -> PodSpec:  # type: ignore[no-untyped-def]
        self.made += 1
        own = dict(labels)
        spread = tuple(replace(one, self_match=selects(one.selector, own)) for one in spread)
        looked_at = {one.key for term in affinity for one in term.selector or ()}
        known = tuple(sorted((key, value) for key, value in own.items() if key in looked_at))
        rules = PodRules(namespace, affinity, anti, spread, known) if affinity or anti or spread else None
        constraints = Constraints(
            selector=(("gpu", "yes"),) if wants else (),
            tolerations=(Toleration("dedicated", "Exists"),) if tolerates else (),
            pods=rules,
        )
        spec = a_pod(f"p{self.made}", application=f"a{self.made % 4}", labels=labels, constraints=constraints)
        return replace(spec, namespace=namespace, application=f"{namespace}/a{self.made % 4}")

    @rule(
        labels=labels,
        namespace=st.sampled_from(SPACES),
        affinity=several,
        anti=several,
        spread=st.lists(spreads, max_size=2).map(tuple),
        tolerates=st.booleans(),
        wants=st.sampled_from([False, False, True]),
        copies=st.integers(1, 3),
    )
    def ours(self, labels, namespace, affinity, anti, spread, *, tolerates: bool, wants: bool, copies: int) -> None:  # type: ignore[no-untyped-def]
        for _ in range(copies):
            spec = self._spec(labels, namespace, affinity, anti, spread, tolerates, wants)
            self._tell(spec)

    @rule(labels=labels, namespace=st.sampled_from(SPACES))
    def plain(self, labels, namespace) -> None:  # type: ignore[no-untyped-def]
        self._tell(self._spec(labels, namespace, (), (), (), tolerates=False, wants=False))

    @rule(labels=labels, namespace=st.sampled_from(SPACES), anti=several, node=st.sampled_from(NODES))
    def foreign(self, labels, namespace, anti, node: str) -> None:  # type: ignore[no-untyped-def]
        self._tell(
            replace(self._spec(labels, namespace, (), anti, (), tolerates=False, wants=False), scheduler="other", node=node)
        )

    @rule(
        tags=tags,
        of_application=st.lists(st.sampled_from(["x", "y"]), max_size=1).map(tuple),
        namespace=st.sampled_from(["ns", "blue"]),
        placement=st.lists(placements, max_size=1).map(tuple),
        copies=st.integers(1, 2),
        node=st.sampled_from(["", "", "", *NODES]),
    )
    def constrained(self, tags, of_application, namespace, placement, copies: int, node: str) -> None:  # type: ignore[no-untyped-def]
        """Pods of ours with allocation tags and placement constraints, or one of another scheduler."""
        for _ in range(copies):
            spec = self._spec((), namespace, (), (), (), tolerates=False, wants=False)
            rules = PodRules(namespace, placement=placement, application=spec.application) if placement else None
            spec = replace(spec, tags=tags, application_tags=of_application, constraints=Constraints(pods=rules))
            self._tell(replace(spec, scheduler="other", node=node) if node else spec)

    def _tell(self, spec: PodSpec) -> None:
        self.pods[spec.uid] = spec
        if spec.node:
            self.cluster.placed[spec.uid] = (spec, spec.node)
        self.at.tell(PodSeen(spec))

    @rule(data=st.data(), labels=labels)
    def relabelled(self, data: st.DataObject, labels) -> None:  # type: ignore[no-untyped-def]
        if self.pods:
            spec = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
            if spec.constraints.pods is None and spec.uid not in self.flying:
                self._tell(replace(spec, labels=labels))

    @rule(data=st.data())
    def deleting(self, data: st.DataObject) -> None:
        if self.cluster.placed:
            uid = data.draw(st.sampled_from(sorted(self.cluster.placed)))
            if uid not in self.flying:
                self._tell(replace(self.pods[uid], deleting=True))

    @rule(data=st.data())
    def gone(self, data: st.DataObject) -> None:
        if self.pods:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            del self.pods[uid]
            self.flying.pop(uid, None)
            self.cluster.placed.pop(uid, None)
            self.at.tell(PodGone(uid))

    # -- binds

    @rule(data=st.data(), added=st.booleans())
    def confirmed(self, data: st.DataObject, *, added: bool) -> None:
        """The watch tells of a bind; the server may have given the pod its node's labels."""
        if self.flying:
            uid = data.draw(st.sampled_from(sorted(self.flying)))
            node = self.flying.pop(uid)
            spec = self.pods[uid]
            labels = tuple({**dict(spec.labels), "tier": "b"}.items()) if added else spec.labels
            self.at.tell(BindDone(uid))
            self._tell(replace(spec, node=node, labels=labels))

    @rule(data=st.data(), kind=st.sampled_from(["refused", "transient"]))
    def failed(self, data: st.DataObject, kind: str) -> None:
        if self.flying:
            uid = data.draw(st.sampled_from(sorted(self.flying)))
            del self.flying[uid]
            del self.cluster.placed[uid]
            self.at.tell(BindFailed(uid, kind, "failed"))
            if kind == "refused":
                self._tell(replace(self.pods[uid], priority=self.pods[uid].priority + 1))  # it waits again as it is told of

    @rule(seconds=st.integers(0, 30))
    def wait(self, seconds: int) -> None:
        self.at.now += seconds

    @rule()
    def tidied(self) -> None:
        prune(self.at.core.state)
        close_up(self.at.core.state)

    # -- passes

    @rule()
    def one_step(self) -> None:
        """One placement: it is the best node by score of those that a naive reading lets the pod to."""
        state = self.at.core.state
        self.at.core.plan(self.at.now, 0)
        free = [list(room) for room in state.nodes.free]
        for bind in self._plan(1):
            shape = state.pods[bind.uid].shape
            scores = {
                row: state.score(
                    free[row][0], free[row][1], shape.memory, shape.cpu, state.nodes.per_memory[row], state.nodes.per_cpu[row]
                )
                for row, spec in enumerate(state.nodes.specs)
                if spec is not None and self._takes(self.pods[bind.uid], spec, free[row], shape, but=bind.uid)
            }
            row = state.nodes.row[bind.node]
            assert scores[row] <= min(scores.values()) + 1e-12, f"{bind.uid} on {bind.node}: {scores}"

    @rule()
    def settled(self) -> None:
        """Passes until nothing is placed any more: no node would take a pod that waits for one."""
        while self._plan(1000):
            pass
        state = self.at.core.state
        for uid, record in state.pods.items():
            if record.state is PodState.WAITING and record.ask is not None and record.ask.obstacle is not None:
                for row, spec in enumerate(state.nodes.specs):
                    takes = spec is not None and self._takes(self.pods[uid], spec, state.nodes.free[row], record.shape)
                    assert not takes, f"{uid} waits, and {spec} would take it"

    def _plan(self, budget: int) -> list[Bind]:
        binds = [effect for effect in self.at.core.plan(self.at.now, budget) if isinstance(effect, Bind)]
        for bind in binds:
            pod = self.pods[bind.uid]
            assert not self.cluster.refusal(pod, self.cluster.nodes[bind.node]), f"{bind.uid} on {bind.node}"
            self.cluster.placed[bind.uid] = (pod, bind.node)
            self.flying[bind.uid] = bind.node
        return binds

    def _takes(self, pod, node: NodeSpec, free, shape, but: str = "") -> bool:  # type: ignore[no-untyped-def]
        others = Cluster(
            self.cluster.nodes, self.cluster.namespaces, {uid: at for uid, at in self.cluster.placed.items() if uid != but}
        )
        return (
            all(free[position] >= value for position, value in shape.demand)
            and not static_refusal(node, pod.constraints)
            and not others.refusal(pod, node)
        )

    @invariant()
    def the_answers_are_those_of_a_naive_reading(self) -> None:
        core = self.at.core
        core.plan(self.at.now, 0)
        state = core.state
        for uid, record in state.pods.items():
            between = record.shape.between
            if record.state is PodState.WAITING:
                mask = None if between is None else between.mask()
                for row, spec in enumerate(state.nodes.specs):
                    if spec is not None:
                        wanted = self.cluster.refusal(self.pods[uid], spec)
                        found = "" if between is None else between.refusal(row)
                        assert found == wanted, (
                            f"{uid} on {spec.name}: {found or 'admitted'!r}, and by a naive reading {wanted!r}"
                        )
                        assert mask is None or bool(mask[row]) == (not wanted)
