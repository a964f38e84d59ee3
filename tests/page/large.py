"""A core with many queues, applications and nodes."""

from __future__ import annotations

from core.builders import Scenario
from treadle.core import Core
from treadle.core.model import Settings

LEAVES = 99
"""Of one department; with itself there are a hundred queues in it."""


def large(departments: int = 50, applications: int = 2000, nodes: int = 500, pods: int = 2) -> Scenario:
    """Departments with their leaves on full nodes; each application has so many pods of one core, and the last ones wait."""
    s = Scenario()
    s.core = Core(Settings(), validate=False)  # invariants after every step take as long as there are queues
    s.nodes(nodes, cpu=max(1, applications * pods // nodes // 2), memory=64)
    s.queue("root")
    for department in range(departments):
        s.queue(f"root.d{department:03}")
        for leaf in range(LEAVES):
            s.queue(f"root.d{department:03}.q{leaf:02}")
    for number in range(applications):
        s.pods(pods, f"p{number}", leaf_of(number, departments), application=f"app-{number:05}")
    s.wait(1)
    s.confirm(s.plan())
    s.wait(1).plan()
    s.core.refresh_shares(s.now)
    return s


def leaf_of(number: int, departments: int = 50) -> str:
    """Return the leaf of an application."""
    return f"root.d{number % departments:03}.q{number // departments % LEAVES:02}"
