"""What there is of nodes at one moment, as plain data for those who show it. Amounts are as in ``figures``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.tree.partitions import partition_of

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """A node. ``used`` is what pods of all schedulers request there and what is left to others, ``opportunistic`` what opportunistic pods were given beside."""

    name: str
    partition: str
    cordoned: bool
    allocatable: dict[str, int]
    used: dict[str, int]
    opportunistic: dict[str, int]
    problem: str
    """What the node says that cannot be understood, and is not acted on."""


def names(state: State) -> list[str]:
    """Return the names of the nodes that exist."""
    specs = state.nodes.specs
    return [name for name, row in state.nodes.row.items() if specs[row] is not None]


def node(state: State, name: str) -> NodeFigures | None:
    """Return the figures of a node, None for one that is not known."""
    nodes, named = state.nodes, state.types.named
    row = nodes.row.get(name)
    spec = None if row is None else nodes.specs[row]
    if row is None or spec is None:
        return None
    has, free = nodes.allocatable[row], nodes.free[row]
    return NodeFigures(
        name=name,
        partition=partition_of(state, row),
        cordoned=spec.unschedulable,
        allocatable=named(has),
        used=named(most - left for most, left in zip(has, free, strict=False)),
        opportunistic=named(state.opportunistic.on_row.get(row, [0] * TYPES)),
        problem=nodes.problems.get(name, ""),
    )
