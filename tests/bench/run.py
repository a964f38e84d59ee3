"""Benchmarks: one JSON line each, ratios taken in one run on one machine. ``run.py [NAME ...]`` runs those named; without a name all but
the long ones.

Nothing is asserted here: the machines are shared and noisy, and a number is for people to read.
"""

import importlib
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Beside this file lies a module that is called like the folder of the real control plane.
sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if entry != str(HERE))]

BENCHMARKS = (
    "core",
    "capacity",
    "shares",
    "edits",
    "ends",
    "rules",
    "preferences",
    "together",
    "instructions",
    "memory",
    "reservations",
    "cluster",
    "cluster_capacity",
)
LONG = ("cluster_rules", "watched", "scheduler_perf", "idle_room", "opportunistic", "agent", "eta", "optimum", "promised")
"""Those that are run when they are named."""


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS + LONG]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS + LONG)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        module = importlib.import_module(f"bench.{name}")
        print(json.dumps(module.measure()), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
