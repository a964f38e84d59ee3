"""What a pod counts for in storage: the claims that it names, and what it has in use on the node that it is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.effects import BindVolumes
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec


def come(state: State, spec: PodSpec) -> None:
    """Take note of the claims that a pod names."""
    if spec.constraints.volumes is not None:
        state.shapes.storage.use(spec.uid, spec.constraints.volumes)


def gone(state: State, spec: PodSpec) -> None:
    """Take note that a pod names claims no longer."""
    if spec.constraints.volumes is not None:
        state.shapes.storage.unuse(spec.uid, spec.constraints.volumes)


def renamed(state: State, before: PodSpec, after: PodSpec) -> None:
    """Take note of the claims that a pod names by now."""
    if before.constraints.volumes != after.constraints.volumes:
        gone(state, before)
        come(state, after)


def enter(state: State, record: PodRecord) -> None:
    """Count what a pod has in use on the node that it is on."""
    volumes = record.spec.constraints.volumes
    if volumes is not None:
        state.shapes.in_use.enter(record.spec.uid, volumes, state.nodes.names[record.node])


def leave(state: State, record: PodRecord) -> None:
    """Let a pod have nothing in use on its node any more, and nothing kept for it."""
    if record.shape.storage is not None:
        state.shapes.in_use.leave(record.spec.uid)
        state.claims.end(state.shapes.storage, record.spec.uid)


def begin(state: State, record: PodRecord) -> BindVolumes:
    """Decide on volumes for the claims of a pod that was placed; returns the effect that asks the API for them."""
    node = state.nodes.specs[record.node]
    assert node is not None
    return state.claims.begin(state.shapes.storage, record.spec, node, state.now, record.cause)
