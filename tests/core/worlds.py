"""Random clusters in which pods wait, and what an explanation asks for done to them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from core.builders import GIB, Scenario
from core.clusters import Cluster
from treadle.core.kernel.admission_checks import OVER_LARGEST, TOO_MANY
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.nodes.rules import affinity
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.model import Limit
from treadle.core.model.constraints import Constraints
from treadle.core.views.closest import Refusal
from treadle.core.views.explain import TURN
from treadle.core.views.holding import Held
from treadle.core.views.holding import Limit as HeldLimit

ZONES = ("a", "b")
LEAVES = ("root.a.x", "root.a.y", "root.b", "root.c")


@dataclass
class World:
    """A random cluster: its nodes and queues are kept as they were told, so that one thing of them can be changed."""

    chance: random.Random
    scenario: Scenario = field(default_factory=Scenario)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    queues: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    alike = 1
    """How often the same may be asked for."""

    def build(self) -> None:
        for number in range(self.chance.randint(1, 4)):
            cpu, memory, pods = self.chance.randint(1, 6), self.chance.randint(2, 12), self.chance.choice([2, 4, 110])
            self.node(f"n{number}", cpu * 1000, memory * GIB, pods, zone=self.chance.choice(ZONES))
        for path in ("root", "root.a", *LEAVES):
            self.queue(path, **self.of_queue(path))
        for number in range(self.chance.randint(4, 24)):
            self.pod(f"p{number}")
            if self.chance.random() < 0.2:
                self.go_on()
        self.go_on()

    def of_queue(self, path: str) -> dict[str, Any]:
        said: dict[str, Any] = {"maximum": {}}
        if self.chance.random() < 0.5:
            said["maximum"]["cpu"] = Limit(self.chance.choice([0, 1000, 2000, 3500, 6000]))
        if self.chance.random() < 0.3:
            said["maximum"]["memory"] = Limit(self.chance.randint(1, 12) * GIB)
        if path in LEAVES:
            if self.chance.random() < 0.3:
                said["max_running"] = self.chance.randint(1, 3)
            if self.chance.random() < 0.3:
                said["max_container"] = {"cpu": Limit(self.chance.choice([1000, 2000]))}
            said["max_master_share"] = self.chance.choice([None, 0.1, 0.5, -1.0])
        return said

    def node(self, name: str, cpu: int, memory: int, pods: int, **labels: str) -> None:
        self.described(name, resources={"cpu": cpu, "memory": memory, "pods": pods}, labels=labels)

    def described(self, name: str, **said: Any) -> None:
        """A node as it is, with all that is said of it."""
        self.nodes[name] = said
        self.scenario.node(name, cpu=0, memory=0, pods=0, **said)

    def edited(self, name: str, **said: Any) -> None:
        self.described(name, **{**self.nodes[name], **said})

    def queue(self, path: str, **said: Any) -> None:
        self.queues[path] = said
        self.scenario.queue(path, **said)

    def pod(self, name: str) -> None:
        said: dict[str, Any] = {"cpu": self.chance.randint(0, 3), "memory": self.chance.randint(0, 5)}
        if self.chance.random() < 0.3:
            said["constraints"] = Constraints(selector=(("zone", self.chance.choice(ZONES)),))
        if self.chance.random() < 0.25:
            said["role"] = "master"
        self.told(name, **said)

    def told(self, name: str, **said: Any) -> None:
        self.pods[name] = said
        self.scenario.pod(name, self.chance.choice(LEAVES), f"app{self.chance.randint(0, 5)}", **said)

    def go_on(self) -> None:
        self.scenario.wait(1).confirm(self.scenario.plan())

    def waiting(self) -> list[str]:
        return [name for name in self.pods if self.scenario.core.view.held(name) is not None]

    def leave_to(self, chosen: str, waiting: list[str]) -> None:
        """Let the other pods that wait go: what comes free is for the one that was asked about."""
        self.scenario.gone(*(name for name in waiting if name != chosen))

    def change(self, held: Held) -> None:
        """Do what an explanation asks for."""
        if held.limit is not None:
            limit, said = held.limit, self.queues[held.limit.queue]
            most = limit.most + limit.missing
            named = "max_container" if held.reason == OVER_LARGEST else "maximum"
            self.queue(limit.queue, **{**said, named: {**said[named], limit.resource: Limit(most)}})
        elif held.nodes is not None and held.nodes.closest is not None:
            for refusal in held.nodes.closest.refusals:
                self.undo(held, held.nodes.closest.node, refusal)
            more = {
                name: max(held.nodes.closest.lacks.get(name, 0), held.nodes.closest.small.get(name, 0))
                for name in ("cpu", "memory", "pods")
            }
            resources = self.nodes[held.nodes.closest.node]["resources"]
            self.edited(held.nodes.closest.node, resources={**resources, **{name: resources[name] + more[name] for name in more}})
        elif held.reason == TOO_MANY:
            self.queue(held.queue, **{**self.queues[held.queue], "max_running": 100})
        elif held.reason == MASTER_SHARE:
            self.queue(held.queue, **{**self.queues[held.queue], "max_master_share": -1.0})
        else:
            assert held.reason == TURN or "looked at again with the next pass" in held.change, held

    def undo(self, held: Held, node: str, refusal: Refusal) -> None:
        """Do what lets a node pass a rule."""
        assert refusal.reason == affinity.REASON, (held, refusal)
        assert "the labels are such as the pod's node selector and affinity ask for" in held.change
        wanted = dict(self.pods[held.pod.partition("/")[2]]["constraints"].selector)
        self.edited(node, labels={**self.nodes[node]["labels"], **wanted})


class CapacityWorld(World):
    """The same under the capacity discipline, with percentages of the cluster and limits of users."""

    def build(self) -> None:
        self.scenario = self.cluster()
        super().build()

    def cluster(self) -> Cluster:
        return Cluster().capacity()

    def of_queue(self, path: str) -> dict[str, Any]:
        said: dict[str, Any] = {
            "guaranteed": {"root": "100%", "root.a": "40%", "root.b": "30%", "root.c": "30%"}.get(path, "50%")
        }
        if path != "root" and self.chance.random() < 0.6:
            said["maximum"] = self.chance.choice(["50%", "60%", "80%"])
        if path in LEAVES:
            said["user_limit_factor"] = self.chance.choice([-1.0, 0.5, 1.0])
            if self.chance.random() < 0.3:
                said["max_allocation"] = {"cpu": self.chance.choice([1000, 2000])}
            said["master_share"] = self.chance.choice([None, 0.1, 0.5, 1.0])
        return said

    def queue(self, path: str, **said: Any) -> None:
        self.queues[path] = said
        if path != "root":
            assert isinstance(self.scenario, Cluster)
            self.scenario.share(path, **said)

    def change(self, held: Held) -> None:
        said = self.queues.get(held.queue, {})
        if held.reason == USER_LIMIT:
            self.queue(held.queue, **{**said, "user_limit_factor": -1.0})
        elif held.reason == MASTER_SHARE:
            self.scenario.gone(*self._masters(held.queue))  # of a queue that is small they are too many at any share
        elif held.reason == OVER_LARGEST and held.limit is not None:
            most = {held.limit.resource: held.limit.most + held.limit.missing}
            self.queue(held.limit.queue, **{**said, "max_allocation": most})
        elif held.limit is not None:
            self.more(held.limit)
        else:
            super().change(held)

    def _masters(self, path: str) -> list[str]:
        """The masters of a queue that are placed."""
        masters = [name for name, said in self.pods.items() if said.get("role") == "master"]
        records = self.scenario.core.state.pods
        placed = [name for name in masters if name in records and records[name].node >= 0]
        return [name for name in placed if (found := records[name].application) and found.queue and found.queue.path == path]

    def more(self, limit: HeldLimit) -> None:
        """Let a queue have more; one that may have the whole cluster has more when the cluster does."""
        said = self.queues[limit.queue]
        if "maximum" in said:
            self.queue(limit.queue, **{name: value for name, value in said.items() if name != "maximum"})
        else:
            self.node("more", 10_000, 20 * GIB, 110, zone="a")
