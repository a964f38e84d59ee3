"""Pods bound per second on a real API server with 5,000 nodes: without rules about other pods, and with one for every third pod.

Rules are all kinds in turn, each about the pods of its application: spread over zones, over hosts, alone on a host, near in a zone.
The limit is that of our binder alone, with all placements given.
"""

from typing import Any

from bench.cluster import APPLICATIONS, HOST, PODS, ZONE, Setup, kube_scheduler, limit, pod, treadle

NODES, ZONES, ROUNDS = 5_000, 5, 2


def ruled(number: int, scheduler: str) -> dict[str, Any]:
    """A pod of which every third has a rule."""
    found = pod(number, scheduler)
    if number % 3 == 0:
        alike = {"labelSelector": {"matchLabels": {"treadle.dev/application": f"app-{number % APPLICATIONS}"}}}
        found["spec"] |= (
            {"topologySpreadConstraints": [_spread(ZONE, 1, alike)]},
            {"topologySpreadConstraints": [_spread(HOST, 1, alike)]},
            {"affinity": {"podAntiAffinity": {REQUIRED: [{**alike, "topologyKey": HOST}]}}},
            {"affinity": {"podAffinity": {REQUIRED: [{**alike, "topologyKey": ZONE}]}}},
        )[number // 3 % 4]
    return found


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _spread(topology: str, skew: int, alike: dict[str, Any]) -> dict[str, Any]:
    return {"maxSkew": skew, "topologyKey": topology, "whenUnsatisfiable": "DoNotSchedule", **alike}


def measure() -> dict[str, Any]:
    plain, rules = Setup(NODES, ZONES), Setup(NODES, ZONES, ruled)
    runs = (
        ("limit", lambda: _of_limit(limit(plain))),
        ("without", lambda: treadle(setup=plain)),
        ("with", lambda: treadle(setup=rules)),
        ("kube_scheduler_with", lambda: kube_scheduler(rules)),
    )
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in runs}
    for number in range(ROUNDS):
        for name, run in reversed(runs) if number % 2 else runs:
            found[name].append(run())
    rates = {name: sum(one["per_s"] for one in all_runs) / len(all_runs) for name, all_runs in found.items()}
    return {
        "benchmark": "cluster_rules",
        "nodes": NODES,
        "pods": PODS,
        "rounds": ROUNDS,
        "bound": {name: min(one["bound"] for one in all_runs) for name, all_runs in found.items()},
        "per_s": {name: [round(one["per_s"]) for one in all_runs] for name, all_runs in found.items()},
        "cpu_s": {name: [round(one["cpu_s"], 1) for one in all_runs] for name, all_runs in found.items()},
        "ratio_to_limit_without": round(rates["without"] / rates["limit"], 2),
        "ratio_to_limit_with": round(rates["with"] / rates["limit"], 2),
        "ratio_to_kube_scheduler_with": round(rates["with"] / rates["kube_scheduler_with"], 2),
    }


def _of_limit(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "per_s": found["bound"] / found["seconds"]}
