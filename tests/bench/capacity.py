"""The core's decisions under both disciplines, in turn and three times each: what the rules of the CapacityScheduler cost beside the fair ones."""

from typing import Any

from bench.core import APPLICATIONS, LEAVES, NODES, run
from treadle.core.model import CAPACITY, FAIR

ROUNDS = 3


def measure() -> dict[str, Any]:
    rates: dict[str, list[float]] = {FAIR: [], CAPACITY: []}
    decisions = 0
    for _ in range(ROUNDS):
        for discipline, found in rates.items():
            decisions, _, cpu_seconds = run(discipline)
            found.append(decisions / cpu_seconds)
    fair, capacity = max(rates[FAIR]), max(rates[CAPACITY])
    return {
        "benchmark": "capacity",
        "nodes": NODES,
        "queues": LEAVES,
        "applications": APPLICATIONS,
        "decisions": decisions,
        "decisions_per_cpu_s": round(capacity),
        "fair_decisions_per_cpu_s": round(fair),
        "ratio_to_fair": round(capacity / fair, 2),
    }
