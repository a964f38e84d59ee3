"""What each node says to a pod: why it cannot go there, by the rules that the cycle asks, in kube-scheduler's order and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes.pick_preferring import feasible
from treadle.core.kernel.nodes.rules import host_ports, static_refusal
from treadle.core.kernel.volumes.rule import ALSO
from treadle.core.units.resources import PODS

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State


def refusals(state: State, shape: Shape) -> dict[str, list[str]]:
    """Return for each known node why it refuses a pod of a shape: nothing where it does not, all shortages where it lacks several resources."""
    return {spec.name: _refusal(state, shape, row) for row, spec in enumerate(state.nodes.specs) if spec is not None}


def _refusal(state: State, shape: Shape, row: int) -> list[str]:
    nodes, spec = state.nodes, state.nodes.specs[row]
    assert spec is not None
    if shape.between is not None and shape.between.problem:
        return [shape.between.problem]
    reason = static_refusal(spec, shape.constraints)
    if not reason and shape.ports and not host_ports.free(shape.ports, nodes.ports[row]):
        reason = host_ports.REASON
    if reason:
        return [reason]
    names, free = state.types.names, nodes.free[row]
    short = [
        "Too many pods" if position == PODS else f"Insufficient {names[position]}"
        for position, value in shape.demand
        if free[position] < value
    ]
    # Of an extended resource that a class of devices serves those are short that have some of it themselves.
    has = spec.allocatable
    if short:
        short += [
            f"Insufficient {names[position]}"
            for position, value in shape.extra
            if has.get(names[position]) and free[position] < value
        ]
    if short or shape.between is None:
        return sorted(short)
    between = shape.between.refusal(row)
    return sorted(between.split(ALSO)) if between else []


def preferences(state: State, shape: Shape) -> dict[str, dict[str, int]]:
    """Return the points that pods of a shape give each node that can take one now, by plugin."""
    usable = feasible(state.nodes, shape)
    found: dict[str, dict[str, int]] = {state.nodes.names[row]: {} for row in np.flatnonzero(usable).tolist()}
    if shape.preferences is None or not found:
        return {}
    rows = np.flatnonzero(usable)
    for name, points in shape.preferences.parts(rows):
        for row in rows.tolist():
            found[state.nodes.names[row]][name] = int(points[row])
    return found
