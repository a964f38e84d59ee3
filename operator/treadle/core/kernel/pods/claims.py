"""Pods and the claims that they name, for volumes and for devices: looked at again when these have changed, and bound when their claims are ready."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from treadle.core.effects import Bind, FreeDevices
from treadle.core.kernel.pods.device_charges import settle
from treadle.core.kernel.pods.failures import failed
from treadle.core.kernel.pods.lifecycle import enqueue, recount, set_aside
from treadle.core.kernel.pods.shaping import devices_of, stale
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from treadle.core.effects import ReserveDevices
    from treadle.core.kernel.devices.binding import Reserving
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.kernel.volumes.binding import UnderWay
    from treadle.core.model.devices import DeviceClaimSpec

    Awaited = UnderWay | Reserving
    A = TypeVar("A", UnderWay, Reserving)

NEVER = float("inf")
NO_NODE = "Unschedulable"
"""What a pod waits for that no node suits."""


def look_at_claims(state: State) -> list[Bind | ReserveDevices]:
    """Take over what claims have come to for the pods that name what changed; returns the binds of pods whose claims are all ready, and what is to be written for others."""
    storage, devices = state.shapes.storage, state.shapes.devices
    found: list[Bind | ReserveDevices] = []
    while storage.marked or devices.marked:
        concerned: dict[str, None] = {}
        for things in (storage, devices):
            marked, things.marked = things.marked, {}
            for key in marked:
                concerned.update(things.users.get(key, ()))
            if things is devices:
                for key in marked:
                    settle(state, key)
        for uid in concerned:
            record = state.pods[uid]
            if record.state is PodState.WAITING:
                if stale(state, record):
                    set_aside(state, record)
                    enqueue(state, record)
            elif record.state is PodState.BOUND and _serves_otherwise(state, record):
                recount(state, record)
            elif uid in state.claims or uid in state.reservations:
                found += _go_on(state, record)
    return found


def _serves_otherwise(state: State, record: PodRecord) -> bool:
    """Whether classes serve other extended resources of a pod on a node than when it was counted."""
    now, then = devices_of(state, record.spec), record.shape.devices
    return (now.extended if now is not None else ()) != (then.extended if then is not None else ())


def _go_on(state: State, record: PodRecord) -> list[Bind | ReserveDevices]:
    """Bind a pod whose claims are ready, ask for what it still lacks, or give up its placement. Volumes come before devices."""
    claims, reservations, spec = state.claims, state.reservations, record.spec
    node = state.nodes.specs[record.node]
    if spec.uid in claims:
        problem = claims.standing(state.shapes.storage, spec, node)
        if problem is None:
            return []
        if problem:
            failed(state, record, problem)
            return []
        claims.end(state.shapes.storage, spec.uid)
    if spec.uid in reservations:
        devices = state.shapes.devices
        problem = reservations.standing(devices, spec, node)
        if problem is None:
            asked = reservations.write(devices, spec, state.cause)
            return [asked] if asked.claims or asked.made is not None else []
        if problem:
            failed(state, record, problem)
            return []
        reservations.end(devices, spec.uid)
    return [_bind(state, record)]


def expire_claims(state: State) -> None:
    """Give up placements whose claims have not become ready in time, or whose node is gone."""
    if not state.claims and not state.reservations and not state.reservations.lingering:
        return
    state.reservations.expire(state.shapes.devices, state.now)
    late: list[tuple[str, Awaited, str]] = [(*one, "volumes were not bound") for one in _to_look_at(state, state.claims)]
    late += [(*one, "devices were not ready") for one in _to_look_at(state, state.reservations)]
    for uid, one, what in late:
        record = state.pods[uid]
        if record.state is not PodState.ASSUMED:
            continue  # given up just now
        if state.nodes.specs[record.node] is None:
            failed(state, record, f"node {one.node} is gone")
        elif state.now >= one.until:
            failed(state, record, f"its {what} on node {one.node} in time")


def _to_look_at(state: State, awaited: Mapping[str, A]) -> Iterator[tuple[str, A]]:
    """Yield what may have to be given up: what is late, which comes first, or all while a node is gone that pods are counted on."""
    for uid, one in awaited.items():
        if state.now < one.until and not state.nodes.bare:
            return
        yield uid, one


def next_claim(state: State) -> float | None:
    """Return when claims have taken too long at the earliest, None if none are awaited."""
    limits = [until for until, _ in state.reservations.lingering.values()]
    limits += [one.until for one in islice(state.claims.values(), 1)]
    limits += [one.until for one in islice(state.reservations.values(), 1)]
    return min(limits, default=None)


def free_devices(state: State) -> list[FreeDevices]:
    """Take the devices from claims that are reserved for nobody, or for the pod alone that waits with them, where no node suits such a pod (PostFilter of DynamicResources).

    They were decided for a node that the pod cannot go to any more: before a crash, or by another scheduler. Each is asked for once at a version.
    """
    devices = state.shapes.devices
    if not devices.idle:
        return []
    found = []
    for key in list(devices.idle):
        claim = devices.claims.get(key)
        waits = _waits(state, claim) if claim is not None and (claim.special or claim.allocation is not None) else None
        if claim is None or waits is None:
            del devices.idle[key]
            state.freed.pop(key, None)
        elif (claim.special or _no_node(waits)) and state.freed.get(key) != claim.version:
            state.freed[key] = claim.version
            found.append(
                FreeDevices(waits.spec.uid, claim.namespace, claim.name, claim.version, state.cause, delete=claim.special)
            )
    return found


def _no_node(record: PodRecord) -> bool:
    """Whether a pod waits because no node suits it."""
    return record.ask is not None and record.ask.wait is not None and record.ask.wait.reason == NO_NODE


def _waits(state: State, claim: DeviceClaimSpec) -> PodRecord | None:
    """Return a pod that waits with a claim which is reserved for no other one, None if none does."""
    holders = {one.uid for one in claim.reserved}
    if claim.special:
        record = state.pods.get(claim.owner)
        return record if record is not None and record.state is PodState.WAITING else None
    for uid in state.shapes.devices.users.get(claim.key, ()):
        record = state.pods[uid]
        if record.state is PodState.WAITING and holders <= {uid}:
            return record
    return None


def _bind(state: State, record: PodRecord) -> Bind:
    spec, application = record.spec, record.application
    assert application is not None
    record.since = state.now
    if state.expiry == NEVER:
        state.expiry = state.now + state.settings.expire_after
    queue = application.queue.path if application.queue is not None else ""
    return Bind(
        spec.uid, spec.namespace, spec.name, state.nodes.names[record.node], application.id, queue, record.cause, spec.version
    )
