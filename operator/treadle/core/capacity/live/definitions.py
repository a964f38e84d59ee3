"""From the definitions of Queues to the tree of capacities, and what of them is refused as a whole.

Capacities make sense together only: the percentages of siblings, kinds that must not be mixed. So a set of definitions is in force as a
whole or not at all, like Hadoop's file. A queue that drains, or that a placement rule made without a template, is guaranteed nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from treadle.core.capacity.context import Context
from treadle.core.capacity.settings import Capacity, CapacityQueueSpec, CapacitySettings, Kind, PartitionShare, Portion
from treadle.core.capacity.tree import CapacityTree
from treadle.core.errors import InvalidSpec
from treadle.core.model import DEFAULT_QUEUE, QueueSpec
from treadle.core.resources import ResourceTypes

ROOT = "root"


def specs_of(wanted: Mapping[str, QueueSpec], further: Iterable[str] = ()) -> dict[str, CapacityQueueSpec]:
    """Return the definitions of a tree of capacities; ``further`` are the paths of queues that nobody defines. Raises ``InvalidSpec``."""
    missing = sorted(path for path, spec in wanted.items() if spec.capacity is None and path not in {ROOT, DEFAULT_QUEUE})
    if missing:
        raise InvalidSpec(
            f"{missing[0]}: spec.capacity is missing, which the discipline Capacity needs of every queue but the root"
        )
    specs: dict[str, CapacityQueueSpec] = {}
    for path in [*wanted, *(path for path in further if path not in wanted)]:
        spec = wanted[path].capacity if path in wanted else _nothing(path)
        if spec is None:
            spec = CapacityQueueSpec(ROOT) if path == ROOT else _nothing(path, 100.0 if len(wanted) == 2 else 0.0)
        specs[path] = spec
    specs.setdefault(ROOT, CapacityQueueSpec(ROOT))
    children: dict[str, list[str]] = {}
    for path in specs:
        if path != ROOT:
            above, _, name = path.rpartition(".")
            children.setdefault(above, []).append(name)
    if ROOT not in children:
        children[ROOT] = ["default"]
        specs[DEFAULT_QUEUE] = _nothing(DEFAULT_QUEUE, 100.0)
    return {path: replace(spec, children=tuple(children.get(path, ()))) for path, spec in specs.items()}


def _nothing(path: str, percent: float = 0.0) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions={"": PartitionShare(Capacity(Portion(Kind.PERCENT, percent)))})


def check(wanted: Mapping[str, QueueSpec], settings: CapacitySettings) -> None:
    """Raise ``InvalidSpec`` if definitions cannot be in force together."""
    known = {path: spec for path, spec in wanted.items() if path == ROOT or _has_parents(path, wanted)}
    CapacityTree(specs_of(known), Context(ResourceTypes(), settings))


def _has_parents(path: str, wanted: Mapping[str, QueueSpec]) -> bool:
    above = path.rpartition(".")[0]
    return above == ROOT or (above in wanted and _has_parents(above, wanted))
