"""Gangs and plain pods come and go on few nodes, under either discipline; nobody may see a part of a gang start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import a_node, a_pod, limits
from core.clusters import Cluster
from core.clusters import settings as capacity_settings
from treadle.core import Core
from treadle.core.effects import Bind, Effect, Evict, Withhold
from treadle.core.events import (
    ApplicationSeen,
    BindDone,
    BindFailed,
    GangRequested,
    NodeGone,
    NodeSeen,
    PodGone,
    PodGroupSeen,
    PodGroupsServed,
    PodSeen,
    ProvisionerKnown,
)
from treadle.core.kernel.pods.states import PodState
from treadle.core.model import (
    ApplicationSpec,
    Constraints,
    FairSettings,
    GangSettings,
    GangSpec,
    PodGroupSpec,
    PodRules,
    PodSpec,
    PodTerm,
    Requirement,
)
from treadle.core.model.capacity import CapacityPreemption
from treadle.core.model.gangs import Provisioning

NODES = [f"n{number}" for number in range(4)]
ZONES = {name: f"z{number % 2}" for number, name in enumerate(NODES)}
QUEUES = ["root.a", "root.b", "root.default"]


class GangsMachine(RuleBasedStateMachine):
    """``whole`` are the gangs that have started; what is lost of them later is no part of a gang that starts."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Cluster()
        self.helped = False
        self.pods: dict[str, PodSpec] = {}
        self.flying: dict[str, str] = {}
        self.whole: set[tuple[str, str]] = set()
        self.least: dict[tuple[str, str], int] = {}
        self.made = 0
        self.together: set[str] = set()
        """Applications whose gang goes to one zone."""
        self.at.tell(PodGroupsServed("Volcano", served=True))

    @initialize(
        scoring=st.sampled_from(["Pack", "Spread"]),
        most=st.integers(2, 12),
        capacity=st.booleans(),
        factor=st.sampled_from([-1.0, 1.0, 0.5]),
        helped=st.booleans(),
    )
    def begin(self, scoring: str, most: int, *, capacity: bool, factor: float, helped: bool) -> None:
        """``helped``: room is made by preemption, and nodes are kept; a core that begins anew is told nothing of that."""
        self.helped = helped or capacity
        asks = Provisioning("check-capacity.autoscaling.x-k8s.io" if capacity != helped else "")
        gangs = GangSettings(120.0 if self.helped else 0.0, 60.0 if helped else 0.0, asks)
        if capacity:
            preemption = CapacityPreemption(enabled=helped)
            settings = capacity_settings(preemption=preemption)
            self.at.scheduler(discipline="Capacity", scoring=scoring, capacity=settings, gangs=gangs)
            self.at.share("root.a", "40%", "60%", user_limit_factor=factor, user_limit=50.0)
            self.at.share("root.b", "30%", user_limit_factor=factor).share("root.default", "30%")
        else:
            self.at.scheduler(scoring=scoring, fair=FairSettings(preemption=helped, keep_nodes=helped), gangs=gangs)
            self.at.queue("root.a", maximum=limits(cpu=most)).queue("root.b", fair_share_timeout=1.0).queue("root.default")
        for name in NODES[:3]:
            self.node(name, 4)

    @rule(name=st.sampled_from(NODES), cpu=st.sampled_from([0, 2, 4, 8]))
    def node(self, name: str, cpu: int) -> None:
        self.at.tell(NodeSeen(a_node(name, cpu=cpu, labels={"zone": ZONES[name]})) if cpu else NodeGone(name))

    @rule(
        queue=st.sampled_from(QUEUES),
        least=st.integers(2, 8),
        here=st.integers(1, 9),
        cpu=st.integers(1, 3),
        other=st.sampled_from([0, 0, 2]),
        alone=st.sampled_from([False, False, False, True]),
        topology=st.sampled_from([None, None, ("zone", True), ("zone", False)]),
        asked=st.booleans(),
        said=st.booleans(),
    )
    def gang(
        self,
        queue: str,
        least: int,
        here: int,
        cpu: int,
        other: int,
        topology: tuple[str, bool] | None,
        *,
        alone: bool,
        asked: bool,
        said: bool,
    ) -> None:
        """A gang comes, or a part of it; one in four keeps its pods apart, and some go to one zone. The number is said by its pods or by an object, which may say the queue too."""
        self.made += 1
        application = f"g{self.made}"
        rules = (
            PodRules("ns", anti_affinity=(PodTerm("\0node", (Requirement("app", "In", (application,)),), ("ns",)),))
            if alone
            else None
        )
        self.least[f"ns/{application}", "w"] = least
        if topology == ("zone", True):
            self.together.add(f"ns/{application}")
        if not asked:
            self.at.tell(PodGroupSeen(PodGroupSpec("Volcano", f"ns/{application}", least, queue=queue if said else "")))
        for number in range(here):
            spec = a_pod(
                f"{application}-{number}",
                "" if said and not asked else queue,
                application,
                cpu=other if other and number % 2 else cpu,
                gang="w" if asked else application,
                gang_minimums=(("w", least),) if asked else (),
                gang_source="" if asked else "Volcano",
                gang_topology=topology,
                labels=(("app", application),),
                constraints=Constraints(pods=rules),
            )
            self._tell(spec)

    @rule(data=st.data(), more=st.integers(1, 4))
    def members(self, data: st.DataObject, more: int) -> None:
        """More pods of a gang come."""
        known = [spec for spec in self.pods.values() if spec.gang and not spec.node]
        if known:
            like = data.draw(st.sampled_from(sorted(known, key=lambda one: one.uid)))
            for _ in range(more):
                self.made += 1
                name = f"{like.application[3:]}-more-{self.made}"
                self._tell(replace(like, uid=name, name=name))

    @rule(data=st.data(), least=st.integers(1, 9))
    def edited(self, data: st.DataObject, least: int) -> None:
        """The Application object says how many start together."""
        if self.least:
            key = data.draw(st.sampled_from(sorted(self.least)))
            if key not in self.whole:
                self.least[key] = least
                gangs = (GangSpec("w", least), GangSpec(key[0][3:], least))
                self.at.tell(ApplicationSeen(ApplicationSpec(key[0], gangs=gangs)))

    @rule(queue=st.sampled_from(QUEUES), count=st.integers(1, 4), cpu=st.integers(1, 2))
    def plain(self, queue: str, count: int, cpu: int) -> None:
        for _ in range(count):
            self.made += 1
            self._tell(a_pod(f"p{self.made}", queue, f"a{self.made % 3}", cpu=cpu))

    def _tell(self, spec: PodSpec) -> None:
        self.pods[spec.uid] = spec
        self.at.tell(PodSeen(spec))

    @rule(data=st.data(), count=st.integers(1, 5))
    def gone(self, data: st.DataObject, count: int) -> None:
        for _ in range(count):
            if self.pods:
                uid = data.draw(st.sampled_from(sorted(self.pods)))
                del self.pods[uid]
                self.flying.pop(uid, None)
                self.at.tell(PodGone(uid))

    @rule(data=st.data(), done=st.sampled_from([True, True, True, False]))
    def bound(self, data: st.DataObject, *, done: bool) -> None:
        for _ in range(3):
            if self.flying:
                uid = data.draw(st.sampled_from(sorted(self.flying)))
                node = self.flying.pop(uid)
                if done:
                    self.at.tell(BindDone(uid))
                    self._tell(replace(self.pods[uid], node=node))
                else:
                    self.at.tell(BindFailed(uid, "transient", "no"))

    @rule(known=st.booleans())
    def provisioner(self, *, known: bool) -> None:
        self.at.tell(ProvisionerKnown(known))

    @rule(data=st.data(), phase=st.sampled_from(["pending", "provisioned", "failed", "refused", ""]))
    def requested(self, data: st.DataObject, phase: Any) -> None:
        """Nodes are asked for, for a gang that lacks some."""
        lacking = [(one.application, one.gang) for one in self.at.core.view.gangs_lacking()]
        if lacking:
            self.at.tell(GangRequested(*data.draw(st.sampled_from(lacking)), phase, phase))

    @rule(seconds=st.sampled_from([1, 30]))
    def wait(self, seconds: int) -> None:
        self.at.now += seconds

    @rule(budget=st.sampled_from([1, 3, 1000]))
    def planned(self, budget: int) -> None:
        before = self._placed()
        effects = self.at.core.plan(self.at.now, budget)
        self.flying.update((effect.uid, effect.node) for effect in effects if isinstance(effect, Bind))
        self._heed(effects)
        after = self._placed()
        for key, count in after.items():
            if count > before.get(key, 0) == 0 and key not in self.whole:
                assert count >= self.least[key], f"{count} pods of {key} were placed, {self.least[key]} start together"
            if count >= self.least[key]:
                self.whole.add(key)

    def _heed(self, effects: list[Effect]) -> None:
        """What has not been sent is taken back, and those who are asked to go do."""
        for effect in effects:
            if isinstance(effect, Withhold):
                for uid in effect.uids:
                    if self.flying.pop(uid, None) is not None:
                        self.at.tell(BindFailed(uid, "transient", "not sent"))
            elif isinstance(effect, Evict) and self.pods.pop(effect.uid, None) is not None:
                self.flying.pop(effect.uid, None)
                self.at.tell(PodGone(effect.uid))

    def _placed(self) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for record in self.at.core.state.pods.values():
            if record.spec.gang and record.node >= 0:
                key = (record.spec.application, "w")
                found[key] = found.get(key, 0) + 1
        return found

    @rule()
    def settled(self) -> None:
        """What waits for a node at rest would not be placed by a core that knows no more than the facts either."""
        while True:
            effects = self.at.core.plan(self.at.now)
            binds = {effect.uid: effect.node for effect in effects if isinstance(effect, Bind)}
            self.flying.update(binds)
            self._heed(effects)
            if not binds:
                break
        self.whole.update(key for key, count in self._placed().items() if count >= self.least[key])
        core = self.at.core
        if self.helped:
            return
        again = Core(core.state.settings)
        for event in core.facts():
            again.handle(event, self.at.now)
        placed = {effect.uid for effect in again.plan(self.at.now) if isinstance(effect, Bind)}
        waits = {uid for uid, record in core.state.pods.items() if record.state is PodState.WAITING}
        assert not placed & waits, f"{sorted(placed & waits)} wait, and a core that begins anew places them"

    @invariant()
    def a_gang_that_must_is_in_one_zone(self) -> None:
        zones: dict[str, set[str]] = {}
        for record in self.at.core.state.pods.values():
            if record.node >= 0 and record.spec.application in self.together:
                zones.setdefault(record.spec.application, set()).add(ZONES[self.at.core.state.nodes.names[record.node]])
        assert all(len(found) == 1 for found in zones.values()), zones

    @invariant()
    def nodes_are_asked_for_what_a_gang_lacks_below_the_maxima_of_its_queues(self) -> None:
        state = self.at.core.state
        for lack in self.at.core.view.gangs_lacking(state.gangs.requests):
            members = [
                record
                for record in state.pods.values()
                if (record.spec.application, record.spec.gang) == (lack.application, lack.gang)
            ]
            waiting = {record.spec.uid: record for record in members if record.state is PodState.WAITING}
            on_nodes = sum(record.node >= 0 for record in members)
            asked = sum(one.count for one in lack.pods)
            assert asked <= len(waiting)
            assert {one.uid for one in lack.pods} <= set(waiting)
            if not lack.short:
                continue
            least = self.least[lack.application, "w"]
            assert asked == least - on_nodes or (lack.application, lack.gang) in state.gangs.begun
            for queue in next(iter(waiting.values())).application.chain:
                used = dict(enumerate(queue.usage))
                for one in lack.pods:
                    for name, value in one.demand:
                        used[state.types.index[name]] += one.count * value
                assert all(value <= queue.maximum[at] for at, value in used.items())

    @invariant()
    def who_is_told_that_nodes_are_asked_for_is_asked_for(self) -> None:
        lacking = {(one.application, one.gang) for one in self.at.core.view.gangs_lacking()}
        for uid, record in self.at.core.state.pods.items():
            if record.state is PodState.WAITING and self.at.why(uid)[0] == "NodesRequested":
                assert (record.spec.application, record.spec.gang) in lacking

    @invariant()
    def everybody_says_why(self) -> None:
        for uid, record in self.at.core.state.pods.items():
            if record.state is PodState.WAITING:
                reason, words = self.at.why(uid)
                assert reason
                assert words
