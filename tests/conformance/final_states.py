"""Random full clusters: who has how much in the end, by YARN's heartbeats and by one pass of the core over all nodes.

On several nodes both give room away in the same order but not on the same nodes, so with unlike pods other gaps are left. Where
the end differs, the same case is played by nodes that offer themselves: if the core agrees then, the reason is which nodes were
chosen; otherwise it is one of the kinds of ``conformance.kinds``.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from conformance.kinds import Kind
from conformance.live import ALIKE, NOTHING, Live
from conformance.suites import part_for

NODES = "other nodes"
"""The reason of a difference that is gone when nodes offer themselves one by one."""
KINDS = ("fair, alike pods", "fair, unlike pods", "capacity, users", "masters")
REASONS = frozenset({ALIKE, NODES, *(kind.value for kind in Kind)})
SOME = 12
"""Clusters of each kind that a test plays; docs/deviations.md tells of more."""
HADOOP: dict[str, list[list[int]]] = json.loads(Path(__file__).with_suffix(".json").read_text())
"""The memory (MiB) and processors that the applications had in the end when Hadoop played the clusters, by the name of the case."""
ROUNDS = 60
"""Heartbeats of every node: enough for each cluster to be full."""
_YARN = {
    "yarn.scheduler.minimum-allocation-mb": "0",
    "yarn.scheduler.increment-allocation-mb": "1024",
    "yarn.scheduler.maximum-allocation-mb": "1048576",
    "yarn.scheduler.maximum-allocation-vcores": "1024",
}


def random_case(kind: str, seed: int) -> dict[str, Any]:
    """Return a case in the form of the conformance suites: nodes, applications that ask once, and heartbeats."""
    random = Random(f"{kind} {seed}")
    nodes = [[random.choice([8192, 16384, 24576]), random.choice([8, 16])] for _ in range(random.randint(2, 4))]
    queues = [f"q{number}" for number in range(random.randint(2, 3))]
    fair = kind.startswith("fair") or (kind == "masters" and seed % 2 == 0)
    masters = kind == "masters"
    alike = [1024, 1] if kind == "fair, alike pods" else None
    steps: list[dict[str, Any]] = [{"op": "add_node", "id": f"n{at}", "res": res} for at, res in enumerate(nodes)]
    for number in range(random.randint(3, 8)):
        queue, user = random.choice(queues), random.choice(["ann", "bob", "cid"])
        step: dict[str, Any] = {"op": "add_app", "id": f"a{number}", "user": user, "queue": f"root.{queue}"}
        if masters:
            step["am"] = [random.choice([1024, 2048]), 1]
        steps += [step, {"op": "tick", "ms": 10}]
        res = alike or [random.choice([1024, 2048, 3072, 6144]), random.choice([1, 1, 2, 4])]
        steps.append({"op": "ask", "app": f"a{number}", "res": res, "count": random.randint(1, 14)})
    rounds = [{"op": "update"}] if fair else []
    steps += [
        each for _ in range(ROUNDS) for each in (*rounds, {"op": "tick", "ms": 1000}, {"op": "node_update_all", "rounds": 1})
    ]
    return {
        "name": f"{kind} {seed}",
        "kind": "trace",
        "scheduler": "fair" if fair else "capacity",
        "steps": steps,
        "expect": {"steps": []},
        **(_fair(random, queues) if fair else _capacity(random, queues)),
    }


def _fair(random: Random, queues: list[str]) -> dict[str, Any]:
    text = "".join(f'<queue name="{name}"><weight>{random.choice([1, 1, 2, 3])}</weight></queue>' for name in queues)
    policy = random.choice(["fair", "drf"])
    site = {
        **_YARN,
        "yarn.scheduler.fair.assignmultiple": "false",
        "yarn.scheduler.reservation-threshold.increment-multiple": "1000",
    }
    rest = f"<defaultQueueSchedulingPolicy>{policy}</defaultQueueSchedulingPolicy>"
    return {"conf": site, "allocations": f'<?xml version="1.0"?><allocations>{text}{rest}</allocations>'}


def _capacity(random: Random, queues: list[str]) -> dict[str, Any]:
    prefix = "yarn.scheduler.capacity."
    site = {
        **_YARN,
        "yarn.scheduler.minimum-allocation-mb": "1024",
        f"{prefix}resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        f"{prefix}root.queues": ",".join(queues),
        f"{prefix}maximum-am-resource-percent": random.choice(["0.2", "0.5", "1"]),
    }
    for name in queues:
        site |= {
            f"{prefix}root.{name}.capacity": f"{random.choice([1, 1, 2, 3])}w",
            f"{prefix}root.{name}.user-limit-factor": random.choice(["1", "2", "10"]),
            f"{prefix}root.{name}.minimum-user-limit-percent": random.choice(["100", "50", "34"]),
            f"{prefix}root.{name}.ordering-policy": random.choice(["fifo", "fair"]),
        }
    return {"conf": site}


def by_heartbeats(case: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the memory and processors that each application has in the end by YARN's heartbeats."""
    player = part_for(case).play(case)
    return {name: (used[0], used[1]) for name, one in player.applications().items() for used in [_used(one)]}


def kinds_along(case: dict[str, Any]) -> set[str]:
    """Return the kinds of differences of a core that decides along, one offering node at a time."""
    live = part_for(case).play(case, live=True).live
    return {kind for counts in (live.placed, live.unplaced) for kind in counts if kind not in {ALIKE, NOTHING}}


def by_passes(case: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the same by passes of the core over all nodes."""
    first = next(at for at, step in enumerate(case["steps"]) if step["op"] == "node_update_all")
    player = part_for(case).play({**case, "steps": case["steps"][:first]})
    live = Live(player.types)
    live.now = player.now
    player.define(live)
    had = live.at_once(player.applications().values(), player.spec_of)
    return {name: (amounts.get("memory", 0), amounts.get("cpu", 0)) for name, amounts in had.items()}


def _used(application: Any) -> list[int]:
    used: list[int] = application.usage if isinstance(application.usage, list) else application.usage.see("").used
    return used


def reason(case: dict[str, Any]) -> str:
    """Return why the end differs, ``ALIKE`` if it does not: the first kind of difference, in the order of ``Kind``."""
    if by_heartbeats(case) == by_passes(case):
        return ALIKE
    kinds = kinds_along(case)
    unknown = kinds - REASONS
    return min(unknown, default="") or next((kind.value for kind in Kind if kind.value in kinds), NODES)


def count(kind: str, number: int = 60) -> Counter[str]:
    """Return how many of a kind of clusters end alike, and how many do not, by reason."""
    return Counter(reason(random_case(kind, seed)) for seed in range(number))
