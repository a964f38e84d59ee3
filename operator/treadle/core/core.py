"""The door of the core: ``handle`` takes events, ``plan`` returns effects. There is no other way to change the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines import in_force
from treadle.core.effects import Bind, BindVolumes, ReserveDevices
from treadle.core.errors import InvariantBroken
from treadle.core.events import (
    ApplicationGone,
    ApplicationPlaced,
    ApplicationSeen,
    BindDone,
    BindFailed,
    BindsFailed,
    DevicesAssumed,
    DevicesGone,
    DevicesKnown,
    DevicesSeen,
    Event,
    EvictFailed,
    GangRequested,
    NamespaceSeen,
    NodeGone,
    NodeHeldOff,
    NodeSampled,
    NodeSeen,
    PodAssumed,
    PodGone,
    PodGroupGone,
    PodGroupSeen,
    PodGroupsServed,
    PodRefused,
    PodSampled,
    PodSeen,
    ProvisionerKnown,
    QueueGone,
    QueueSeen,
    QueuesInForce,
    QueuesPlanned,
    RemovedLately,
    ReportLost,
    ReservationGone,
    ReservationLost,
    ReservationSeen,
    ResizeDone,
    ResizeFailed,
    RunTimesKnown,
    SchedulerSeen,
    StorageGone,
    StorageKnown,
    StorageSeen,
    UsageKnown,
)
from treadle.core.kernel import facts, tenants
from treadle.core.kernel.assign import concerned
from treadle.core.kernel.backfill import filling
from treadle.core.kernel.cycle import cycle
from treadle.core.kernel.gangs import ever, provisioning
from treadle.core.kernel.gangs.groups import look_at_groups
from treadle.core.kernel.gangs.held import serve_gangs
from treadle.core.kernel.gangs.keeping import keep_for_gangs, next_run
from treadle.core.kernel.gangs.partial import give_up_partial, next_partial, withhold
from treadle.core.kernel.invariants import broken
from treadle.core.kernel.opportunistic import by_application, measured, placing, promotion, removing, telling, usage
from treadle.core.kernel.periodic import refused
from treadle.core.kernel.periodic.expiry import expired, next_expiry
from treadle.core.kernel.periodic.lifetimes import expire, next_look
from treadle.core.kernel.periodic.reports import due, forget_reports, report_lost
from treadle.core.kernel.pods import device_charges, lifecycle, owners
from treadle.core.kernel.pods.anew import constraints_changed, look_at_delays, look_between
from treadle.core.kernel.pods.claims import expire_claims, free_devices, look_at_claims, next_claim
from treadle.core.kernel.pods.failures import failed
from treadle.core.kernel.pods.profile import profiles_changed
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption import holds
from treadle.core.kernel.reservations import hearing, keeping
from treadle.core.kernel.state import State
from treadle.core.kernel.tidy import tidy
from treadle.core.kernel.together.again import try_due_sets_again, try_sets_again
from treadle.core.kernel.tree.admission import decide
from treadle.core.kernel.tree.demand import forget_demands, update_demand
from treadle.core.kernel.tree.partitions import partition_of
from treadle.core.kernel.update import (
    apply_edits,
    apply_limits,
    sync_cluster,
)
from treadle.core.model import Settings, version_of
from treadle.core.views import explain
from treadle.core.views.view import View

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from treadle.core.effects import Effect
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec

OF_ALL_QUEUES = ("fair", "capacity", "discipline", "partition_label", "mapping", "mapping_override")
"""The settings of a scheduler that say something of all queues."""
SPARED = 60.0
"""Seconds for which a pod that could not be preempted is not asked again."""


class Core:
    """The scheduler without a socket or a clock.

    ``now`` is in seconds of any clock that does not go back. With ``validate`` every step ends with a check of all invariants,
    which raises ``InvariantBroken``; meant for tests, it costs a pass over the state.
    """

    def __init__(self, settings: Settings | None = None, *, validate: bool = False) -> None:
        self.state = State(settings=settings or Settings())
        in_force.begin(self.state)
        self.validate = validate

    def fresh(self) -> Core:
        """Return a core of the same settings that knows nothing yet."""
        return type(self)(self.state.settings, validate=self.validate)

    def become(self, other: Core) -> None:
        """Take over all that another core knows, which must not be used any more; what owners were told stays told."""
        before, self.state = self.state, other.state
        for identity, application in self.state.applications.items():
            known = before.applications.get(identity)
            if known is not None:
                application.told = known.told
        for name, reservation in self.state.plans.known.items():
            mine = before.plans.known.get(name)
            if mine is not None:
                reservation.told, reservation.own = mine.told, mine.own

    def queues_set_aside(self, paths: Iterable[str]) -> None:
        """Take note of all queues whose definitions could not be taken over without an error."""
        self.state.tree.set_aside(paths)

    def handle(self, event: Event, now: float) -> None:
        """Take over what happened. What has to be done about it is found by the next ``plan``."""
        state = self.state
        state.cause += 1
        state.now = now
        match event:
            case PodSeen(pod, answer, known):
                record = state.pods.get(pod.uid)
                if (answer and not self._is_assumed(pod.uid)) or (known and record is None):
                    return
                if known and record is not None and version_of(pod) < version_of(record.spec):
                    pod = record.spec  # the watch was faster; what was not looked at while a bind was under way is now
                if state.tree.unsettled:
                    self._settle()
                if pod.finished:
                    removing.has_gone(state, pod.uid)
                lifecycle.see(state, pod)
                state.discipline.membership.pod_seen(pod.uid)
            case PodGone(uid):
                removing.has_gone(state, uid)
                lifecycle.gone(state, uid)
            case PodRefused(pod):
                removing.has_gone(state, pod.uid)
                lifecycle.gone(state, pod.uid)
                if pod.node and pod.scheduler in state.scheduler.names:
                    refused.refused(state, event)
            case NodeHeldOff():
                refused.held_off(state, event)
            case NodeSampled():
                usage.sampled(state, event)
            case PodSampled():
                measured.sampled(state, event)
            case UsageKnown():
                usage.become_known(state, event)
            case RemovedLately(removals):
                state.opportunistic.back_off.recall(removals, state.settings.epoch, state.now)
            case BindDone(uid):
                record = state.pods.get(uid)
                if record is not None:
                    record.failures = 0
            case BindFailed():
                self._bind_failed(event)
            case EvictFailed(uid, message):
                state.record(uid, "stays", message[:200])
                holds.victim_stays(state, uid, SPARED)
                removing.stays(state, uid)
                filling.stays(state, uid, SPARED)
            case ResizeDone():
                state.opportunistic.said += promotion.done(state, event)
            case ResizeFailed():
                state.opportunistic.said += promotion.failed(state, event)
            case ReportLost(uid):
                report_lost(state, uid)
            case NodeSeen(node):
                types, row = len(state.types), state.nodes.ensure(node.name)
                if state.nodes.specs[row] is None:
                    state.preemption.left_alone.pop(row, None)  # that was another node
                if state.nodes.see(node):
                    if state.refused.pauses:
                        refused.node_changed(state, node.name)
                    state.widen()
                    if state.excess_types and len(state.types) > types:
                        self._see_again(list(state.excess_types.values()))
                    state.updates.cluster_changed = True
                    if state.discipline.membership.partitions_matter():
                        self._regroup_on(row)
            case NodeGone(name):
                state.updates.cluster_changed |= state.nodes.gone(name)
                if state.refused.pauses:
                    refused.node_changed(state, name)
                if state.opportunistic.usage.of:
                    usage.node_gone(state, name)
            case QueueSeen(queue):
                state.tree.define(queue)
                state.opportunistic.come = state.opportunistic.come or bool(state.opportunistic.waiting)
            case QueueGone(path):
                state.tree.undefine(path)
            case ApplicationSeen(application):
                hearing.named(state, application.id, application.reservation)
                if state.explicit.get(application.id) != application:
                    state.together.large.pop(application.id, None)
                state.explicit[application.id] = application
                self._application_changed(application.id, application.queue, explicit=True)
                self._see_again(by_application.said(state, application.id, application))
            case ApplicationGone(identity):
                hearing.named(state, identity, "")
                state.explicit.pop(identity, None)
                state.together.large.pop(identity, None)
                self._application_changed(identity, "", explicit=False)
                self._see_again(by_application.said(state, identity, None))
            case NamespaceSeen(name, queue, labels):
                state.shapes.kinds.namespace_labelled(name, dict(labels))
                if state.namespaces.get(name, "") != queue:
                    if queue:
                        state.namespaces[name] = queue
                    else:
                        del state.namespaces[name]
                    self._assign_queues([a for a in state.applications.values() if a.id.partition("/")[0] == name])
            case StorageSeen(thing):
                state.shapes.storage.see(thing)
            case StorageGone(kind, key):
                state.shapes.storage.gone(kind, key)
            case StorageKnown(known, trouble):
                state.shapes.storage.become_known(known=known, trouble=trouble)
            case PodGroupSeen(group):
                state.gangs.see(group)
            case PodGroupGone(source, identity):
                state.gangs.gone(source, identity)
            case PodGroupsServed(source, served):
                state.gangs.become_served(source, served=served)
            case ProvisionerKnown(known, trouble):
                state.gangs.provisioner, state.gangs.provisioner_trouble = known, trouble
            case GangRequested():
                provisioning.see(state, event)
            case DevicesSeen(thing):
                state.shapes.devices.see(thing)
                self._follow_devices()
            case DevicesGone(kind, key):
                state.shapes.devices.gone(kind, key)
                self._follow_devices()
            case DevicesKnown(known, trouble):
                state.shapes.devices.become_known(known=known, trouble=trouble)
            case ReservationSeen():
                hearing.seen(state, event)
            case ReservationLost(identity):
                hearing.lost(state, identity)
            case ReservationGone(identity):
                hearing.gone(state, identity)
            case RunTimesKnown():
                filling.become_known(state, event)
            case QueuesPlanned(queues):
                state.tree.plan(queues)
            case SchedulerSeen(scheduler):
                names = state.scheduler.names
                state.tree.govern(scheduler)
                before = state.scheduler
                if any(getattr(scheduler, name) != getattr(before, name) for name in OF_ALL_QUEUES):
                    state.tree.unsettled = state.tree.whole = True
                state.scheduler = scheduler
                state.nodes.weigh(scheduler.weights)
                if scheduler.headroom != before.headroom:
                    state.nodes.leave(scheduler.headroom)
                    state.updates.cluster_changed = True
                if scheduler.device_classes != before.device_classes:
                    state.shapes.devices.map(scheduler.device_classes)
                    self._follow_devices()
                if scheduler.opportunistic != before.opportunistic:
                    usage.settings_changed(state)
                if scheduler.profiles != before.profiles:
                    profiles_changed(state)
                if scheduler.names != names:
                    self._names_changed()
                if scheduler.together != before.together:
                    try_sets_again(state, state.applications.values())
                if scheduler.placement != before.placement:
                    for each in state.applications.values():
                        constraints_changed(state, each)
            case QueuesInForce():
                in_force.put_in_force(state, event)
            case ApplicationPlaced():
                if state.tree.unsettled:
                    self._settle()
                facts.placed(state, event)
            case PodAssumed():
                if state.tree.unsettled:
                    self._settle()
                facts.assumed(state, event)
            case DevicesAssumed():
                facts.devices_assumed(state, event)
            case BindsFailed():
                facts.binds_failed(state, event)
        if self.validate:
            self.check()

    def plan(self, now: float, budget: int = 1_000_000, only: str = "") -> list[Effect]:
        """Return what to do now: at most ``budget`` binds, but a gang or what is placed together whole, and what waiting pods' owners are to be told.

        ``only`` names the one node that offers itself, as YARN's nodes do with each heartbeat: pods are placed there or nowhere.
        ``KeyError`` if it is not known.
        """
        if not only:
            return self._pass(now, budget)
        nodes, waiting = self.state.nodes, self.state.shapes.waiting
        nodes.only = nodes.row[only]
        waiting.look_anew()
        try:
            return self._pass(now, budget)
        finally:
            nodes.only = -1
            waiting.look_anew()  # others may have room that was not looked at

    def _pass(self, now: float, budget: int) -> list[Effect]:
        state = self.state
        state.now = now
        # 1. Definitions, and what follows the cluster.
        if state.discipline.before_settling() and (state.tree.problems or state.assignment.unplaced):
            state.tree.unsettled = state.tree.all_applications = True
        if state.tree.unsettled:
            self._settle()
        self._retry_moves()
        sync_cluster(state)
        if state.discipline.upkeep() and (state.tree.problems or state.assignment.unplaced):
            self._settle_again()
        decided: list[Effect] = []
        if state.plans.known or state.plans.of or state.tree.planned.taking:
            decided += keeping.keep(state)
            if state.tree.unsettled:
                self._settle()
            self._assign_queues(keeping.concerned(state))
        look_at_groups(state)
        look_between(state)
        if state.together.again:
            try_due_sets_again(state)
        if state.delays.timers:
            look_at_delays(state)
        expire_claims(state)
        ready: list[Effect] = [*look_at_claims(state), *free_devices(state)]
        # 2. Which applications may run, and what all demand.
        decide(state)
        state.discipline.sync_demand()
        # 3. What owners are to be told, what has to be asked for, what has come to its end.
        effects = decided + due(state, explain)
        if state.refused.pauses:
            effects += refused.due(state)
        effects += expired(state)
        effects += expire(state)
        effects += withhold(state) if state.gangs.failed else []
        effects += give_up_partial(state)
        if state.gangs.spare:
            ever.look_again(state)
        # 4. Placements: where room was made, then in the order of the queues.
        binds: list[Effect] = [*ready, *holds.serve(state, budget)]
        binds += serve_gangs(state, budget - len(binds))
        if state.opportunistic.turning.asking or state.opportunistic.turning.until:
            effects += promotion.turn(state)
        if state.opportunistic.turning.untold:
            effects += promotion.tell_unheeded(state)
        if state.opportunistic.said:
            effects += state.opportunistic.said
            state.opportunistic.said = []
        state.discipline.before_placing()
        binds += cycle(state, budget - len(binds))
        if state.opportunistic.turning.wishing and len(binds) < budget:  # what waits cannot be placed now
            effects += promotion.fulfil(state)
        if state.preemption.holds or state.backfill.there or state.backfill.in_front:
            effects += filling.backfill(state, budget - len(binds))
        sampling = bool(state.opportunistic.usage.of)
        if state.opportunistic.waiting:
            if sampling:
                usage.note(state, [one.uid for one in binds if isinstance(one, Bind | BindVolumes | ReserveDevices)])
            binds += placing.place(state, budget - len(binds))
            effects += telling.tell(state)
        if state.opportunistic.unheeded:
            effects += telling.unheeded(state)
        effects += binds
        # 5. Rounds that are due: preemption, nodes that are kept.
        for each in state.discipline.rounds:
            when = each.next()
            if when is not None and now >= when:
                effects += each.run(budget - len(binds))
        when = next_run(state)
        if when is not None and now >= when and state.nodes.only < 0:
            keep_for_gangs(state)
        if sampling:
            usage.note(state, [one.uid for one in effects if isinstance(one, Bind | BindVolumes | ReserveDevices)])
        effects += removing.remove(state)
        # 6. What nothing refers to any more.
        tidy(state)
        if self.validate:
            self.check()
        return effects

    def next_timer(self) -> float | None:
        """Return when ``plan`` has something to do even if nothing happens, or None."""
        state, discipline = self.state, self.state.discipline
        coming = [
            state.timers[0][0] if state.timers else None,
            state.updates.at + discipline.limits.interval() if state.updates.cluster_changed else None,
            state.assignment.refused_at + state.settings.update_interval if state.assignment.refused else None,
            tenants.next_look(state),
            keeping.next_look(state),
            next_expiry(state),
            next_look(state),
            next_claim(state),
            refused.next_end(state),
            next_run(state),
            filling.next_timer(state),
            ever.next_look(state),
            next_partial(state),
            placing.next_look(state),
            removing.next_removal(state),
            promotion.next_turn(state),
            promotion.next_wish(state),
            telling.next_telling(state),
            min(state.together.again.values(), default=None),
            state.delays.timers[0][0] if state.delays.timers else None,
            state.locality.timers[0][0] if state.locality.timers else None,
            state.reports.again[0][0] if state.reports.again else None,
            *discipline.timers(),
            *(each.next() for each in discipline.rounds),
            *(hold.until for hold in state.preemption.holds),
        ]
        return min((when for when in coming if when is not None), default=None)

    @property
    def view(self) -> View:
        """What others may read, as it is now."""
        return View(self.state)

    def explain(self, uid: str) -> explain.Explanation | None:
        """Say why a pod waits or where it is."""
        return explain.explain(self.state, uid)

    def facts(self, under_way: Container[str] | None = None) -> list[Event]:
        """Return what is known as events: a new core of the same settings that handles them, at the same time, goes on as this one would.

        ``under_way`` are the uids of the binds that are on their way, if that is known; the other pods that were decided wait
        again then.
        """
        return facts.facts(self.state, under_way)

    def telling(self) -> Iterator[Event]:
        """Tell the same one after the other, for who must not take long at once: between two of them the core may go on."""
        return facts.telling(self.state)

    def refresh_shares(self, now: float | None = None) -> None:
        """Bring ``demand``, ``fair_share`` and ``steady_share`` of all queues up to date before they are read.

        Who gives the time gets shares that are at most an update interval old: several readers share one computation.
        """
        state = self.state
        if state.tree.unsettled:
            self._settle()
        elif now is not None and now < state.updates.shares_at + state.settings.update_interval:
            return
        if now is not None:
            state.updates.shares_at = now
        state.widen()
        for root in (state.tree.root, *state.tree.roots.values()):
            update_demand(root, state.types.width)
        forget_demands(state)
        state.discipline.refresh_shares()

    def forget_reports(self) -> None:
        """Forget what the owners of waiting pods were told; it is told again."""
        forget_reports(self.state)

    def forget_plans(self) -> None:
        """Forget what was decided on reservations and is not known to be written: who leads now may decide otherwise."""
        hearing.forget(self.state)

    def check(self) -> None:
        """Raise ``InvariantBroken`` with the story if the state contradicts itself."""
        problems = broken(self.state)
        if problems:
            raise InvariantBroken(problems, self.state.story.newest())

    def _settle_again(self) -> None:
        """Look at definitions and at applications without a queue once more: queues that are gone may have stood in their way."""
        self.state.tree.unsettled = self.state.tree.all_applications = True
        self._settle()

    def _settle(self) -> None:
        state, whole = self.state, False
        in_force.settle(state)
        while (settled := state.tree.settle()) is not None:
            if in_force.settled(state, settled):
                whole = True
                apply_limits(state, followed=True)
            else:
                apply_edits(state, settled)
            self._assign_queues(concerned(state, settled))
        membership = state.discipline.membership
        applications = membership.redefined(whole=whole)
        for application in applications:
            lifecycle.regroup(state, application)
        membership.settled(applications)

    def _regroup_on(self, row: int) -> None:
        """Count what is on a node in the partition that the node is in now."""
        state = self.state
        partition = partition_of(state, row)
        for record in state.pods.values():
            if record.node == row and record.part is not None and record.part.partition != partition:
                lifecycle.regroup(state, record.part.whole)

    def _is_assumed(self, uid: str) -> bool:
        record = self.state.pods.get(uid)
        return record is not None and record.state is PodState.ASSUMED

    def _retry_moves(self) -> None:
        """Try refused moves again, once an update interval, and let in whoever was held off."""
        state = self.state
        tenants.let_in(state, self._assign_queues)
        if state.assignment.refused and state.now >= state.assignment.refused_at + state.settings.update_interval:
            state.assignment.refused_at = state.now
            self._assign_queues(list(state.assignment.refused))

    def _assign_queues(self, applications: list[Application]) -> None:
        for application in applications:
            if application.pods:
                lifecycle.assign_queue(self.state, application, application.id.partition("/")[0])

    def _application_changed(self, identity: str, queue: str, *, explicit: bool) -> None:
        application = self.state.applications.get(identity)
        if application is None:
            return
        application.explicit = explicit
        application.requested = queue
        owners.asks_priority(self.state, application)
        owners.identify(self.state, application)
        for part in application.everywhere():
            self.state.dirty[part] = None
        if self.state.tree.unsettled:
            self._settle()
        self._assign_queues([application])
        lifecycle.regroup(self.state, application)
        constraints_changed(self.state, application)
        self.state.discipline.membership.object_changed(application)

    def _follow_devices(self) -> None:
        """Take over which classes of devices count as what, and how many devices there are."""
        state, types = self.state, len(self.state.types)
        device_charges.follow(state)
        if state.excess_types and len(state.types) > types:
            self._see_again(list(state.excess_types.values()))

    def _names_changed(self) -> None:
        """Look at every known pod again: it may be ours now, or no longer."""
        state = self.state
        specs = [state.excess_types.get(uid, record.spec) for uid, record in state.pods.items()]
        self._see_again([spec for spec in specs if spec.scheduler not in {"", "default-scheduler"}])

    def _see_again(self, specs: list[PodSpec]) -> None:
        """Forget pods and take them over anew; what is assumed stays as it is."""
        for spec in specs:
            if not self._is_assumed(spec.uid):
                lifecycle.gone(self.state, spec.uid)
                lifecycle.see(self.state, spec)
                self.state.discipline.membership.pod_seen(spec.uid)

    def _bind_failed(self, event: BindFailed) -> None:
        state = self.state
        record = state.pods.get(event.uid)
        if record is not None and record.state is PodState.ASSUMED:
            state.record(event.uid, f"bind {event.kind}", event.message[:200])
            if event.kind == "refused":
                lifecycle.forget(state, record)
            else:
                failed(state, record, event.message)
        if state.reservations.lingering:
            state.reservations.settle(state.shapes.devices, event.uid)
