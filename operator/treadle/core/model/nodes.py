"""Nodes: what pods may use of them, and what decides who may."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: what pods may use of it, and what decides who may."""

    name: str
    allocatable: dict[str, int]
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
