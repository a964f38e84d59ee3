"""Pods with claims for devices come and go while slices change and writes land, fail or are told late; the API is played by the machine.

Whatever happens, no device is in two allocations that the API has taken, pods go exactly where a naive allocator finds devices, each queue uses what a
naive sum over claims says, there is to share what a naive count of devices says, and a core that is told the same says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import Scenario, a_node, a_pod
from treadle.controllers.capacity import capacity as read
from treadle.core import Core
from treadle.core.effects import Bind, ClaimDevices, FreeDevices, ReserveDevices
from treadle.core.events import (
    BindDone,
    BindFailed,
    DevicesGone,
    DevicesKnown,
    DevicesSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from treadle.core.kernel.pods.device_charges import to_share
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import Constraints, Limit, NodeSpec, PodSpec
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare
from treadle.core.model.devices import (
    ALL,
    Alternative,
    AttributeConstraint,
    Consumer,
    DeviceCapacity,
    DeviceClaimSpec,
    DeviceClassSpec,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
    DeviceSpec,
    PodClaims,
    SliceSpec,
)

NODES = [f"n{number}" for number in range(3)]
CLAIMS = [f"c{number}" for number in range(5)]
FABRIC = ""
UNITS = 4


def kind_of(device: DeviceSpec) -> object:
    return dict(device.attributes)["kind"][1]


RED = DeviceSelector("red", lambda _, device: kind_of(device) == "red")
CLASSES = [DeviceClassSpec("any"), DeviceClassSpec("red", (RED,))]
ONE, TWO = "example.com/one", "example.com/two"
MAPPINGS: list[dict[str, str]] = [{}, {"any": ONE}, {"any": ONE, "red": TWO}, {"any": ONE, "red": ONE, "late": TWO}]
LEAVES = ["root.a", "root.b"]


def device(number: int, *, red: bool, multiple: bool) -> DeviceSpec:
    return DeviceSpec(
        f"d{number}",
        (("kind", ("string", "red" if red else "blue")),),
        (("units", DeviceCapacity(UNITS, default=1)),),
        multiple=multiple,
    )


devices_of_slice = st.lists(st.tuples(st.booleans(), st.sampled_from([False, False, True])), max_size=3)
asked = st.builds(
    Alternative,
    st.just(""),
    st.sampled_from(["any", "any", "red", "late"]),
    count=st.sampled_from([1, 1, 2]),
    mode=st.sampled_from(["ExactCount", "ExactCount", "ExactCount", ALL]),
    capacity=st.sampled_from([(), (("units", 3),)]),
)
plain = st.builds(lambda one: DeviceRequest("r", (one,)), asked)
either = st.builds(
    lambda one, other: DeviceRequest("r", (replace(one, name="x"), replace(other, name="y")), first=True), asked, asked
)
constraints = st.sampled_from(
    [(), (), (AttributeConstraint("driver/kind"),), (AttributeConstraint("driver/kind", distinct=True),)]
)


class _GivenUpError(Exception):
    """A constraint speaks against a device of all that are asked for: kube-scheduler looks for no other choice."""


def _give_up_where_kube_scheduler_does(
    every: list[tuple[DeviceId, DeviceSpec]], claim: DeviceClaimSpec, taken: dict[DeviceId, int]
) -> None:
    kinds: list[object] = []
    for identity, one in every:
        if not one.multiple and taken.get(identity):
            return
        for rule_ in claim.constraints:
            if (kind_of(one) in kinds) if rule_.distinct else (kinds and kind_of(one) != kinds[0]):
                raise _GivenUpError
        kinds.append(kind_of(one))


class DevicesMachine(RuleBasedStateMachine):
    """Three nodes with a slice each, devices for all of them, a few claims, and pods that name them."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Scenario().scheduler(scoring="Spread").tell(DevicesKnown(known=True))
        self.nodes: dict[str, NodeSpec] = {}
        self.slices: dict[str, SliceSpec] = {}
        self.api: dict[str, DeviceClaimSpec] = {}
        self.untold: dict[str, None] = {}
        self.pods: dict[str, PodSpec] = {}
        self.flying: dict[str, str] = {}
        self.asked: list[tuple[str, ClaimDevices]] = []
        self.made = self.versions = self.generation = 0
        self.eager = False
        self.mapping: dict[str, str] = {}
        self.discipline = "Fair"
        for name in NODES:
            self.node(name, gone=False)
        for one in CLASSES:
            self.at.tell(DevicesSeen(one))

    @initialize(eager=st.booleans(), discipline=st.sampled_from(["Fair", "Capacity"]), mapping=st.sampled_from(MAPPINGS))
    def begin(self, *, eager: bool, discipline: str, mapping: dict[str, str]) -> None:
        self.eager, self.discipline = eager, discipline
        for path, most in (("root", None), ("root.a", 3), ("root.b", None)):
            given = CapacityQueueSpec(path, partitions={"": PartitionShare(read("guaranteed", "50%" if "." in path else "100%"))})
            maximum = {} if most is None else {ONE: Limit(value=most), TWO: Limit(value=most)}
            self.at.queue(path, maximum=maximum, capacity=given)
        self.counted_as(mapping)

    @rule(mapping=st.sampled_from(MAPPINGS))
    def counted_as(self, mapping: dict[str, str]) -> None:
        self.mapping = mapping
        self.at.scheduler(scoring="Spread", discipline=self.discipline, device_classes=mapping)

    @rule(there=st.booleans(), resource=st.sampled_from(["", TWO]))
    def class_serves(self, *, there: bool, resource: str) -> None:
        one = DeviceClassSpec("late", resource=resource)
        self.at.tell(DevicesSeen(one) if there else DevicesGone(DeviceClassSpec, one.key))

    # -- the cluster

    @rule(name=st.sampled_from(NODES), gone=st.booleans())
    def node(self, name: str, *, gone: bool) -> None:
        if gone:
            self.nodes.pop(name, None)
            self.at.tell(NodeGone(name))
        else:
            self.nodes[name] = a_node(name)
            self.at.tell(NodeSeen(self.nodes[name]))

    @rule(
        where=st.sampled_from([*NODES, FABRIC]), found=devices_of_slice, incomplete=st.sampled_from([False, False, False, True])
    )
    def slice(self, where: str, found: list[tuple[bool, bool]], *, incomplete: bool) -> None:
        self.generation += 1
        held = {result.id for claim in self.api.values() if claim.allocation for result in claim.allocation.results}
        before = self.slices.get(where or "fabric")
        kept = {one.name: one for one in (before.devices if before is not None else ())}
        # a driver does not make another device of one that is allocated
        devices = tuple(
            kept[f"d{number}"]
            if ("driver", where or "fabric", f"d{number}") in held and f"d{number}" in kept
            else device(number, red=red, multiple=multiple)
            for number, (red, multiple) in enumerate(found)
        )
        if before is not None and any(
            ("driver", where or "fabric", name) in held or self._decided(where or "fabric", name) for name in kept
        ):
            return
        one = SliceSpec(
            f"slice-{where or 'fabric'}",
            "driver",
            where or "fabric",
            self.generation,
            2 if incomplete else 1,
            where,
            where == FABRIC,
            devices=devices,
        )
        self.slices[where or "fabric"] = one
        self.at.tell(DevicesSeen(one))

    def _decided(self, pool: str, name: str) -> bool:
        state = self.at.core.state.shapes.devices
        return state.in_use(("driver", pool, name))

    @rule(there=st.booleans())
    def late_class(self, *, there: bool) -> None:
        one = DeviceClassSpec("late")
        self.at.tell(DevicesSeen(one) if there else DevicesGone(DeviceClassSpec, one.key))

    @rule(known=st.sampled_from([True, True, False]))
    def listed(self, *, known: bool) -> None:
        self.at.tell(DevicesKnown(known, "" if known else "away"))

    # -- claims

    @rule(name=st.sampled_from(CLAIMS), request=st.one_of(plain, plain, either), rules=constraints)
    def claim(self, name: str, request: DeviceRequest, rules: tuple[AttributeConstraint, ...]) -> None:
        if f"ns/{name}" not in self.api:
            self.made += 1
            self._have(DeviceClaimSpec("ns", name, f"claim-{self.made}", requests=(request,), constraints=rules), tell=True)

    @rule(name=st.sampled_from(CLAIMS))
    def claim_gone(self, name: str) -> None:
        claim = self.api.get(f"ns/{name}")
        if claim is not None and claim.allocation is None:
            del self.api[claim.key]
            self.untold.pop(claim.key, None)
            self.at.tell(DevicesGone(DeviceClaimSpec, claim.key))

    def _have(self, claim: DeviceClaimSpec, *, tell: bool) -> None:
        self.versions += 1
        self.api[claim.key] = replace(claim, version=str(self.versions))
        self.untold[claim.key] = None
        if tell:
            self._tell(claim.key)

    def _tell(self, key: str) -> None:
        self.untold.pop(key, None)
        self.at.tell(DevicesSeen(self.api[key]))

    @rule()
    def told(self) -> None:
        for key in list(self.untold):
            self._tell(key)

    @rule(which=st.integers(0, 9), fails=st.sampled_from([False, False, True]), tell=st.booleans())
    def write(self, which: int, *, fails: bool, tell: bool) -> None:
        """A write that was asked for lands, or does not; what it made may be told later."""
        if not self.asked:
            return
        uid, asked = self.asked.pop(which % len(self.asked))
        claim = self.api.get(f"{asked.namespace}/{asked.claim}")
        taken = not fails and claim is not None and claim.uid == asked.uid
        if taken and claim is not None:
            if asked.allocation is not None and claim.version == asked.version:
                self._have(replace(claim, allocation=asked.allocation, reserved=asked.reserved), tell=tell)
                return
            if asked.allocation is None and claim.allocation is not None:
                self._have(replace(claim, reserved=(*claim.reserved, asked.reserved[-1])), tell=tell)
                return
        self.at.tell(BindFailed(uid, "transient", "the claim could not be written"))
        self.asked = [one for one in self.asked if one[0] != uid]  # none of a pod's is written after one that failed

    # -- pods

    @rule(
        names=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True),
        leaf=st.sampled_from(LEAVES),
        role=st.sampled_from(["", "", "master"]),
    )
    def pod(self, names: list[str], leaf: str, role: str) -> None:
        if len(self.pods) < 6:
            self.made += 1
            claims = PodClaims("ns", tuple((name, False) for name in names))
            queue = leaf.rpartition(".")[2]
            pod = a_pod(f"p{self.made}", leaf, f"app-{queue}", constraints=Constraints(claims=claims), role=role)
            self.pods[pod.uid] = pod
            self.at.tell(PodSeen(pod))

    @rule(names=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True), node=st.sampled_from(NODES))
    def pod_of_others(self, names: list[str], node: str) -> None:
        """Another scheduler has placed a pod, with claims that are allocated there."""
        claims = [self.api.get(f"ns/{name}") for name in names]
        if len(self.pods) >= 6 or any(one is None or one.allocation is None for one in claims):
            return
        self.made += 1
        named = PodClaims("ns", tuple((name, False) for name in names))
        pod = a_pod(f"p{self.made}", scheduler="default-scheduler", node=node, constraints=Constraints(claims=named))
        self.pods[pod.uid] = pod
        for one in claims:
            assert one is not None
            self._have(replace(one, reserved=(*one.reserved, Consumer(pod.uid, pod.name))), tell=True)
        self.at.tell(PodSeen(pod))

    @rule(which=st.integers(0, 9))
    def pod_gone(self, which: int) -> None:
        if not self.pods:
            return
        uid = sorted(self.pods)[which % len(self.pods)]
        del self.pods[uid]
        self.flying.pop(uid, None)
        self.at.tell(PodGone(uid))

    @rule()
    def controller(self) -> None:
        """The resourceclaim controller frees what is reserved for pods that are gone."""
        for claim in list(self.api.values()):
            left = tuple(one for one in claim.reserved if one.uid in self.pods)
            if left != claim.reserved:
                self._have(replace(claim, reserved=left, allocation=claim.allocation if left else None), tell=True)

    @rule(which=st.integers(0, 9), fails=st.booleans())
    def bind(self, which: int, *, fails: bool) -> None:
        if not self.flying:
            return
        uid = sorted(self.flying)[which % len(self.flying)]
        node = self.flying.pop(uid)
        if fails:
            self.at.tell(BindFailed(uid, "transient", "full"))
        else:
            self.pods[uid] = replace(self.pods[uid], node=node)
            self.at.tell(BindDone(uid), PodSeen(self.pods[uid]))

    @rule(seconds=st.sampled_from([0.5, 5.0, 120.0]))
    def time(self, seconds: float) -> None:
        self.at.wait(seconds)

    @rule()
    def tidied(self) -> None:
        prune(self.at.core.state)
        close_up(self.at.core.state)

    # -- what is decided

    @rule(budget=st.sampled_from([1, 1000]))
    def plan(self, budget: int) -> None:
        self._plan(budget)

    @invariant()
    def told_at_once(self) -> None:
        if self.eager:
            self.settled()

    @rule()
    def settled(self) -> None:
        """Passes until nothing is placed any more: pods that wait for a node wait rightly, by a naive reading of all devices."""
        while self._plan(1000):
            pass
        self.a_core_that_is_told_the_same_says_the_same()
        state = self.at.core.state
        for uid, record in state.pods.items():
            if record.state is not PodState.WAITING or record.shape.devices is None or record.shape.devices.problem:
                continue
            for name, why in self.at.core.view.refusals(uid).items():
                possible = self._possible(uid, self.nodes[name])
                assert bool(why) != possible, f"{uid} on {name}: {why}, and a naive allocator says {possible}"

    def _plan(self, budget: int) -> int:
        effects = self.at.core.plan(self.at.now, budget)
        for effect in effects:
            if isinstance(effect, ReserveDevices):
                self.asked += [(effect.uid, one) for one in effect.claims]
            elif isinstance(effect, FreeDevices):
                claim = self.api.get(f"{effect.namespace}/{effect.claim}")
                if claim is not None and claim.version == effect.version:
                    assert {one.uid for one in claim.reserved} <= {effect.uid}
                    self._have(replace(claim, allocation=None, reserved=()), tell=True)
            elif isinstance(effect, Bind):
                self._may_bind(effect)
                self.flying[effect.uid] = effect.node
        self._queues_use_what_their_claims_come_to()
        return sum(isinstance(effect, Bind | ReserveDevices) for effect in effects)

    # -- what queues count, naively

    def _kind(self, of: str) -> str:
        classes = self.at.core.state.shapes.devices.classes
        return (self.mapping.get(of) or classes[of].resource) if of in classes else ""

    def _comes_to(self, key: str) -> dict[str, int]:
        """What a claim that the core knows of counts for."""
        known, found = self.at.core.state.shapes.devices, {ONE: 0, TWO: 0, "": 0}
        (request,) = known.claims[key].requests
        has = known.has(key)
        if has is None:
            first = request.alternatives[0]
            found[self._kind(first.device_class)] += 1 if first.mode == ALL else first.count
        for result in has.results if has is not None else ():
            chosen = [one for one in request.alternatives if result.request in {"r", f"r/{one.name}"}]
            found[self._kind(chosen[0].device_class)] += 1
        return found

    def _queues_use_what_their_claims_come_to(self) -> None:
        state = self.at.core.state
        devices, marked = state.shapes.devices, state.shapes.devices.marked
        used = {(path, kind): 0 for path in LEAVES for kind in (ONE, TWO)}
        others = {ONE: 0, TWO: 0}
        for key, claim in devices.claims.items():
            holders = [uid for uid, record in state.pods.items() if record.node >= 0 and f"ns/{claim.name}" == key]
            holders = [uid for uid in holders if (claim.name, False) in self.pods[uid].constraints.claims.claims]  # type: ignore[union-attr]
            if key in marked:
                return  # the next pass looks at it
            first = [one.uid for one in claim.reserved if one.uid in holders]
            payer = devices.payers.get(key)
            assert payer in (first[:1] or holders or [None]), f"{key} is charged to {payer}, {first} and {holders} hold it"
            for kind in (ONE, TWO) if payer is not None else ():
                if self.pods[payer].scheduler == "treadle":
                    used[self.pods[payer].queue, kind] += self._comes_to(key)[kind]
                else:
                    others[kind] += self._comes_to(key)[kind]
        index = state.types.index
        for (path, kind), count in used.items():
            have = state.tree.queues[path].usage[index[kind]] if kind in index else 0
            assert have == count, f"{path} uses {have} of {kind}, its claims come to {count}"
        for kind in (ONE, TWO):
            classes = [name for name in devices.classes if self._kind(name) == kind]
            there = sum(
                any(name != "red" or kind_of(each) == "red" for name in classes)
                for one in self.slices.values()
                if one.node in {FABRIC, *self.nodes}
                for each in one.devices
            )
            have = sum(of_row.get(index.get(kind, -1), 0) for of_row in to_share(state).values())
            assert have == there - others[kind], f"{have} of {kind} are to be shared, {there} are there and {others} others'"

    def _may_bind(self, bind: Bind) -> None:
        """All claims of a pod are allocated, and reserved for it, before it is bound."""
        claims = self.pods[bind.uid].constraints.claims
        assert claims is not None
        for name, _ in claims.claims:
            claim = self.api[f"ns/{name}"]
            assert claim.allocation is not None
            assert any(one.uid == bind.uid for one in claim.reserved)

    @invariant()
    def no_device_is_had_twice(self) -> None:
        had: dict[DeviceId, list[DeviceClaimSpec]] = {}
        units: dict[DeviceId, int] = {}
        for claim in self.api.values():
            for result in claim.allocation.results if claim.allocation is not None else ():
                if result.shared:
                    units[result.id] = units.get(result.id, 0) + int(dict(result.consumed)["units"])
                else:
                    had.setdefault(result.id, []).append(claim)
        assert all(len(claims) == 1 for claims in had.values()), had
        assert all(used <= UNITS for used in units.values()), units

    # -- the naive reading

    def _possible(self, uid: str, node: NodeSpec) -> bool:
        known = self.at.core.state.shapes.devices
        claims = self.pods[uid].constraints.claims
        assert claims is not None
        wanted = []
        for name, _ in claims.claims:
            has = known.has(f"ns/{name}")
            if has is None:
                wanted.append(known.claims[f"ns/{name}"])
            elif has.nodes is not None and has.nodes[0][0].values != (node.name,):
                return False
        taken: dict[DeviceId, int] = {}
        for one in (known.has(key) for key in {*known.claims, *known.decided}):
            for result in one.results if one is not None else ():
                taken[result.id] = taken.get(result.id, 0) + int(
                    dict(result.consumed).get("units", UNITS) if result.shared else UNITS
                )
        here = [one for one in self.slices.values() if one.node in {node.name, FABRIC}]
        if any(asked.mode == ALL for claim in wanted for asked in claim.requests[0].alternatives) and any(
            one.count > 1 for one in here
        ):
            return False  # kube-scheduler gives up then, whatever other alternatives there are
        try:
            return any(True for _ in self._choices(wanted, node, taken, taken))
        except _GivenUpError:
            return False

    def _choices(
        self, wanted: list[DeviceClaimSpec], node: NodeSpec, taken: dict[DeviceId, int], before: dict[DeviceId, int]
    ) -> Iterator[None]:
        """Every way to satisfy some claims on a node; all devices are those that had enough left before."""
        if not wanted:
            yield None
            return
        slices = [one for one in self.slices.values() if one.node in {node.name, FABRIC}]
        whole = [one for one in slices if one.count == 1]
        everything = [((one.driver, one.pool, each.name), each) for one in whole for each in one.devices]
        claim, rest = wanted[0], wanted[1:]
        for asked in claim.requests[0].alternatives:
            suits = [(identity, one) for identity, one in everything if asked.device_class != "red" or kind_of(one) == "red"]
            units = int(dict(asked.capacity).get("units", 1))
            part = {identity: units if one.multiple or asked.capacity else UNITS for identity, one in suits}
            if asked.mode == ALL:
                enough = [pair for pair in suits if not pair[1].multiple or before.get(pair[0], 0) + part[pair[0]] <= UNITS]
                found = [tuple(enough)] if enough else []
                _give_up_where_kube_scheduler_does(enough, claim, taken)
            else:
                found = list(combinations(suits, asked.count))
            for chosen in found:
                kinds = [kind_of(one) for _, one in chosen]
                if any((len(set(kinds)) != len(kinds)) if one.distinct else len(set(kinds)) > 1 for one in claim.constraints):
                    continue
                now = dict(taken)
                for identity, one in chosen:
                    now[identity] = now.get(identity, 0) + (part[identity] if one.multiple else UNITS)
                if all(now[identity] <= UNITS for identity, _ in chosen):
                    yield from self._choices(rest, node, now, before)

    @rule()
    def a_core_that_is_told_the_same_says_the_same(self) -> None:
        core = self.at.core
        self._plan(0)
        again = Core(core.state.settings, validate=True)
        for event in core.facts():
            again.handle(event, self.at.now)
        again.plan(self.at.now, 0)
        mine, other = core.state.shapes.devices, again.state.shapes.devices
        assert other.decided == mine.decided
        assert (other.allocated, other.parts) == (mine.allocated, mine.parts)
        if not mine.marked:
            states = (core.state, again.state)
            told = [(one.types.named(one.tree.root.usage), one.types.named(one.cluster.total)) for one in states]
            assert told[0][0] == told[1][0]
            assert told[0][1] == told[1][1] or core.state.updates.cluster_changed  # it is followed once an interval
        waiting = [uid for uid, one in core.state.pods.items() if one.state is PodState.WAITING and one.shape.between is not None]
        for uid in waiting:
            assert again.view.refusals(uid) == core.view.refusals(uid), uid
