"""Applications and leaves with nothing but the numbers that rules look at."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.core.rules.fair.policies import YARN
from treadle.core.rules.policies import Cluster, Policy

CLUSTER = Cluster.of([1000, 100, 100])
FAIR, DRF = (next(policy for policy in YARN if policy.name == name) for name in ("fair", "drf"))


@dataclass(eq=False)
class Eater:
    """An application, or a queue, by name."""

    name: str
    usage: list[int]
    demand: list[int] = field(default_factory=lambda: [0, 0, 0])
    fair_share: list[int] = field(default_factory=lambda: [0, 0, 0])
    start: float = 0.0
    priority: int = 0
    weight: float = 1.0
    minimum: list[int] | None = None
    maximum: list[int] | None = None
    share_met_at: float = 0.0
    next_check: float = 0.0
    short_of_share: list[int] = field(default_factory=lambda: [0, 0, 0])
    short_of_minimum: list[int] = field(default_factory=lambda: [0, 0, 0])


@dataclass(eq=False)
class Table:
    """A leaf with its preemption settings."""

    usage: list[int]
    demand: list[int]
    minimum: list[int] | None = None
    policy: Policy = FAIR
    fair_share_threshold: float = 0.5
    fair_share_timeout: float | None = 10.0
    min_share_timeout: float | None = 5.0
    minimum_met_at: float = 0.0
