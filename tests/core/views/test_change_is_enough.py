"""What explain says would have to change is enough: it is done to a copy of a random state, and the pod is placed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.builders import GIB, Scenario
from core.clusters import Cluster
from treadle.core.kernel.admission_checks import OVER_LARGEST, TOO_MANY
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.model import Limit
from treadle.core.model.constraints import Constraints
from treadle.core.views.explain import TURN
from treadle.core.views.holding import Held
from treadle.core.views.holding import Limit as HeldLimit

STATES, STEPS = 500, 8
"""Random states, and how many things may hold one pod back, one after the other."""
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
        self.nodes[name] = {"cpu": cpu, "memory": memory, "pods": pods, **labels}
        plain = {"cpu": 0, "memory": 0, "pods": 0}
        self.scenario.node(name, **plain, resources={"cpu": cpu, "memory": memory, "pods": pods}, labels=labels)

    def queue(self, path: str, **said: Any) -> None:
        self.queues[path] = said
        self.scenario.queue(path, **said)

    def pod(self, name: str) -> None:
        said: dict[str, Any] = {"cpu": self.chance.randint(0, 3), "memory": self.chance.randint(0, 5)}
        if self.chance.random() < 0.3:
            said["constraints"] = Constraints(selector=(("zone", self.chance.choice(ZONES)),))
        if self.chance.random() < 0.25:
            said["role"] = "master"
        self.pods[name] = said
        self.scenario.pod(name, self.chance.choice(LEAVES), f"app{self.chance.randint(0, 5)}", **said)

    def go_on(self) -> None:
        self.scenario.wait(1).confirm(self.scenario.plan())

    def waiting(self) -> list[str]:
        return [name for name in self.pods if self.scenario.core.view.held(name) is not None]

    def change(self, held: Held) -> None:
        """Do what an explanation asks for."""
        if held.limit is not None:
            limit, said = held.limit, self.queues[held.limit.queue]
            most = limit.most + limit.missing
            named = "max_container" if held.reason == OVER_LARGEST else "maximum"
            self.queue(limit.queue, **{**said, named: {**said[named], limit.resource: Limit(most)}})
        elif held.nodes is not None and held.nodes.closest:
            node = dict(self.nodes[held.nodes.closest])
            for resource, lacking in held.nodes.lacks.items():
                node[resource] += lacking
            self.node(held.nodes.closest, **node)
        elif held.reason == NO_NODE:
            assert "a node is added" in held.change, held
            constraints = self.pods[held.pod.partition("/")[2]].get("constraints")
            zone = constraints.selector[0][1] if constraints is not None else "a"
            self.node("added", 10_000, 20 * GIB, 110, zone=zone)
        elif held.reason == TOO_MANY:
            self.queue(held.queue, **{**self.queues[held.queue], "max_running": 100})
        elif held.reason == MASTER_SHARE:
            self.queue(held.queue, **{**self.queues[held.queue], "max_master_share": -1.0})
        else:
            assert held.reason == TURN, held


class CapacityWorld(World):
    """The same under the capacity discipline, with percentages of the cluster and limits of users."""

    def build(self) -> None:
        self.scenario = Cluster().capacity()
        super().build()

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
            self._more(held.limit)
        else:
            super().change(held)

    def _masters(self, path: str) -> list[str]:
        """The masters of a queue that are placed."""
        masters = [name for name, said in self.pods.items() if said.get("role") == "master"]
        records = self.scenario.core.state.pods
        placed = [name for name in masters if name in records and records[name].node >= 0]
        return [name for name in placed if (found := records[name].application) and found.queue and found.queue.path == path]

    def _more(self, limit: HeldLimit) -> None:
        """Let a queue have more; one that may have the whole cluster has more when the cluster does."""
        said = self.queues[limit.queue]
        if "maximum" in said:
            self.queue(limit.queue, **{name: value for name, value in said.items() if name != "maximum"})
        else:
            self.node("more", 10_000, 20 * GIB, 110, zone="a")


def placed_after(seed: int, met: Counter[str], kind: type[World]) -> bool:
    """Return whether a pod that waits is placed after what is asked for has been done, False where none waits in this state."""
    world = kind(random.Random(seed))
    world.build()
    waiting = world.waiting()
    if not waiting:
        return False
    chosen = world.chance.choice(waiting)
    told = world.scenario.core.view.held(chosen)
    assert told is not None
    world.scenario.gone(*(name for name in waiting if name != chosen))  # what comes free is for the pod that was asked about
    done: list[Any] = []
    for _ in range(STEPS):
        met[told.reason] += 1
        key = (told.reason, told.limit and (told.limit.queue, told.limit.resource), told.nodes and told.nodes.closest)
        assert told.reason == TURN or key not in done, (
            f"state {seed}: what was asked for was done, and is asked for again: {told}"
        )
        done.append(key)
        world.change(told)
        world.go_on()
        now = world.scenario.core.view.held(chosen)
        if now is None:
            return True
        told = now
    pytest.fail(f"state {seed}: {chosen} still waits after {done}: {told}")


ALWAYS = {"Unschedulable", "QueueMaximum", "OverMaxAllocation", "MasterShare"}


@pytest.mark.parametrize(
    ("kind", "reasons"), [(World, {*ALWAYS, "ZeroMaximum", "TooManyApplications"}), (CapacityWorld, {*ALWAYS, "UserLimit"})]
)
def test_in_five_hundred_random_states_the_pod_is_placed_when_what_is_asked_for_is_done(
    kind: type[World], reasons: set[str]
) -> None:
    met: Counter[str] = Counter()
    seed = placed = 0
    while placed < STATES:
        placed += placed_after(seed, met, kind)
        seed += 1
    print(met, seed)
    assert {reason for reason, times in met.items() if times >= 10} >= reasons
