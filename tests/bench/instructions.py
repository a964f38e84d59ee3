"""Instructions that a decision takes, counted by valgrind: the same every time, on a busy machine too, so small changes can be told.

The difference of two runs that differ in how much they decide, under either discipline. Null where there is no valgrind, or no
setarch.
"""

import gc
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FEW, MANY = 500, 2_500
BUDGET = 125


def child(discipline: str, decisions: int) -> None:
    """Build a small cluster, warm up, and decide so much; a collection of garbage that falls into one of two runs would tell nothing."""
    gc.disable()
    from bench import core as bench

    bench.NODES, bench.LEAVES, bench.APPLICATIONS, bench.ASKS = 500, 60, 200, 6_000
    core = bench.cluster(discipline)
    made = 0
    while made < BUDGET * 8 + decisions:
        made += len(core.plan(1.0, BUDGET))


def counted(discipline: str, decisions: int) -> int:
    """Return how many instructions a run takes."""
    command = [
        "setarch", platform.machine(), "--addr-no-randomize",  # what hashes by its address is found after as many steps every time
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__, discipline, str(decisions),
    ]  # fmt: skip
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1])


def measure() -> dict[str, Any]:
    """Instructions a decision, by discipline."""
    found: dict[str, Any] = {"benchmark": "instructions"}
    for discipline in ("Fair", "Capacity"):
        there = shutil.which("valgrind") and shutil.which("setarch")
        subprocess.run([sys.executable, __file__, discipline, "1"], check=True)  # compiles what is new, which is not counted
        found[discipline.lower()] = (
            round((counted(discipline, MANY) - counted(discipline, FEW)) / (MANY - FEW)) if there else None
        )
    return found


if __name__ == "__main__":
    HERE = Path(__file__).resolve().parent
    sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if entry != str(HERE))]
    child(sys.argv[1], int(sys.argv[2]))
