"""Placements a second of the core with rules about other pods, without any I/O: an empty cluster is filled, pass by pass.

A hundred applications, each with its own labels, ask in turn; every pod of a run has the same kind of rule. ``third`` is a run in
which every third pod has a rule, of all kinds in turn. Told apart: the events (``seen_per_s``), and the passes with their placements
(``placed_per_s``), under both scores. ``gangs`` are runs of gangs of so many pods each, with one zone for all of a gang, or anywhere.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

from bench.core import GIB
from treadle.core import Core
from treadle.core.effects import Bind
from treadle.core.events import Event, NodeSeen, PodSeen, SchedulerSeen
from treadle.core.model import Constraints, NodeSpec, PodRules, PodSpec, PodTerm, Requirement, SchedulerSpec, SpreadTerm
from treadle.runtime.garbage import YOUNG

NODES, PODS, APPLICATIONS, ZONES = 10_000, 10_000, 100, 5
BUDGET = 128
SELECTOR = tuple[Requirement, ...]


def spread(topology: str, selector: SELECTOR) -> SpreadTerm:
    return SpreadTerm(topology, 1, selector, self_match=True)


KINDS: dict[str, Callable[[SELECTOR, str], PodRules | None]] = {
    "plain": lambda _selector, _app: None,
    "spread over zones": lambda selector, _app: PodRules("ns", spread=(spread("zone", selector),)),
    "spread over hosts": lambda selector, _app: PodRules("ns", spread=(spread("host", selector),)),
    "spread over both": lambda selector, _app: PodRules("ns", spread=(spread("zone", selector), spread("host", selector))),
    "alone on a host": lambda selector, _app: PodRules("ns", anti_affinity=(PodTerm("host", selector, ("ns",)),)),
    "near in a zone": lambda selector, app: PodRules(
        "ns", affinity=(PodTerm("zone", selector, ("ns",)),), labels=(("app", app),)
    ),
}


def pod(number: int, kind: str) -> PodSpec:
    app = f"app-{number % APPLICATIONS}"
    rules = KINDS[kind]((Requirement("app", "In", (app,)),), app)
    return PodSpec(
        f"p{number}",
        "ns",
        f"p{number}",
        "treadle",
        demand=(("cpu", 1000), ("memory", GIB), ("pods", 1)),
        application=f"ns/{app}",
        labels=(("app", app),),
        constraints=Constraints(pods=rules),
    )


def of_gang(number: int, size: int, topology: tuple[str, bool] | None) -> PodSpec:
    gang = f"g{number // size}"
    return PodSpec(
        f"p{number}",
        "ns",
        f"p{number}",
        "treadle",
        demand=(("cpu", 1000), ("memory", GIB), ("pods", 1)),
        application=f"ns/{gang}",
        gang=gang,
        gang_minimums=((gang, size),),
        gang_topology=topology,
    )


def gangs(scoring: str) -> dict[str, dict[str, int]]:
    found = {}
    for size in (8, 64, 512):
        for where, topology in (("anywhere", None), ("one zone", ("zone", True))):
            pods = [of_gang(number, size, topology) for number in range(PODS // size * size)]
            found[f"{size} {where}"] = _filled(pods, scoring)
    return found


def filled(kinds: list[str], scoring: str) -> dict[str, int]:
    """Fill a cluster with pods of some kinds in turn."""
    return _filled([pod(number, kinds[number % len(kinds)]) for number in range(PODS)], scoring)


def _filled(specs: list[PodSpec], scoring: str) -> dict[str, int]:
    core = Core()
    events: list[Event] = [SchedulerSeen(SchedulerSpec(scoring=scoring))]
    for number in range(NODES):
        labels = {"zone": f"z{number % ZONES}", "host": f"n{number}"}
        events.append(NodeSeen(NodeSpec(f"n{number}", {"cpu": 32_000, "memory": 128 * GIB, "pods": 110}, labels)))
    for event in events:
        core.handle(event, 0.0)
    pods = [PodSeen(spec) for spec in specs]
    gc.collect()
    began = time.perf_counter()
    for seen in pods:
        core.handle(seen, 0.0)
    told = time.perf_counter()
    placed = 0
    while count := sum(isinstance(effect, Bind) for effect in core.plan(0.0, BUDGET)):
        placed += count
    done = time.perf_counter()
    assert placed == len(pods), placed
    return {"seen_per_s": round(placed / (told - began)), "placed_per_s": round(placed / (done - told))}


def measure() -> dict[str, Any]:
    gc.set_threshold(*YOUNG)
    found: dict[str, Any] = {"bench": "rules", "nodes": NODES, "pods": PODS, "applications": APPLICATIONS}
    ruled = [kind for kind in KINDS if kind != "plain"]
    thirds = [kind for rule in ruled for kind in ("plain", "plain", rule)]
    for scoring in ("Pack", "Spread"):
        found[scoring] = {kind: filled([kind], scoring) for kind in KINDS} | {"third": filled(thirds, scoring)}
    found["gangs"] = {scoring: gangs(scoring) for scoring in ("Pack", "Spread")}
    return found
