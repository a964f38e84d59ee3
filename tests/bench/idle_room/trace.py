"""The trace: nodes and pods, folded into one day."""

import csv
import random
from pathlib import Path
from typing import NamedTuple

DAY = 86_400.0
FULL = 0.85
"""What part of the nodes guaranteed pods request where they request the most."""
STEP = 600.0
"""Seconds between two looks at how much is requested."""


class Pod(NamedTuple):
    """A pod: when it comes and how long it runs, in seconds, and what it uses at most (memory in bytes, cpu in thousandths)."""

    name: str
    comes: float
    runs: float
    memory: int
    cpu: int
    idle: bool


class Trace(NamedTuple):
    """Nodes as (name, memory, cpu), and pods in the order in which they come."""

    nodes: list[tuple[str, int, int]]
    pods: list[Pod]


def load(folder: Path) -> Trace:
    """Read the trace."""
    with (folder / "openb_pod_list_default.csv").open() as file:
        pods = sorted((_pod(row) for row in csv.DictReader(file)), key=lambda pod: (pod.comes, pod.name))
    with (folder / "openb_node_list_all_node.csv").open() as file:
        rows = [(row["sn"], int(row["memory_mib"]) << 20, int(row["cpu_milli"])) for row in csv.DictReader(file)]
    random.Random(1).shuffle(rows)
    return Trace(_enough(rows, [pod for pod in pods if not pod.idle]), pods)


def _pod(row: dict[str, str]) -> Pod:
    comes = float(row["creation_time"])
    runs = max(30.0, float(row["deletion_time"] or comes + DAY) - float(row["scheduled_time"] or comes))
    return Pod(row["name"], comes % DAY, min(runs, DAY), int(row["memory_mib"]) << 20, int(row["cpu_milli"]), row["qos"] == "BE")


def _enough(rows: list[tuple[str, int, int]], pods: list[Pod]) -> list[tuple[str, int, int]]:
    most = [0.0, 0.0]
    for step in range(int(DAY / STEP)):
        there = [pod for pod in pods if pod.comes <= step * STEP < pod.comes + pod.runs]
        most = [max(most[0], sum(pod.memory for pod in there)), max(most[1], sum(pod.cpu for pod in there))]
    taken: list[tuple[str, int, int]] = []
    have = [0, 0]
    for row in rows:
        if have[0] * FULL >= most[0] and have[1] * FULL >= most[1]:
            break
        taken.append(row)
        have = [have[0] + row[1], have[1] + row[2]]
    return taken
