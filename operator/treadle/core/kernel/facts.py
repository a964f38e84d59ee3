"""What a core knows, as events: fed to a new core of the same settings they make the same state for scheduling.

Memory is a cache of the API, so nearly all of it is what objects say. Beside that a core knows what it has decided and not yet
heard of, which binds have failed, and which definitions are in force though others have been written since; there are events for
these too. What is computed (shares, orders, limits) is computed again. Not told: room that is held, since when queues have been
idle or starved and pods with delayed constraints have waited, in which partition nodes were that are gone, and at which nodes
opportunistic pods stand.

Only what was last heard is read, and nothing that is derived from it is relied on, so it can be asked of a core in which
something has gone wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.events import (
    ApplicationPlaced,
    ApplicationSeen,
    BindsFailed,
    DevicesAssumed,
    DevicesKnown,
    DevicesSeen,
    GangRequested,
    NamespaceSeen,
    NodeHeldOff,
    NodeSampled,
    NodeSeen,
    PodAssumed,
    PodGroupSeen,
    PodGroupsServed,
    PodSampled,
    PodSeen,
    ProvisionerKnown,
    QueueGone,
    QueueSeen,
    QueuesInForce,
    QueuesPlanned,
    RemovedLately,
    ReservationSeen,
    RunTimesKnown,
    SchedulerSeen,
    StorageKnown,
    StorageSeen,
    UsageKnown,
)
from treadle.core.kernel.devices.binding import LONGEST
from treadle.core.kernel.pods.lifecycle import put, see, set_aside
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.admission import admit
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.model.opportunistic import FULL, SOME

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from treadle.core.events import Event
    from treadle.core.kernel.state import State


def facts(state: State, under_way: Container[str] | None = None) -> list[Event]:
    """Return the events that make a state like this one.

    ``under_way`` are the uids of the binds that are on their way; pods whose bind was decided and is not one of them wait again.
    Without it all that were decided are taken to be.
    """
    return list(telling(state, under_way))


def telling(state: State, under_way: Container[str] | None = None) -> Iterator[Event]:
    """Tell the events that make a state like this one, one after the other; the state may change between two of them.

    What changes meanwhile is told as it was or as it is, and a pod that goes not at all where it was not told yet: good enough for who looks ahead.
    """
    tree, scheduler = state.tree, state.scheduler
    in_force = list(dict.fromkeys(above for queue in tree.root.walk() if not queue.dynamic for above in reversed(queue.chain)))
    yield SchedulerSeen(replace(scheduler, discipline=state.discipline.name))
    if tree.planned.specs:
        yield QueuesPlanned(tuple(tree.planned.specs.values()))
    yield QueuesInForce(tuple(queue.spec for queue in in_force))
    labels = state.shapes.kinds.namespaces
    for name in {**state.namespaces, **labels}:
        yield NamespaceSeen(name, state.namespaces.get(name, ""), tuple(labels.get(name, {}).items()))
    yield from [ReservationSeen(known.spec, known.decided) for known in state.plans.known.values()]
    yield from [ApplicationSeen(application) for application in state.explicit.values()]
    yield from [NodeSeen(spec) for spec in state.nodes.specs if spec is not None]
    yield from [NodeHeldOff(pause.pod, pause.until, pause.seconds) for pause in state.refused.pauses.values()]
    storage = state.shapes.storage
    yield from [StorageSeen(thing) for thing in storage.all()]
    if storage.known or storage.trouble:
        yield StorageKnown(storage.known, storage.trouble)
    yield from [PodGroupSeen(group) for group in state.gangs.groups.values()]
    yield from [PodGroupsServed(source, served) for source, served in state.gangs.served.items()]
    if state.gangs.provisioner is not None:
        yield ProvisionerKnown(state.gangs.provisioner, state.gangs.provisioner_trouble)
    devices = state.shapes.devices
    yield from [DevicesSeen(thing) for thing in devices.all()]
    if devices.known or devices.trouble:
        yield DevicesKnown(devices.known, devices.trouble)
    yield from [DevicesAssumed(uid, tuple(kept.items())) for uid, (_, kept) in state.reservations.lingering.items()]
    usage = state.opportunistic.usage
    if usage.known is not None:
        yield UsageKnown(usage.known, usage.trouble)
    if ran := state.backfill.run_times:
        yield RunTimesKnown(tuple((application, *times) for application, times in ran.items()))
    if removals := state.opportunistic.back_off.known(state.settings.epoch, state.now):
        yield RemovedLately(tuple(removals))
    delayed = {what.spec.uid: when for when, _, what in state.timers if isinstance(what, PodRecord)}
    for record in _in_order(state):
        if state.pods.get(record.spec.uid) is record:
            yield from _of_pod(state, record, under_way, delayed)
    for application in list(state.applications.values()):
        path = "" if application.queue is None else application.queue.path
        yield ApplicationPlaced(application.id, path, application.wanted, application.counted, application.wait)
    names = state.types.names
    for node, one in list(usage.of.items()):
        if (sample := one.usage.sample) is not None:
            measured = tuple((names[position], value) for position, value in sample.used.items())
            told = {resource for resource, _ in one.waiting} if one.waited is None else ()
            pressure = tuple((name, one.waiting[name, SOME], one.waiting[name, FULL]) for name in sorted(told))
            yield NodeSampled(node, measured, sample.at, sample.window, pressure)
    for there in list(usage.pods.values()):
        for uid, pod in list(there.items()):
            measured = tuple((names[position], value) for position, value in pod.sample.used.items())
            yield PodSampled(uid, measured, pod.sample.at, pod.sample.window)
    yield from [GangRequested(*gang, request.phase, request.words) for gang, request in state.gangs.requests.items()]
    yield QueuesInForce(tuple(queue.spec for queue in in_force if queue.defined and not queue.dynamic))  # the others drain
    yield from [
        QueueGone(queue.path) for queue in in_force if queue.path not in tree.defined and queue.path not in tree.planned.specs
    ]
    yield from [QueueSeen(spec) for spec in tree.defined.values()]
    if state.discipline.name != scheduler.discipline:
        yield SchedulerSeen(scheduler)


def _in_order(state: State) -> list[PodRecord]:
    """Return the pods in an order in which applications have the same first pod, and pods wait in the same order."""
    firsts: dict[str, None] = {}
    lines: dict[str, tuple[int, int]] = {}
    for application in state.applications.values():
        firsts.update(dict.fromkeys(list(application.pods)[:1]))
        for ask in application.every_ask():
            lines.update((record.spec.uid, (ask.rank[2], at)) for at, record in enumerate(ask.pods))
    rest = sorted((uid for uid in state.pods if uid not in firsts), key=lambda uid: lines.get(uid, (-1, 0)))
    return [state.pods[uid] for uid in (*firsts, *rest) if uid in state.pods]


def _of_pod(state: State, record: PodRecord, under_way: Container[str] | None, delayed: dict[str, float]) -> Iterator[Event]:
    spec = state.excess_types.get(record.spec.uid, record.spec)
    said = replace(spec, reported=(record.reported_reason, record.reported_message))
    decided = record.state is PodState.ASSUMED and spec.uid not in state.claims  # for those it is decided anew
    reserving = state.reservations.get(spec.uid) if decided else None
    if decided and record.application is not None and (under_way is None or spec.uid in under_way or reserving is not None):
        queue = record.application.queue.path if record.application.queue is not None else ""
        rules = replace(
            record.shape.asked,
            partition=None,
            avoided_by=(),
            liked_by=(),
            images=(),
            placement=None,
            storage=None,
            volumes=spec.constraints.volumes,
            devices=None,
            claims=spec.constraints.claims,
            gang=None,
            together=None,
        )
        idle = (record.decided or spec).opportunistic
        counted = replace(said, demand=_named(record), opportunistic=idle, constraints=rules)
        yield PodAssumed(counted, state.nodes.names[record.node], queue)
        if reserving is not None:
            yield DevicesAssumed(spec.uid, tuple(reserving.allocations.items()))
    yield PodSeen(said)
    refused = record.state is PodState.IDLE and record.application is not None
    if record.failures or refused:
        again = float("inf") if refused else delayed.get(spec.uid, 0.0) if record.state is PodState.DELAYED else 0.0
        yield BindsFailed(spec.uid, record.failures, again)


def _named(record: PodRecord) -> tuple[tuple[str, int], ...]:
    """Return the demand that was counted for a pod, with what classes of devices serve of it."""
    devices = record.shape.devices
    return record.shape.named if devices is None else tuple(sorted((*record.shape.named, *devices.extended)))


def assumed(state: State, event: PodAssumed) -> None:
    """Count a pod on the node that was decided for it, in the queue that it was decided in."""
    if event.pod.uid in state.pods:
        return
    see(state, replace(event.pod, node=event.node, held_in=event.queue, scheduler=state.scheduler.name))
    state.excess_types.pop(event.pod.uid, None)
    record = state.pods[event.pod.uid]
    state.pods.move(record, PodState.ASSUMED)
    record.spec, record.since = event.pod, state.now
    state.expiry = min(state.expiry, state.now + state.settings.expire_after)


def devices_assumed(state: State, event: DevicesAssumed) -> None:
    """Keep the devices that were decided for the claims of an assumed pod; the API is asked for them again."""
    record = state.pods.get(event.uid)
    devices = state.shapes.devices
    if record is not None and record.state is PodState.ASSUMED:
        state.reservations.restore(devices, record.spec, state.nodes.names[record.node], event.allocations, state.now)
        return
    kept = {key: one for key, one in event.allocations if key in devices.claims and devices.has(key) is None}
    for key, allocation in kept.items():
        devices.decide(key, allocation)
    if kept:
        state.reservations.linger(event.uid, state.now + LONGEST, kept)


def binds_failed(state: State, event: BindsFailed) -> None:
    """Take note of failed binds: a pod that waits is set aside until it is to be tried again."""
    record = state.pods.get(event.uid)
    if record is None:
        return
    record.failures = event.failures
    if record.state is PodState.WAITING and event.again > state.now:
        set_aside(state, record)
        if event.again < float("inf"):
            state.pods.move(record, PodState.DELAYED)
            state.wake_at(event.again, record)


def placed(state: State, event: ApplicationPlaced) -> None:
    """Put an application into the queue that it was in, and let it run if it did, whatever rules and limits say now."""
    application, queue = state.applications.get(event.id), state.tree.queues.get(event.queue)
    if application is None:
        return
    application.wanted = event.wanted
    if event.wait is not None:
        put(state, application, event.wait)
        return
    if queue is None or not queue.leaf:
        return
    if application.queue is not queue:
        put(state, application, queue)
    if event.runs:
        state.admission.newcomers.pop(application, None)
        admit(state, application)
