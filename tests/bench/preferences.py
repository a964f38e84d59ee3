"""What a pod costs that only prefers something, without any I/O: microseconds of a placement, at 5,000 nodes in five zones.

Each kind of preference by itself, beside pods without any; a hundred applications with labels of their own ask in turn. ``disliked`` are pods without any preference where
a tenth of the nodes has a taint with PreferNoSchedule.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

from bench.core import GIB
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import NodeSeen, PodSeen, SchedulerSeen
from treadle.core.model import (
    Constraints,
    NodeSpec,
    PodRules,
    PodSpec,
    PodTerm,
    Requirement,
    SchedulerSpec,
    SpreadTerm,
    Taint,
    Wish,
)
from treadle.runtime.garbage import YOUNG

NODES, PODS, APPLICATIONS, ZONES = 5_000, 4_000, 100, 5
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BUDGET = 128
SELECTOR = tuple[Requirement, ...]


def evenly(selector: SELECTOR, *topologies: str) -> Constraints:
    return Constraints(pods=PodRules("ns", preferred_spread=tuple(SpreadTerm(one, 1, selector) for one in topologies)))


KINDS: dict[str, Callable[[SELECTOR], Constraints]] = {
    "plain": lambda _selector: Constraints(),
    "spread over zones": lambda selector: evenly(selector, ZONE),
    "spread over hosts": lambda selector: evenly(selector, HOST),
    "spread over both": lambda selector: evenly(selector, ZONE, HOST),
    "apart on hosts": lambda selector: Constraints(pods=PodRules("ns", preferred=((-100, PodTerm(HOST, selector, ("ns",))),))),
    "near in a zone, on certain nodes": lambda selector: Constraints(
        pods=PodRules("ns", preferred=((100, PodTerm(ZONE, selector, ("ns",))),)),
        wish=Wish(terms=((10, (Requirement(ZONE, "In", ("z1", "z2")),)),)),
    ),
    "disliked": lambda _selector: Constraints(),
}


def microseconds(kind: str, scoring: str) -> float:
    """Return what a placement of such a pod takes."""
    core = Core()
    core.handle(SchedulerSeen(SchedulerSpec(scoring=scoring)), 0.0)
    for number in range(NODES):
        taints = (Taint("slow", "", "PreferNoSchedule"),) if kind == "disliked" and number % 10 == 0 else ()
        labels = {ZONE: f"z{number % ZONES}", HOST: f"n{number}"}
        core.handle(NodeSeen(NodeSpec(f"n{number}", {"cpu": 32_000, "memory": 128 * GIB, "pods": 110}, labels, taints)), 0.0)
    for number in range(PODS):
        app = f"app-{number % APPLICATIONS}"
        pod = PodSpec(
            f"p{number}", "ns", f"p{number}", "treadle", demand=(("cpu", 1000), ("memory", GIB), ("pods", 1)), application=f"ns/{app}",
            labels=(("app", app),), constraints=KINDS[kind]((Requirement("app", "In", (app,)),)),
        )  # fmt: skip
        core.handle(PodSeen(pod), 0.0)
    core.plan(0.0, BUDGET)  # what is made once is not what a pod costs
    gc.collect()
    began, placed = time.perf_counter(), 0
    while count := sum(isinstance(effect, Bind) for effect in core.plan(0.0, BUDGET)):
        placed += count
    took = time.perf_counter() - began
    assert placed == PODS - BUDGET, f"{kind}: {placed}"
    return round(took / placed * 1e6, 1)


def measure() -> dict[str, Any]:
    gc.set_threshold(*YOUNG)
    found: dict[str, Any] = {"bench": "preferences", "nodes": NODES, "pods": PODS}
    for scoring in ("Pack", "Spread"):
        found[scoring] = {kind: microseconds(kind, scoring) for kind in KINDS}
    return found
