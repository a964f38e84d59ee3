"""Pods with claims come and go while volumes are made, bound, taken back and lost; the API is played by the machine.

What the core knows step by step is held against what a new core makes of the same facts.
"""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from core.builders import Scenario, a_node, a_pod
from treadle.core import Core
from treadle.core.effects import Bind, BindVolumes
from treadle.core.events import (
    BindDone,
    BindFailed,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    StorageGone,
    StorageKnown,
    StorageSeen,
)
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tidy import close_up, prune
from treadle.core.model import Constraints, NodeSpec, PodSpec, Requirement
from treadle.core.model.volumes import (
    AVAILABLE,
    ONE_POD,
    WAITS,
    AttachmentSpec,
    ClaimSpec,
    CSIDriverSpec,
    CSINodeSpec,
    Disk,
    PodVolumes,
    StorageCapacitySpec,
    StorageClassSpec,
    StorageObject,
    VolumeSpec,
)

NODES = [f"n{number}" for number in range(4)]
ZONES = ["z0", "z1"]
CLASSES = ["local", "made", "zonal", "tracked", "late"]
CLAIMS = [f"c{number}" for number in range(6)]
VOLUMES = [f"v{number}" for number in range(5)]
MODES = ["ReadWriteOnce", "ReadWriteMany", ONE_POD]
zone_of = st.sampled_from([None, ((Requirement("zone", "In", ("z0",)),),), ((Requirement("host", "In", ("n0", "n1")),),), ()])


class VolumesMachine(RuleBasedStateMachine):
    """Four nodes, a few claims and volumes, and pods that name them."""

    def __init__(self) -> None:
        super().__init__()
        self.at = Scenario().scheduler(scoring="Spread").tell(StorageKnown(known=True))
        self.nodes: dict[str, NodeSpec] = {}
        self.things: dict[tuple[type, str], StorageObject] = {}
        self.pods: dict[str, PodSpec] = {}
        self.flying: dict[str, str] = {}
        self.asked: dict[str, BindVolumes] = {}
        self.made = self.versions = 0
        self.eager = False
        for number in range(3):
            self.node(NODES[number], ZONES[number % 2], gone=False)
        self._see(StorageClassSpec("local", "kubernetes.io/no-provisioner", WAITS))
        self._see(StorageClassSpec("made", "csi", WAITS))
        self._see(StorageClassSpec("zonal", "csi", WAITS, ((Requirement("zone", "In", ("z1",)),),)))
        self._see(StorageClassSpec("tracked", "csi-tracked", WAITS))
        self._see(CSIDriverSpec("csi-tracked", capacity=True))

    @initialize(
        claims=st.lists(
            st.tuples(st.sampled_from([*CLASSES[:4], "local"]), st.sampled_from([None, 1, 5]), st.sampled_from(MODES)),
            min_size=len(CLAIMS),
            max_size=len(CLAIMS),
        ),
        volumes=st.lists(st.tuples(st.sampled_from([1, 5, 10]), zone_of), min_size=3, max_size=3),
        eager=st.booleans(),
    )
    def begin(self, claims, volumes, *, eager: bool) -> None:  # type: ignore[no-untyped-def]
        self.eager = eager
        for name, (of, size, mode) in zip(CLAIMS, claims, strict=True):
            self.claim(name, of, size, mode, deleting=False, picky=False)
        for name, (size, affinity) in zip(VOLUMES, volumes, strict=False):
            self.volume(name, size, affinity, None, None, gold=False)

    def _see(self, thing: StorageObject) -> None:
        if isinstance(thing, ClaimSpec | VolumeSpec):
            self.versions += 1
            thing = replace(thing, version=str(self.versions))
        self.things[type(thing), thing.key] = thing
        self.at.tell(StorageSeen(thing))

    def _lose(self, kind: type, key: str) -> None:
        if self.things.pop((kind, key), None) is not None:
            self.at.tell(StorageGone(kind, key))

    def _claim(self, key: str) -> ClaimSpec | None:
        found = self.things.get((ClaimSpec, key))
        return found if isinstance(found, ClaimSpec) else None

    def _volume(self, name: str) -> VolumeSpec | None:
        found = self.things.get((VolumeSpec, name))
        return found if isinstance(found, VolumeSpec) else None

    # -- the cluster

    @rule(name=st.sampled_from(NODES), zone=st.sampled_from(ZONES), gone=st.sampled_from([False, False, True]))
    def node(self, name: str, zone: str, *, gone: bool) -> None:
        if gone:
            if self.nodes.pop(name, None) is not None:
                self.at.tell(NodeGone(name))
            return
        self.nodes[name] = a_node(name, cpu=4, labels={"zone": zone, "host": name, "topology.kubernetes.io/zone": zone})
        self.at.tell(NodeSeen(self.nodes[name]))

    @rule(
        name=st.sampled_from(CLAIMS),
        of=st.sampled_from(CLASSES),
        size=st.sampled_from([None, 1, 5, 10]),
        mode=st.sampled_from(MODES),
        deleting=st.sampled_from([False, False, False, True]),
        picky=st.booleans(),
    )
    def claim(self, name: str, of: str, size: int | None, mode: str, *, deleting: bool, picky: bool) -> None:
        before = self._claim(f"ns/{name}")
        if before is not None:
            self._see(replace(before, deleting=deleting))
            return
        selector = (Requirement("tier", "In", ("gold",)),) if picky else ()
        self._see(ClaimSpec("ns", name, f"u{self.versions}", storage_class=of, modes=(mode,), size=size, selector=selector))

    @rule(name=st.sampled_from(CLAIMS), surely=st.sampled_from([True, False, False]))
    def without_claim(self, name: str, *, surely: bool) -> None:
        if surely:
            self._lose(ClaimSpec, f"ns/{name}")

    @rule(
        name=st.sampled_from(VOLUMES),
        size=st.sampled_from([1, 5, 10]),
        affinity=zone_of,
        gold=st.booleans(),
        meant=st.sampled_from([None, None, *CLAIMS]),
        zone=st.sampled_from([None, None, "z0", "z0__z1"]),
    )
    def volume(self, name: str, size: int, affinity, meant: str | None, zone: str | None, *, gold: bool) -> None:  # type: ignore[no-untyped-def]
        if self._volume(name) is None:
            labels = (("tier", "gold"),) if gold else ()
            labels += (("topology.kubernetes.io/zone", zone),) if zone else ()
            claim = None if meant is None else (f"ns/{meant}", "")
            self._see(VolumeSpec(name, claim, "local", size, tuple(MODES), affinity=affinity, labels=labels, phase=AVAILABLE))

    @rule(name=st.sampled_from(VOLUMES), surely=st.sampled_from([True, False, False]))
    def without_volume(self, name: str, *, surely: bool) -> None:
        if surely:
            self._lose(VolumeSpec, name)

    @rule(data=st.data())
    def released(self, data: st.DataObject) -> None:
        """A volume whose claim is gone is made available again."""
        stale = [
            one.name
            for one in self.things.values()
            if isinstance(one, VolumeSpec) and one.claim is not None and one.claim[1] and self._claim(one.claim[0]) is None
        ]
        if stale:
            volume = self._volume(data.draw(st.sampled_from(sorted(stale))))
            assert volume is not None
            self._see(replace(volume, claim=None, phase=AVAILABLE))

    @rule(name=st.sampled_from(NODES), limit=st.integers(0, 3), migrated=st.booleans())
    def limit(self, name: str, limit: int, *, migrated: bool) -> None:
        self._see(CSINodeSpec(name, (("csi", limit), ("ebs.csi.aws.com", 1)), ("kubernetes.io/aws-ebs",) if migrated else ()))

    @rule(node=st.sampled_from(NODES), volume=st.sampled_from(VOLUMES), there=st.booleans())
    def attached(self, node: str, volume: str, *, there: bool) -> None:
        if there:
            self._see(AttachmentSpec(f"{node}-{volume}", node, "csi", volume))
        else:
            self._lose(AttachmentSpec, f"{node}-{volume}")

    @rule(zone=st.sampled_from(ZONES), largest=st.sampled_from([None, 1, 5, 100]), there=st.booleans())
    def capacity(self, zone: str, largest: int | None, *, there: bool) -> None:
        if there:
            self._see(StorageCapacitySpec("ns", zone, "tracked", largest, (Requirement("zone", "In", (zone,)),)))
        else:
            self._lose(StorageCapacitySpec, f"ns/{zone}")

    @rule(binding=st.sampled_from([None, WAITS, "Immediate"]))
    def late_class(self, binding: str | None) -> None:
        if binding is None:
            self._lose(StorageClassSpec, "late")
        else:
            self._see(StorageClassSpec("late", "csi", binding))

    # -- pods

    @rule(
        claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True),
        copies=st.integers(1, 2),
        disk=st.sampled_from([None, None, Disk("iscsi", ("a",)), Disk("rbd", ("m", "n"), ("p", "i"), read_only=True)]),
        node=st.sampled_from(["", "", "", "", *NODES]),
    )
    def pod(self, claims: list[str], copies: int, disk: Disk | None, node: str) -> None:
        for _ in range(copies):
            self.made += 1
            volumes = PodVolumes("ns", tuple((name, False) for name in claims), (disk,) if disk is not None else ())
            spec = a_pod(f"p{self.made}", application=f"a{self.made % 3}", constraints=Constraints(volumes=volumes))
            self._tell(replace(spec, scheduler="other", node=node) if node else spec)

    @rule(volume=st.sampled_from(["x", "y"]), own=st.booleans())
    def odd_pod(self, volume: str, *, own: bool) -> None:
        """A pod with an in-tree disk, or with an ephemeral volume, whose claim comes later or is another's."""
        self.made += 1
        name = f"p{self.made}"
        if own:
            volumes = PodVolumes("ns", ((f"{name}-scratch", True),), pod=name, name=name)
        else:
            handles = (("kubernetes.io/aws-ebs", volume),)
            volumes = PodVolumes("ns", disks=(Disk("awsElasticBlockStore", (volume,)),), handles=handles)
        self._tell(a_pod(name, constraints=Constraints(volumes=volumes)))
        if own and self.made % 3:
            owner = name if self.made % 3 == 1 else "nobody"
            self._see(ClaimSpec("ns", f"{name}-scratch", f"u{name}", storage_class="made", size=1, owner=owner))

    def _tell(self, spec: PodSpec) -> None:
        self.pods[spec.uid] = spec
        self.at.tell(PodSeen(spec))

    @rule(data=st.data())
    def gone(self, data: st.DataObject) -> None:
        if self.pods:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            del self.pods[uid]
            self.flying.pop(uid, None)
            self.asked.pop(uid, None)
            self.at.tell(PodGone(uid))

    # -- what the API does about it

    @rule(data=st.data(), taken=st.sampled_from([True, True, True, False]))
    def claims_written(self, data: st.DataObject, *, taken: bool) -> None:
        """The writes for a pod's claims are taken, those that hold, or fail altogether."""
        if not self.asked:
            return
        uid = data.draw(st.sampled_from(sorted(self.asked)))
        asked = self.asked.pop(uid)
        if not taken:
            self.at.tell(BindFailed(uid, "transient", "no"))
            return
        for found in asked.found:
            volume = self._volume(found.volume)
            if volume is None or volume.version != found.volume_version:
                self.at.tell(BindFailed(uid, "transient", "conflict"))
                return
            assert volume.claim is None or volume.claim[0] == f"{found.namespace}/{found.claim}"
            self._see(replace(volume, claim=(f"{found.namespace}/{found.claim}", found.claim_uid)))
        for one in asked.made:
            claim = self._claim(f"{one.namespace}/{one.claim}")
            if claim is None or claim.version != one.version:
                self.at.tell(BindFailed(uid, "transient", "conflict"))
                return
            self._see(replace(claim, selected_node=asked.node))

    @rule(data=st.data(), works=st.sampled_from([True, True, False]), elsewhere=st.sampled_from([False, False, False, True]))
    def provisioned(self, data: st.DataObject, *, works: bool, elsewhere: bool) -> None:
        """The volume of a claim with a node is made, or that is given up; it may turn out to be elsewhere."""
        waiting = [
            one
            for one in self.things.values()
            if isinstance(one, ClaimSpec) and one.selected_node is not None and not one.bound and not one.volume
        ]
        if not waiting:
            return
        claim = data.draw(st.sampled_from(sorted(waiting, key=lambda one: one.key)))
        if not works:
            self._see(replace(claim, selected_node=None))
            return
        host = "n3" if elsewhere else claim.selected_node or ""
        name = f"made-{claim.uid}"
        affinity = ((Requirement("host", "In", (host,)),),)
        self._see(
            VolumeSpec(
                name,
                (claim.key, claim.uid),
                claim.storage_class,
                claim.size or 1,
                claim.modes,
                affinity=affinity,
                driver="csi",
                handle=name,
                phase="Bound",
            )
        )
        self._see(replace(claim, volume=name, bound=True))

    @rule()
    def controller(self) -> None:
        """Claims for which a volume is kept are bound to it."""
        for volume in [one for one in self.things.values() if isinstance(one, VolumeSpec)]:
            claim = self._claim(volume.claim[0]) if volume.claim is not None else None
            if claim is not None and volume.claim is not None and volume.claim[1] == claim.uid and not claim.volume:
                self._see(replace(volume, phase="Bound"))
                self._see(replace(claim, volume=volume.name, bound=True))

    @rule(data=st.data(), done=st.sampled_from([True, True, False]))
    def bound(self, data: st.DataObject, *, done: bool) -> None:
        if self.flying:
            uid = data.draw(st.sampled_from(sorted(self.flying)))
            node = self.flying.pop(uid)
            if done:
                self.at.tell(BindDone(uid))
                self._tell(replace(self.pods[uid], node=node))
            else:
                self.at.tell(BindFailed(uid, "transient", "failed"))

    @rule(seconds=st.sampled_from([1, 5, 30, 700]))
    def wait(self, seconds: int) -> None:
        self.at.now += seconds

    @rule()
    def tidied(self) -> None:
        prune(self.at.core.state)
        close_up(self.at.core.state)

    # -- passes

    @rule(
        data=st.data(),
        claims=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True),
        copies=st.integers(1, 3),
        rounds=st.integers(0, 3),
    )
    def life(self, data: st.DataObject, claims: list[str], copies: int, rounds: int) -> None:
        """Some pods come, and the API does a part of what they need."""
        self.pod(claims, copies, None, "")
        for _ in range(rounds):
            self._plan(data.draw(st.sampled_from([1, 1000, 1000])))
            self.claims_written(data, taken=True)
            self.provisioned(data, works=data.draw(st.sampled_from([True, True, False])), elsewhere=False)
            self.controller()
            self._plan(1000)
            self.bound(data, done=True)

    @rule(data=st.data())
    def ends(self, data: st.DataObject) -> None:
        """Pods on nodes end."""
        for _ in range(2):
            placed = sorted(uid for uid, record in self.at.core.state.pods.items() if record.node >= 0)
            if placed:
                uid = data.draw(st.sampled_from(placed))
                self.pods.pop(uid, None)
                self.flying.pop(uid, None)
                self.asked.pop(uid, None)
                self.at.tell(PodGone(uid))
        self.settled()

    @invariant()
    def settles(self) -> None:
        """In half of the examples there is a pass after each step, so that what a step has to tell is not told by another."""
        if self.eager:
            self.settled()

    @rule()
    def settled(self) -> None:
        """Passes until nothing is placed any more: no node would take a pod that waits for one."""
        while self._plan(1000):
            pass
        self.a_core_that_is_told_the_same_says_the_same()
        state = self.at.core.state
        for uid, record in state.pods.items():
            if record.state is PodState.WAITING and record.ask is not None and record.ask.obstacle is not None:
                found = self.at.core.view.refusals(uid)
                assert all(found.values()), f"{uid} waits ({record.ask.obstacle}), and a node would take it: {found}"

    def _plan(self, budget: int) -> int:
        effects = self.at.core.plan(self.at.now, budget)
        for uid in [uid for uid in self.asked if uid not in self.at.core.state.claims]:
            del self.asked[uid]  # it was taken back, and what was written of it is not waited for
        for effect in effects:
            if isinstance(effect, BindVolumes):
                assert effect.uid not in self.flying
                self.asked[effect.uid] = effect
            elif isinstance(effect, Bind):
                self._may_bind(effect)
                self.flying[effect.uid] = effect.node
                self.asked.pop(effect.uid, None)
        return sum(isinstance(effect, Bind | BindVolumes) for effect in effects)

    def _may_bind(self, bind: Bind) -> None:
        """A pod is bound when all its claims are, to volumes that can be used on its node."""
        volumes = self.pods[bind.uid].constraints.volumes
        assert volumes is not None
        for name, _ in volumes.claims:
            claim = self._claim(f"ns/{name}")
            assert claim is not None
            assert claim.bound
            volume = self._volume(claim.volume)
            assert volume is not None
            node = self.nodes[bind.node]
            assert volume.affinity is None or any(
                term and all(node.labels.get(one.key) in one.values for one in term) for term in volume.affinity
            )

    @rule()
    def a_core_that_is_told_the_same_says_the_same(self) -> None:
        core = self.at.core
        core.plan(self.at.now, 0)
        waiting = [
            uid
            for uid, record in core.state.pods.items()
            if record.state is PodState.WAITING and record.ask is not None and record.shape.between is not None
        ]
        if not waiting or core.state.claims:
            return
        again = Core(core.state.settings)
        for event in core.facts():
            again.handle(event, self.at.now)
        again.plan(self.at.now, 0)
        for uid in waiting:
            assert again.state.pods[uid].shape.asked.storage == core.state.pods[uid].shape.asked.storage
            assert again.view.refusals(uid) == core.view.refusals(uid), uid
