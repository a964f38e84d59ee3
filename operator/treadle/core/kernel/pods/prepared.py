"""What has to be ready before a pod is bound, volumes and devices: what it counts for in both, and what is kept for it until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.pods import device_charges, volumes

if TYPE_CHECKING:
    from treadle.core.effects import BindVolumes, ReserveDevices
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec


def come(state: State, spec: PodSpec) -> None:
    """Take note of the claims that a pod names."""
    volumes.come(state, spec)
    if spec.constraints.claims is not None:
        state.shapes.devices.use(spec.uid, spec.constraints.claims)


def gone(state: State, spec: PodSpec) -> None:
    """Take note that a pod names claims no longer."""
    volumes.gone(state, spec)
    if spec.constraints.claims is not None:
        state.shapes.devices.unuse(spec.uid, spec.constraints.claims)


def renamed(state: State, before: PodSpec, after: PodSpec) -> None:
    """Take note of the claims that a pod names by now."""
    volumes.renamed(state, before, after)
    if before.constraints.claims != after.constraints.claims:
        if before.constraints.claims is not None:
            state.shapes.devices.unuse(before.uid, before.constraints.claims)
        if after.constraints.claims is not None:
            state.shapes.devices.use(after.uid, after.constraints.claims)
            state.shapes.devices.mark_for(after.uid, after.constraints.claims)


def enter(state: State, record: PodRecord) -> None:
    """Count what a pod has in use on the node that it is on, and charge it for its devices; where it counts is known."""
    volumes.enter(state, record)
    if record.shape.devices is not None:
        device_charges.enter(state, record)
    if record.shape.extra:
        node = state.nodes.specs[record.node]
        names = state.types.names
        extra = tuple((at, amount) for at, amount in record.shape.extra if node is not None and node.allocatable.get(names[at]))
        if extra:
            state.extra[record.spec.uid] = extra
            state.nodes.count(record.node, extra)
            if record.spec.scheduler not in state.scheduler.names:
                state.nodes.count_foreign(record.node, extra, 1)
                state.updates.cluster_changed = True


def leave(state: State, record: PodRecord) -> None:
    """Let a pod have nothing in use on its node any more, nothing kept for it, and be charged for no devices."""
    charged = state.device_charges.by_pod
    if charged and record.spec.uid in charged:
        device_charges.leave(state, record)
    if record.shape.prepared or (state.reservations and record.spec.uid in state.reservations):
        volumes.leave(state, record)
        extra = state.extra.pop(record.spec.uid, None)
        if extra is not None:
            state.nodes.give(record.node, extra)
            if record.application is None:
                state.nodes.count_foreign(record.node, extra, -1)
                state.updates.cluster_changed = True
        state.reservations.end(state.shapes.devices, record.spec.uid)


def decide(state: State, record: PodRecord) -> None:
    """Decide on volumes and devices for the claims of a pod that was placed for a try: the API is asked for nothing."""
    if _reserve(state, record):
        device_charges.enter(state, record)
    if _binds_volumes(record):
        volumes.begin(state, record)


def begin(state: State, record: PodRecord) -> BindVolumes | ReserveDevices | None:
    """Decide on volumes and devices for the claims of a pod that was placed; returns the first effect that asks the API for them, None if nothing is lacking.

    What devices are asked for stays kept for a while even if the pod is placed no more.
    """
    reserving = _reserve(state, record)
    if reserving:
        device_charges.enter(state, record)
    if _binds_volumes(record):
        return volumes.begin(state, record)
    return state.reservations.write(state.shapes.devices, record.spec, record.cause) if reserving else None


def _reserve(state: State, record: PodRecord) -> bool:
    shape = record.shape
    if shape.devices is None:
        return False
    node = state.nodes.specs[record.node]
    assert node is not None
    return state.reservations.begin(state.shapes.devices, record.spec, shape.devices, node, state.now)


def _binds_volumes(record: PodRecord) -> bool:
    storage = record.shape.storage
    return storage is not None and bool(storage.find or storage.make)
