"""Trees of capacities in a cluster with 1,000 of memory and of cpu."""

from __future__ import annotations

from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    ManagedCreation,
    PartitionShare,
    Portion,
)
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.units.resources import ResourceTypes

NOW = 1000.0


def share(kind: Kind, value: float) -> dict[str, PartitionShare]:
    return {"": PartitionShare(Capacity(Portion(kind, value)))}


def weight(path: str, value: float, **said: object) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions=share(Kind.WEIGHT, value), **said)  # type: ignore[arg-type]


def percent(path: str, value: float, **said: object) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions=share(Kind.PERCENT, value), **said)  # type: ignore[arg-type]


def amount(path: str, amounts: int, **said: object) -> CapacityQueueSpec:
    types = {name: Portion(Kind.ABSOLUTE, float(amounts)) for name in ("memory", "cpu")}
    return CapacityQueueSpec(path, partitions={"": PartitionShare(Capacity(types=types, written_by_type=True))}, **said)  # type: ignore[arg-type]


def limited(path: str, part: float, most: float, **said: object) -> CapacityQueueSpec:
    share = PartitionShare(Capacity(Portion(Kind.PERCENT, part)), Capacity(Portion(Kind.PERCENT, most)))
    return CapacityQueueSpec(path, partitions={"": share}, **said)  # type: ignore[arg-type]


def tree_of(*specs: CapacityQueueSpec, **settings: object) -> CapacityTree:
    """A tree of queues below the root, in a cluster with 1,000 of memory."""
    root = CapacityQueueSpec("root", children=tuple(spec.path.split(".")[1] for spec in specs if spec.path.count(".") == 1))
    context = Context(ResourceTypes(), CapacitySettings(least={"memory": 1, "cpu": 1}, **settings))  # type: ignore[arg-type]
    context.total = [1000, 1000, 0]
    context.partitions = {"": [1000, 1000, 0]}
    tree = CapacityTree({spec.path: spec for spec in (root, *specs)}, context)
    tree.follow()
    return tree


def flexible(**said: object) -> CapacityTree:
    creation = FlexibleCreation(enabled=True, **said)  # type: ignore[arg-type]
    return tree_of(weight("root.a", 1), weight("root.flex", 1, flexible=creation))


def managed(template: float = 50, **said: object) -> CapacityTree:
    creation = ManagedCreation(percent("root.man", template), **said)  # type: ignore[arg-type]
    return tree_of(percent("root.a", 50), percent("root.man", 50, managed=creation))


def memory(queue: CapacityQueue) -> int:
    return queue.share("").minimum[0]


def busy(leaf: CapacityQueue) -> None:
    """Let an application wait in a leaf."""
    leaf.pending.append(CapacityApplication(f"in-{leaf.name}", "ann", leaf, len(leaf.pending), 0))
