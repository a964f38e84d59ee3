"""The nodes, one by one, for those who list them: what each has, who has it, and whether pods may go there."""

from __future__ import annotations

from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.tree.partitions import partition_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.kernel.state import State
    from treadle.core.model import Taint
    from treadle.core.views.figures import Amounts

SCHEDULABLE, CORDONED, NOT_READY, HELD_OFF = "Schedulable", "Cordoned", "NotReady", "HeldOff"
NODE_STATES = (SCHEDULABLE, CORDONED, NOT_READY, HELD_OFF)
LOST = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints of nodes whose kubelets are not well, or not heard of."""


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """A node.

    ``used`` is what pods request that are on it or on their way, ``others`` what of that is other schedulers', with what is left to them in ``withheld``; ``opportunistic`` is what pods
    were given that request nothing. ``free`` is negative where more was bound than there is. ``state`` is one of the four words above: ``HeldOff`` while its kubelet has refused pods of ours.
    """

    name: str
    partition: str
    state: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Amounts
    used: Amounts
    free: Amounts
    others: Amounts
    withheld: Amounts
    opportunistic: Amounts
    problem: str


@dataclass(frozen=True, slots=True)
class NodeLine:
    """What of a node's figures is shown of thousands at once."""

    name: str
    partition: str
    state: str
    allocatable: Amounts
    used: Amounts
    opportunistic: Amounts
    problem: str


def node_names(state: State) -> list[str]:
    """Return the names of all nodes."""
    return [spec.name for spec in state.nodes.specs if spec is not None]


def largest(state: State) -> Amounts:
    """Return the largest amount of each resource type that a node has."""
    found = [0] * state.types.width
    for spec, have in zip(state.nodes.specs, state.nodes.allocatable, strict=True):
        if spec is not None:
            found = list(map(max, found, have))
    return state.types.named(found)


def node_figures(state: State, name: str) -> NodeFigures | None:
    """Return the figures of a node, None if it is not known."""
    nodes = state.nodes
    row = nodes.row.get(name, -1)
    spec = nodes.specs[row] if row >= 0 else None
    if spec is None:
        return None
    named, have, free = state.types.named, nodes.allocatable[row], nodes.free[row]
    withheld = nodes.withheld.get(row) or [0] * len(have)
    return NodeFigures(
        name,
        partition_of(state, row),
        _state(state, name, unschedulable=spec.unschedulable, taints=spec.taints),
        spec.labels,
        spec.taints,
        named(have),
        named([most - left - kept for most, left, kept in zip(have, free, withheld, strict=True)]),
        named(free),
        named(nodes.foreign_on(row) or ()),
        named(withheld),
        named((state.opportunistic.on_row.get(row) or ())[:TYPES]),
        spec.problem,
    )


def node_line(state: State, name: str) -> NodeLine | None:
    """Return a node as one of many, None if it is not known."""
    nodes = state.nodes
    row = nodes.row.get(name, -1)
    spec = nodes.specs[row] if row >= 0 else None
    if spec is None:
        return None
    named, have, kept = state.types.named, nodes.allocatable[row], nodes.withheld.get(row)
    used = map(sub, have, nodes.free[row])
    return NodeLine(
        name,
        partition_of(state, row),
        _state(state, name, unschedulable=spec.unschedulable, taints=spec.taints),
        named(have),
        named(used if kept is None else map(sub, used, kept)),
        named((state.opportunistic.on_row.get(row) or ())[:TYPES]),
        spec.problem,
    )


def _state(state: State, name: str, *, unschedulable: bool, taints: tuple[Taint, ...]) -> str:
    if any(taint.key in LOST for taint in taints):
        return NOT_READY
    if unschedulable:
        return CORDONED
    held = any(node == name and not pause.over for (node, _), pause in state.refused.pauses.items())
    return HELD_OFF if held else SCHEDULABLE
