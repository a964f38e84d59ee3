"""Random clusters whose pods have rules about nodes and about each other, start in gangs, and want devices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.builders import GIB, a_pod
from core.claims import claim, gpus, see, slice_of, written
from core.clusters import LABEL, Cluster, Partitioned
from core.worlds import LEAVES, ZONES, CapacityWorld, World
from treadle.core.effects import Bind, ReserveDevices
from treadle.core.events import DevicesKnown, PodSeen
from treadle.core.kernel.admission_checks import GANG_INCOMPLETE, GANG_OVER
from treadle.core.kernel.devices.allocator import NOT_ALL
from treadle.core.kernel.nodes.rules import affinity, host_ports, pod_affinity, taints, topology_spread, unschedulable
from treadle.core.kernel.nodes.rules import partition as partitions
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.model import Constraints, HostPort, PodRules, PodTerm, Requirement, SpreadTerm, Taint, Toleration
from treadle.core.model.devices import DeviceClassSpec, PodClaims

if TYPE_CHECKING:
    from treadle.core.model import PodSpec
    from treadle.core.views.closest import Refusal
    from treadle.core.views.holding import Held, Limit

NAMES = ("web", "db")
TOPOLOGIES = ("zone", "host")
TAINT = Taint("dedicated", "batch", "NoSchedule")
TOLERATES = Toleration("dedicated", "Equal", "batch")


def about(name: str, topology: str) -> PodTerm:
    return PodTerm(topology, (Requirement("app", "In", (name,)),), ("ns",))


class RuledWorld(World):
    """Taints, cordons, missing labels, host ports, affinity, anti-affinity and spread between pods."""

    def build(self) -> None:
        self.specs: dict[str, PodSpec] = {}
        super().build()

    def of_queue(self, path: str) -> dict[str, Any]:
        return {} if self.chance.random() < 0.7 else super().of_queue(path)

    def node(self, name: str, cpu: int, memory: int, pods: int, **labels: str) -> None:
        chance = self.chance
        labels = {"host": name, **labels} if chance.random() < 0.8 else {"host": name}
        tainted = (TAINT,) if chance.random() < 0.2 else ()
        resources = {"cpu": cpu, "memory": memory, "pods": pods}
        self.described(name, resources=resources, labels=labels, taints=tainted, unschedulable=chance.random() < 0.1)

    def pod(self, name: str) -> None:
        chance = self.chance
        app, rules = chance.choice(NAMES), dict[str, Any]()
        wanted, unwanted = chance.sample(NAMES, 2)  # who wants to be with whom he wants to be without waits for ever
        if chance.random() < 0.3:
            rules["anti_affinity"] = (about(unwanted, chance.choice(TOPOLOGIES)),)
        if chance.random() < 0.2:
            rules["affinity"] = (about(wanted, chance.choice(TOPOLOGIES)),)
            rules["labels"] = (("app", app),)
        if chance.random() < 0.3:
            whom = unwanted if "affinity" in rules else chance.choice(NAMES)
            spread = SpreadTerm(
                chance.choice(TOPOLOGIES), chance.choice([1, 1, 2]), (Requirement("app", "In", (whom,)),), self_match=whom == app
            )
            rules["spread"] = (spread,)
        constraints = Constraints(
            selector=(("zone", chance.choice(ZONES)),) if chance.random() < 0.2 else (),
            tolerations=(TOLERATES,) if chance.random() < 0.3 else (),
            host_ports=(HostPort("0.0.0.0", "TCP", 80),) if chance.random() < 0.2 else (),
            pods=PodRules("ns", **rules) if rules else None,
        )
        self.ask(self.like(name, app, constraints))

    def like(self, name: str, app: str, constraints: Constraints) -> PodSpec:
        """A pod as they are in this world."""
        chance = self.chance
        return a_pod(
            name,
            chance.choice(LEAVES),
            f"app{chance.randint(0, 5)}",
            cpu=chance.randint(0, 3),
            memory=chance.randint(0, 3),
            labels=(("app", app),),
            constraints=constraints,
        )

    def ask(self, spec: PodSpec) -> None:
        self.specs[spec.uid] = spec
        self.pods[spec.uid] = {"constraints": spec.constraints}
        self.scenario.tell(PodSeen(spec))

    def in_domain(self, node: str, topology: str) -> list[PodSpec]:
        """The pods on the nodes with one's value of a label."""
        value = self.nodes[node]["labels"].get(topology)
        there = {name for name, said in self.nodes.items() if said["labels"].get(topology) == value and value is not None}
        return [record.spec for record in self.scenario.core.state.pods.values() if record.spec.node in there]

    def undo(self, held: Held, node: str, refusal: Refusal) -> None:
        spec = self.specs[held.pod.partition("/")[2]]
        rules = spec.constraints.pods or PodRules("ns")
        labels = self.nodes[node]["labels"]
        match refusal.reason:
            case affinity.REASON:
                self.edited(node, labels={**labels, **dict(spec.constraints.selector)})
            case taints.REASON:
                assert "{dedicated: batch} goes" in held.change
                self.edited(node, taints=())
            case unschedulable.REASON:
                assert "uncordon" in held.change
                self.edited(node, unschedulable=False)
            case host_ports.REASON:
                assert "the pod goes that holds its host port" in held.change
                self.gone(one for one in self.in_domain(node, "host") if one.constraints.host_ports)
            case pod_affinity.AFFINITY:
                assert "a pod runs on" in held.change
                assert refusal.topology in labels or f"the label {refusal.topology} is set, and" in held.change
                self.affinity(rules, node, refusal.topology)
            case pod_affinity.ANTI_AFFINITY:
                assert "that the pod's anti-affinity is about" in held.change
                meant = {self.app_of(term) for term in rules.anti_affinity if term.topology == refusal.topology}
                self.gone(one for one in self.in_domain(node, refusal.topology) if dict(one.labels)["app"] in meant)
            case pod_affinity.AVOIDED:
                assert "whose anti-affinity is about this pod" in held.change
                self.gone(
                    one
                    for one in self.in_domain(node, refusal.topology)
                    if one.constraints.pods and one.constraints.pods.anti_affinity
                )
            case topology_spread.UNEVEN:
                assert "pods of its topology spread leave" in held.change
                meant = {self.app_of(term) for term in rules.spread}
                self.gone(one for one in self.in_domain(node, refusal.topology) if dict(one.labels)["app"] in meant)
            case topology_spread.NO_LABEL | pod_affinity.OUTSIDE:
                assert f"the label {refusal.topology} is set" in held.change
                self.edited(node, labels={refusal.topology: "a", **labels})
            case _:
                super().undo(held, node, refusal)

    @staticmethod
    def app_of(term: PodTerm | SpreadTerm) -> str:
        assert term.selector
        return term.selector[0].values[0]

    def gone(self, pods: Any) -> None:
        self.scenario.gone(*[one.uid for one in pods])

    def affinity(self, rules: PodRules, node: str, topology: str) -> None:
        """Let a pod run beside which the other wants to be; where the label is missing that names the domain it is set."""
        if topology not in self.nodes[node]["labels"]:
            self.edited(node, labels={**self.nodes[node]["labels"], topology: "a"})
        for number, term in enumerate(rules.affinity):
            uid = f"friend-{node}-{number}"
            friend = a_pod(uid, scheduler="other", node=node, cpu=0, memory=0, labels=(("app", self.app_of(term)),))
            self.scenario.tell(PodSeen(friend))


class GangWorld(RuledWorld):
    """Half of the pods are of gangs that start with two or three of them; the same is asked for one after the other of them."""

    alike = 4

    def like(self, name: str, app: str, constraints: Constraints) -> PodSpec:
        spec = super().like(name, app, constraints)
        if self.chance.random() < 0.5:
            return spec
        number = self.chance.randint(0, 3)
        picky = number != 3 and self.chance.random() < 0.3  # all of the third gang go to one zone, whichever it is
        constraints = Constraints(selector=(("zone", self.chance.choice(ZONES)),)) if picky else Constraints()
        return replace(
            spec,
            application=f"ns/gang{number}",
            queue=LEAVES[number],
            constraints=constraints,
            gang="w",
            gang_minimums=(("w", 2 + number % 2),),
            gang_topology=("zone", True) if number == 3 else None,
        )

    def leave_to(self, chosen: str, waiting: list[str]) -> None:
        """Those of its gang stay."""
        gang = self.specs[chosen].gang and self.specs[chosen].application
        self.scenario.gone(*(name for name in waiting if name != chosen and (not gang or self.specs[name].application != gang)))

    def change(self, held: Held) -> None:
        if held.reason == GANG_INCOMPLETE:
            spec = self.specs[held.pod.partition("/")[2]]
            uid = f"more-{len(self.specs)}"
            self.ask(replace(spec, uid=uid, name=uid))
        elif (
            held.nodes is not None
            and held.nodes.closest is None
            and "of the pods with which the gang starts is there at once" in held.change
        ):
            self.large()
        elif held.reason == GANG_OVER:
            found = re.search(r"queue (\S+) may have enough for all of them at once", held.change)
            assert found, held
            self.queue(found[1], **{**self.queues[found[1]], "maximum": {}})
        else:
            super().change(held)

    def undo(self, held: Held, node: str, refusal: Refusal) -> None:
        """The pods of a gang may select different nodes, so one that is edited for one of them may be lost to another."""
        if refusal.reason == affinity.REASON and self.specs[held.pod.partition("/")[2]].gang:
            assert "or a node is added that admits the pod and has room for it" in held.change
            self.large()
        else:
            super().undo(held, node, refusal)

    def large(self) -> None:
        """A large node in each zone."""
        for zone in ZONES:
            resources = {"cpu": 10_000, "memory": 20 * GIB, "pods": 110}
            self.described(f"large-{zone}", resources=resources, labels={"zone": zone, "host": f"large-{zone}"})


class DevicesWorld(RuledWorld):
    """Every third pod has a claim for one or two devices, of which a node has up to three."""

    def build(self) -> None:
        self.devices: dict[str, int] = {}
        self.scenario.tell(DevicesKnown(known=True))
        see(self.scenario, DeviceClassSpec("gpu"))
        super().build()

    def described(self, name: str, **said: Any) -> None:
        super().described(name, **said)
        if name not in self.devices:
            self.have(name, self.chance.randint(0, 3))

    def have(self, name: str, count: int) -> None:
        self.devices[name] = count
        see(self.scenario, replace(slice_of(name, *gpus(count)), generation=count))

    def like(self, name: str, app: str, constraints: Constraints) -> PodSpec:
        spec = super().like(name, app, constraints)
        if self.chance.random() < 0.67:
            return spec
        see(
            self.scenario,
            claim(
                name,
                *[replace(one, name=f"r{number}") for number, one in enumerate(claim("x").requests * self.chance.randint(1, 2))],
            ),
        )
        return replace(spec, constraints=replace(constraints, claims=PodClaims("ns", ((name, False),))))

    def go_on(self) -> None:
        for _ in range(3):
            self.scenario.wait(1)
            effects = list(self.scenario.core.plan(self.scenario.now, 1_000_000))
            for asked in effects:
                if isinstance(asked, ReserveDevices):
                    written(self.scenario, asked)
            self.scenario.confirm([one for one in effects if isinstance(one, Bind)])

    def undo(self, held: Held, node: str, refusal: Refusal) -> None:
        if refusal.reason == NOT_ALL:
            assert "devices" in held.change
            self.have(node, self.devices[node] + 2)
        else:
            super().undo(held, node, refusal)


class PartitionedWorld(CapacityWorld):
    """Under the capacity discipline, with nodes of a partition gpu: exclusive, or lent to others."""

    def cluster(self) -> Cluster:
        return Partitioned().partitions(gpu=self.chance.random() < 0.5)

    def node(self, name: str, cpu: int, memory: int, pods: int, **labels: str) -> None:
        gpu = {LABEL: "gpu"} if LABEL not in labels and self.chance.random() < 0.5 else {}
        super().node(name, cpu, memory, pods, **{name: value for name, value in {**labels, **gpu}.items() if value})

    def told(self, name: str, **said: Any) -> None:
        super().told(name, partition=self.chance.choice(["", "", "gpu"]), **said)

    def of_queue(self, path: str) -> dict[str, Any]:
        said: dict[str, Any] = {"default": {"root": "100%", "root.a": "40%", "root.b": "30%", "root.c": "30%"}.get(path, "50%")}
        said["gpu"] = {"root": "100%", "root.a": "40%", "root.b": "60%", "root.c": "0%"}.get(path, "50%")
        if path != "root" and self.chance.random() < 0.6:
            said["most"] = self.chance.choice(["60%", "80%"])
        if path in LEAVES:
            said["user_limit_factor"] = self.chance.choice([-1.0, 1.0])
        return said

    def queue(self, path: str, **said: Any) -> None:
        self.queues[path] = said
        if path != "root":
            assert isinstance(self.scenario, Partitioned)
            self.scenario.shares(path, **said)

    def change(self, held: Held) -> None:
        if held.reason == USER_LIMIT:
            assert "pods of the same user end" in held.change
            records = self.scenario.core.state.pods.values()
            here = [one for one in records if one.node >= 0 and one.application and one.application.queue]
            self.scenario.gone(*[one.spec.uid for one in here if one.application.queue.path == held.queue])
        else:
            super().change(held)

    def undo(self, held: Held, node: str, refusal: Refusal) -> None:
        if refusal.reason == partitions.REASON:
            assert "the label names the partition that the pod asks for" in held.change
            wanted = self.pods[held.pod.partition("/")[2]]["partition"]
            self.edited(node, labels={**self.nodes[node]["labels"], LABEL: wanted})
        else:
            super().undo(held, node, refusal)

    def more(self, limit: Limit) -> None:
        said = self.queues[limit.queue]
        if limit.partition == "gpu" and "most" in said:
            self.queue(limit.queue, **{name: value for name, value in said.items() if name != "most"})
        elif limit.partition == "gpu" and said["gpu"] == "0%":
            self.queue(limit.queue, **{**said, "gpu": "100%"})
        else:
            self.node(f"more-{limit.partition}", 10_000, 20 * GIB, 110, **{"zone": "a", LABEL: limit.partition})
