"""Sets that are placed together, by the walk alone and with the solver: what is placed, and how long a set takes.

Random sets with anti-affinity, cardinality and affinity on nodes and racks; both ways have the same sets and nodes, in three cases:

* ``alone``: each set comes by itself to a cluster that is full but for a little more than it asks for;
* ``full``: the sets come one after the other to a cluster that has less room than all of them ask for;
* ``roomy``: they come to one that has three times as much.

A **whole** set is one of which all pods are placed. **Broken** are pods that are placed and whose constraint does not hold in the end, since others came
beside them later. **Kept** are nodes that still have room for a pod of the largest kind. Times are milliseconds of the processor for a pass that places one set.
"""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import Any

from bench.core import GIB
from core.naive_rules import Cluster
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import ApplicationSeen, NodeSeen, PodSeen, SchedulerSeen
from treadle.core.model import RACK_LABEL, ApplicationSpec, Constraints, NodeSpec, PodRules, PodSpec, SchedulerSpec, Settings
from treadle.core.model.scheduler import TogetherSettings
from treadle.core.rules.constraints.parsing import parse_expression
from treadle.core.rules.constraints.processor import SERIAL
from treadle.runtime.solver import Highs

NODES = (100, 1_000, 5_000)
SETS, RACKS = 40, 10
TIME_LIMIT = 0.5
CASES = {"alone": 60, "full": 1_400, "roomy": 5_000}
"""Cores that are free in the whole cluster, on few nodes or on many."""
LARGEST = 6
Json = dict[str, Any]


def a_cluster(nodes: int, room: int, *, solver: bool, chance: Random) -> Core:
    """Nodes of 32 cores in ten racks, of which others have left so much that all is as much whatever the number of nodes."""
    core = Core(Settings(solver=Highs()))
    core.handle(SchedulerSeen(SchedulerSpec(together=TogetherSettings(solver, TIME_LIMIT))), 0.0)
    free = [0] * nodes
    left = min(room, nodes * 30)
    while left > 0:
        node, cores = chance.randrange(nodes), chance.choice([1, 2, 3, 4, 6, 8])
        if free[node] + cores <= 32:
            free[node] += cores
            left -= cores
    for number in range(nodes):
        labels = {RACK_LABEL: f"r{number % RACKS}"}
        core.handle(NodeSeen(NodeSpec(f"n{number}", {"cpu": 32_000, "memory": 128 * GIB, "pods": 110}, labels)), 0.0)
        taken = 32 - free[number]
        demand = (("cpu", taken * 1000), ("memory", 4 * taken * GIB), ("pods", 1))
        core.handle(PodSeen(PodSpec(f"o{number}", "other", f"o{number}", "default-scheduler", f"n{number}", demand=demand)), 0.0)
    return core


def a_set(number: int, chance: Random) -> list[PodSpec]:
    """Two to four kinds of pods of one application, each with a constraint about itself or another."""
    identity, kinds, found = f"ns/set{number}", chance.randint(2, 4), []
    for kind in range(kinds):
        tag, other = f"t{kind}", f"t{chance.randrange(kinds)}"
        texts = [
            f"notin,node,{tag}",
            f"cardinality,node,{tag},0,{chance.randint(1, 2)}",
            f"and(notin,node,{tag}:notin,node,{other})",
            f"cardinality,rack,{tag},0,{chance.randint(1, 3)}",
            f"and(notin,node,{tag}:in,rack,{other})" if other != tag else f"notin,node,{tag}",
            f"notin,rack,{other}" if other != tag else f"notin,node,{tag}",
        ]
        rules = PodRules("ns", placement=(parse_expression(chance.choice(texts)),), application=identity)
        cpu, count = chance.choice([1, 2, 3, 6]), chance.randint(2, 8)
        found += [
            PodSpec(
                f"s{number}-{kind}-{each}", "ns", f"s{number}-{kind}-{each}", "treadle", demand=(("cpu", cpu * 1000), ("memory", 2 * cpu * GIB), ("pods", 1)),
                application=identity, tags=(tag,), constraints=Constraints(pods=rules),
            )
            for each in range(count)
        ]  # fmt: skip
    return found


def placed(case: str, nodes: int, *, solver: bool) -> Json:
    """Return what became of all sets."""
    chance = Random(7)
    core = a_cluster(nodes, CASES[case], solver=solver, chance=chance)
    found: Json = {"pods": 0, "of": 0, "whole": 0, "broken": 0}
    came: Counter[str] = Counter()
    times, now = [], 1.0
    specs: dict[str, PodSpec] = {}
    on: dict[str, str] = {}
    for number in range(SETS):
        wanted = a_set(number, chance)
        if case == "alone" and number:
            core = a_cluster(nodes, CASES[case], solver=solver, chance=Random(number))
        core.plan(now)
        core.handle(ApplicationSeen(ApplicationSpec(f"ns/set{number}", together=SERIAL)), now)
        for pod in wanted:
            specs[pod.uid] = pod
            core.handle(PodSeen(pod), now)
        began = time.process_time()
        here = {effect.uid: effect.node for effect in core.plan(now) if isinstance(effect, Bind)}
        times.append(time.process_time() - began)
        now += 60.0
        found["pods"] += len(here)
        found["of"] += len(wanted)
        found["whole"] += len(here) == len(wanted)
        on.update(here)
        if case == "alone" or number == SETS - 1:
            found["broken"] += broken(core, specs, on)
            came.update(core.view.sets)
            on = {}
    times.sort()
    state = core.state
    if case != "alone":
        found["kept"] = sum(free[state.types.index["cpu"]] >= LARGEST * 1000 for free in state.nodes.free)
    found["milliseconds"] = {
        "median": round(times[len(times) // 2] * 1000, 1),
        "ninth of ten": round(times[len(times) * 9 // 10] * 1000, 1),
        "most": round(times[-1] * 1000, 1),
    }
    return {**found, "came": dict(sorted(came.items()))}


def broken(core: Core, specs: dict[str, PodSpec], on: dict[str, str]) -> int:
    """Return how many pods are where their constraints do not hold, by a plain reading of them."""
    nodes = {node.name: node for node in core.state.nodes.specs if node is not None}
    by_application: dict[str, dict[str, tuple[PodSpec, str]]] = {}
    for uid, node in on.items():
        by_application.setdefault(specs[uid].application, {})[uid] = (specs[uid], node)
    return sum(
        bool(Cluster(nodes, {}, {key: one for key, one in here.items() if key != uid}).refusal(spec, nodes[node]))
        for here in by_application.values()
        for uid, (spec, node) in here.items()
    )


def measure() -> Json:
    return {
        "bench": "together",
        "sets": SETS,
        **{
            case: {
                str(nodes): {"walk": placed(case, nodes, solver=False), "solver": placed(case, nodes, solver=True)}
                for nodes in NODES
            }
            for case in CASES
        },
    }
