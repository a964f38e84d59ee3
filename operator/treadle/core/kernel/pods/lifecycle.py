"""The life of a pod inside the core: seen, waiting, assumed, bound, gone, and what is counted at each step.

Level-triggered: a pod as it is now is compared with what is counted for it, the old contribution is taken away and the new one added. A pod that the API binds elsewhere than we assumed is simply counted where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Placed, new_bind
from treadle.core.kernel import tenants
from treadle.core.kernel.admission_checks import OVER_LARGEST, block, gang_changed, requeue
from treadle.core.kernel.assign import asked_for, assign, comes_back, denied, in_force
from treadle.core.kernel.opportunistic.by_application import as_its_application_says, unheeded
from treadle.core.kernel.opportunistic.memory import gives_way
from treadle.core.kernel.pods import between, gang, prepared
from treadle.core.kernel.pods.charges import charge, discharge
from treadle.core.kernel.pods.confirmation import confirms
from treadle.core.kernel.pods.excess_types import countable
from treadle.core.kernel.pods.masters import count_master, release_master
from treadle.core.kernel.pods.owners import asks_priority, identify, more_urgent, only_namer, prioritize, settled_anew
from treadle.core.kernel.pods.shaping import node_of, shape_of, stale
from treadle.core.kernel.pods.states import ASSUMED, PodState
from treadle.core.kernel.reservations.places import over
from treadle.core.kernel.reservations.progress import finished
from treadle.core.kernel.tree import admission
from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
from treadle.core.kernel.tree.order import activate, arm_report, deactivate, forget_blockers, park
from treadle.core.kernel.tree.partitions import enter, leave, part_of, partition_of, payer, used_everywhere
from treadle.core.model import PodSpec, Wait
from treadle.core.rules.moves import MoveRefused, check_move

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.units.resources import Demand

NEVER_OURS = frozenset({"", "default-scheduler"})


def see(state: State, spec: PodSpec) -> None:
    """Take over a pod as the API has it."""
    record = state.pods.get(spec.uid)
    if state.opportunistic.applications or state.opportunistic.guaranteed:
        spec = as_its_application_says(state, spec)
    if state.opportunistic.turning.promoting:
        spec = state.opportunistic.turning.as_decided(spec)
    if record is not None:
        record.spec.version = spec.version
        record.spec.started = spec.started
    if spec.finished:
        if record is not None:
            if state.plans.progress and not spec.failed:
                finished(state, record)
            gone(state, spec.uid)
        return
    if not spec.node and not spec.expected and spec.scheduler in NEVER_OURS and spec.scheduler not in state.scheduler.names:
        if record is not None:
            gone(state, spec.uid)  # it was expected on a node and is no longer
        return  # one that asks for another scheduler is kept: its name may become an alias of ours
    if record is None or spec.demand != record.spec.demand:
        spec = countable(state, spec)
    if record is None:
        kinds = state.shapes.kinds
        kind = kinds.coming = kinds.of(spec)
        prepared.come(state, spec)
        state.gangs.use(spec)
        record = state.pods[spec.uid] = PodRecord(spec, shape_of(state, spec, kind), kind)
        kinds.coming = None
        state.widen()
    elif record.state is PodState.ASSUMED and not spec.node and not spec.deleting:
        # The bind is under way: what was decided stays counted until its outcome is known.
        before, record.spec = record.spec, spec
        record.decided = record.decided or before
        prepared.renamed(state, before, spec)
        _asks_elsewhere(state, record, before)
        return
    elif confirms(state, record, spec):
        state.pods.move(record, PodState.BOUND)
        record.spec, record.decided = spec, None
        kind = record.kind
        if (kind.labels is not spec.labels or kind.carried or spec.deleting or spec.tags) and not kind.describes(spec):
            between.leave(record)
            between.take_kind(state, record, spec)
            between.enter(record)
        if state.opportunistic.turning.concerns(spec):
            state.opportunistic.turning.note(record, unheeded(state, spec))
        return
    elif record.spec == spec and record.state is not PodState.IDLE:
        return
    else:
        if spec.node and not record.spec.node and record.state not in {PodState.ASSUMED, PodState.BOUND}:
            state.adopted_at = state.now
        before, was_in = record.spec, record.application
        withdraw(state, record, stays=True)
        prepared.renamed(state, before, spec)
        if spec.gang_source or before.gang_source:
            state.gangs.unuse(before)
            state.gangs.use(spec)
        record.spec = spec
        between.take_kind(state, record, spec)
        record.shape = shape_of(state, spec, record.kind)
        state.widen()
        record.cause = state.cause
        _contribute(state, record)
        if was_in is record.application:
            _asks_elsewhere(state, record, before)
        elif was_in is not None:
            _drop_if_empty(state, was_in)
        return
    record.cause = state.cause
    _contribute(state, record)


def _asks_elsewhere(state: State, record: PodRecord, before: PodSpec) -> None:
    """Let an application follow its pods where their label is edited; its object's word goes first."""
    application, spec = record.application, record.spec
    if application is not None and spec.queue and spec.queue not in {before.queue, application.wanted}:
        application.wanted = spec.queue
        assign_queue(state, application, spec.namespace)


def gone(state: State, uid: str) -> None:
    """Forget a pod and return what was counted for it."""
    record = state.pods.pop(uid, None)
    state.excess_types.pop(uid, None)
    if record is not None:
        withdraw(state, record)
        prepared.gone(state, record.spec)
        state.gangs.unuse(record.spec)
        state.opportunistic.turning.forget(uid)
        state.opportunistic.queues.leave(uid)
        state.opportunistic.lines.forget(uid)
        state.opportunistic.told_where.pop(uid, None)
        state.delays.forget(uid)
        state.shapes.kinds.release(record.kind)
        state.record(uid, "gone")


def _contribute(state: State, record: PodRecord) -> None:
    """Count a pod as its description says. Its record contributes nothing at present."""
    spec = record.spec
    where = node_of(state, spec)
    if where:
        row = state.nodes.ensure(where)
        record.node = row
        state.nodes.count(row, record.shape.demand, record.shape.ports)
        between.enter(record)
        state.pods.move(record, PodState.BOUND)
        if spec.scheduler in state.scheduler.names:
            _join(state, record)
            assert record.application is not None
            record.application.allocated += 1
            if spec.opportunistic and gives_way(spec):
                state.opportunistic.give(record, state.now)
            else:
                record.part = part_of(state, record.application, partition_of(state, row))
                charge(state, record.part, record.shape.demand)
                if spec.role == "master":
                    count_master(record, 1)
            if state.opportunistic.turning.concerns(spec):
                state.opportunistic.turning.note(record, unheeded(state, spec))
            if not record.application.counted:
                state.admission.newcomers[record.application] = None
        else:
            _count_foreign(state, row, record.shape.demand, 1)
        prepared.enter(state, record)
        return
    if spec.gated or spec.deleting or spec.scheduler not in state.scheduler.names:
        return
    _join(state, record)
    enqueue(state, record)


def recount(state: State, record: PodRecord) -> None:
    """Count a pod on a node for what it comes to by now."""
    application = record.application
    withdraw(state, record, stays=True)
    record.shape = shape_of(state, record.spec, record.kind)
    state.widen()
    _contribute(state, record)
    if application is not None and application is not record.application:
        _drop_if_empty(state, application)


def withdraw(state: State, record: PodRecord, *, stays: bool = False) -> None:
    """Take away everything that is counted for a pod; the record is IDLE afterwards and belongs to nothing.

    With ``stays`` its application is kept, though it be empty: the caller puts the pod back, or drops the application.
    """
    application = record.application
    if state.opportunistic.turning.asking or state.opportunistic.turning.wishing:
        state.opportunistic.turning.leave(record.spec.uid)
    if record.state in {PodState.ASSUMED, PodState.BOUND}:
        between.leave(record)
        prepared.leave(state, record)
        row, record.node = record.node, -1
        state.nodes.give(row, record.shape.demand, record.shape.ports)
        gang.leave(state, record)
        if application is not None:
            _discharge(state, record)
            application.allocated -= 1
        else:
            _count_foreign(state, row, record.shape.demand, -1)
    elif record.state in {PodState.WAITING, PodState.DELAYED}:
        _leave_ask(state, record)
    if record.state is not PodState.IDLE:
        state.pods.move(record, PodState.IDLE)
    record.ask = record.decided = None
    record.application = None
    if application is not None:
        first = next(iter(application.pods), "") == record.spec.uid
        application.pods.pop(record.spec.uid, None)
        if not stays:
            _drop_if_empty(state, application)
            if settled_anew(state, application, record.spec, first=first):
                assign_queue(state, application, record.spec.namespace)


def enqueue(state: State, record: PodRecord) -> None:
    """Let a pod wait in the ask of its kind; the ask competes if nothing is known to block it."""
    assert record.application is not None
    if record.entered < 0:
        record.entered = state.now
    if stale(state, record):
        record.shape = shape_of(state, record.spec, record.kind)
    spec, partition = record.spec, state.discipline.membership.partition_wanted(record.application, record.spec)
    application = record.application
    if spec.gang_source:
        gang.note_unheeded(state, record)
    if spec.profile:
        state.reports.profiled[spec.uid] = None
    if spec.unread_duration:
        state.reports.mistimed[spec.uid] = None
    if spec.claimed:
        state.reports.claiming[spec.uid] = None
    if spec.unknown:
        state.reports.mislabelled[spec.uid] = None
    if partition is not None:
        application = part_of(state, application, partition)
        record.shape = state.shapes.within(record.shape, (state.scheduler.partition_label, partition))
    elif record.shape.asked.partition is not None:
        record.shape = state.shapes.within(record.shape, None)
    if spec.opportunistic and state.opportunistic.takes(record, state.now):
        state.pods.move(record, PodState.WAITING)
        return
    key = (record.shape.id, spec.priority, spec.role == "master")
    ask = application.asks.get(key)
    if ask is None:
        ask = application.asks[key] = Ask(application, record.shape, key, state.number())
        ask.waiting_since = state.now
        if application.quota is not None:
            application.quota.demand_changed()
    record.ask = ask
    state.pods.move(record, PodState.WAITING)
    ask.pods.append(record)
    if state.updates.demands is not None:
        state.updates.demands[application] = None
    wait = block(application, record)
    if wait is not None:
        if wait.reason == OVER_LARGEST:
            application.chain[0].blocked[ask] = None
        park(state, ask, wait)
    elif ask.wait is None:
        activate(ask)
    else:
        arm_report(state, ask)
    if spec.gang or spec.gang_minimums:
        gang_changed(application)


def _leave_ask(state: State, record: PodRecord) -> None:
    ask = record.ask
    if ask is None:
        state.opportunistic.no_longer(record.spec.uid)
        return  # a delayed pod is in no ask, nor is an opportunistic one
    if state.updates.demands is not None:
        state.updates.demands[ask.application] = None
    ask.pods.remove(record)
    if not ask.pods:
        _close(ask)


def set_aside(state: State, record: PodRecord) -> None:
    """Take a pod that waits out of its ask; it is IDLE but stays with its application."""
    _leave_ask(state, record)
    record.ask = None
    state.pods.move(record, PodState.IDLE)


def _close(ask: Ask) -> None:
    deactivate(ask)
    forget_blockers(ask)
    ask.wait = None
    del ask.application.asks[ask.key]
    if ask.application.quota is not None:
        ask.application.quota.demand_changed()


def assume(state: State, ask: Ask, row: int, part: Application | None = None) -> Placed:
    """Count the first pod of an ask on a node, ahead of the API's answer, and return the effect that makes it true.

    ``part`` is where the pod counts if that is not where it was asked. The caller re-keys the order and reports the number of decisions by ``State.decided``.
    This is the hottest function of all: it writes what ``Nodes.take`` and ``Line.popleft`` would in place, without the calls.
    """
    application, shape = ask.application, ask.shape
    line, nodes = ask.pods, state.nodes
    record = line.popleft() if line.gone else line.records.popleft()
    demand = shape.demand
    free = nodes.free[row]
    counted = application if part is None else part
    if len(demand) == 3:  # memory, cpu and the pod slot: nearly every pod
        (one, first), (two, second), (three, third) = demand
        free[one] -= first
        free[two] -= second
        free[three] -= third
        for usage in counted.ledgers:
            usage[one] += first
            usage[two] += second
            usage[three] += third
    else:
        for position, value in demand:
            free[position] -= value
        for usage in counted.ledgers:
            for position, value in demand:
                usage[position] += value
        if not demand:
            nodes.weigh_nothing(row, 1)
    nodes.clock = nodes.version[row] = nodes.clock + 1
    nodes.stale.add(row)
    if shape.ports:
        nodes.ports[row] += shape.ports
    application.whole.allocated += 1
    cause = state.cause
    quota = counted.quota
    if quota is not None:
        quota.touched[quota.user] = None
    record.part = counted
    record.since = state.now
    record.ask = None
    record.node = row
    tallies = record.kind.tallies
    if tallies:
        for tally in tallies:
            tally.add(row, 1)
    record.state = ASSUMED
    record.cause = cause
    if ask.master:
        count_master(record, 1)
    if not line.records:
        ask.active = False
        application.active -= 1
        forget_blockers(ask)
        del application.asks[ask.key]
        if application.quota is not None:
            application.quota.demand_changed()
    spec, node = record.spec, nodes.names[row]
    if shape.prepared:
        prepared.enter(state, record)
        if (asked := prepared.begin(state, record)) is not None:
            return asked
    return new_bind((spec.uid, spec.namespace, spec.name, node, application.id, application.chain[0].path, cause, spec.version))


def forget(state: State, record: PodRecord) -> None:
    """Take back an assumption; the pod is IDLE but stays with its application."""
    application = record.application
    assert application is not None
    between.leave(record)
    prepared.leave(state, record)
    state.nodes.give(record.node, record.shape.demand, record.shape.ports)
    gang.leave(state, record)
    record.node = -1
    state.pods.move(record, PodState.IDLE)
    record.ask = record.decided = None
    _discharge(state, record)
    application.allocated -= 1
    between.take_kind(state, record, record.spec)  # it may have been edited while its bind was under way
    record.shape = shape_of(state, record.spec, record.kind)
    state.widen()


def _discharge(state: State, record: PodRecord) -> None:
    """Return what a placed pod counts for in its queues; an opportunistic one counts apart."""
    if state.opportunistic.take_back(record.spec.uid):
        return
    discharge(state, payer(record), record.shape.demand)
    if record.master:
        release_master(state, record)
    record.part = None


def _count_foreign(state: State, row: int, demand: Demand, sign: int) -> None:
    state.nodes.count_foreign(row, demand, sign)
    state.updates.cluster_changed = True


def _join(state: State, record: PodRecord) -> None:
    """Make a pod a member of its application, which is made if this is its first."""
    spec = record.spec
    application = state.applications.get(spec.application)
    if application is None:
        application = Application(spec.application, spec.created or state.now, state.types.width)
        state.applications[spec.application] = application
        explicit = state.explicit.get(spec.application)
        if explicit is not None:
            application.explicit = True
            application.requested = explicit.queue
        application.wanted = state.gangs.queue_of(spec)
        application.pods[spec.uid] = record
        asks_priority(state, application)
        identify(state, application)
        if spec.node:
            application.allocated = 1  # a running application is let into a stopped queue
        assign_queue(state, application, spec.namespace)
        application.allocated = 0
    else:
        application.pods[spec.uid] = record
        if spec.priority > application.asked_priority:
            more_urgent(state, application, spec)
        begins = bool(spec.node) and not application.allocated  # the first of its pods that is on a node
        named = "" if application.wanted else state.gangs.queue_of(spec)
        if spec.gang_source and spec.queue not in {"", application.wanted} and only_namer(application, spec):
            named = spec.queue  # which goes before what its group names
        if named or (begins and (spec.held_in or application.queue is None)):
            application.wanted = named or application.wanted
            lets_in = begins and application.queue is None
            application.allocated += lets_in  # as above: it runs
            assign_queue(state, application, spec.namespace)
            application.allocated -= lets_in
    record.application = application


def assign_queue(state: State, application: Application, namespace: str) -> None:
    """Put an application into the queue that it belongs to now, with its usage and its asks and the priority that it may have there, or note why there is none.

    One that runs moves only if the limits of the new queue allow it; otherwise it stays, and ``refused`` says why.
    """
    _assign_queue(state, application, namespace)
    prioritize(state, application)


def _assign_queue(state: State, application: Application, namespace: str) -> None:
    before = state.assignment.asked.get(application.id)
    place = assign(state, application, namespace)
    if place is application.wait and place is not None:
        return
    if place is application.queue and place is not None:
        state.assignment.refused.pop(application, None)
        return
    why = _refuses_move(state, application, place, namespace)
    if why:
        if before is not None:
            state.assignment.asked[application.id] = before
        if state.assignment.refused.get(application) != why:
            state.record(application.id, "move refused", why[:200])
        state.assignment.refused[application] = why
        return
    state.assignment.refused.pop(application, None)
    newcomer = application.queue is None and isinstance(place, Queue)
    put(state, application, place)
    if isinstance(place, Queue):
        tenants.uses(state, place, namespace)
    if newcomer:
        tenants.came_in(state, application, namespace)
    asked = asked_for(state, application, namespace)
    if asked and isinstance(place, Queue) and asked != place.path:
        if not application.allocated:
            state.reports.misnamed[application] = asked
        elif newcomer:
            state.assignment.refused[application] = (
                ""  # put back where it ran: it is asked soon why it is not where it asks to be
            )


def put(state: State, application: Application, place: Queue | Wait) -> None:
    """Put an application into a queue, with its usage and its asks, or take it out of its own and note why there is none."""
    queue = None if isinstance(place, Wait) else place
    wait = place if isinstance(place, Wait) else None
    asks = application.every_ask()
    for ask in asks:
        deactivate(ask)
        forget_blockers(ask)
        ask.wait = None
    _move(state, application, queue)
    application.wait = wait
    if wait is None:
        state.assignment.unplaced.pop(application, None)
    else:
        state.assignment.unplaced[application] = None
    for ask in asks:
        requeue(state, ask)
    regroup(state, application)


def regroup(state: State, application: Application) -> None:
    """Let every pod of an application be asked for, and counted, in the partition where it belongs now."""
    label = state.scheduler.partition_label
    for record in application.pods.values():
        if record.part is not None:
            before, after = record.part, part_of(state, application, partition_of(state, record.node))
            if before is not after:
                master = record.master
                if master:
                    release_master(state, record)
                discharge(state, before, record.charged)
                record.part = after
                charge(state, after, record.charged)
                if master:
                    count_master(record, 1)
        elif record.ask is not None:
            wanted = state.discipline.membership.partition_wanted(application, record.spec)
            if record.shape.asked.partition != (None if wanted is None else (label, wanted)):
                _leave_ask(state, record)
                enqueue(state, record)


def _refuses_move(state: State, application: Application, place: Queue | Wait, namespace: str) -> str:
    """Return why a running application may not go where it is to go, empty if it may or need not be asked.

    What was never counted as running (a restart is not over) is put where it belongs, and so is whose queue is no more.
    """
    current = application.queue
    if current is None or not application.allocated or not in_force(state, current):
        return ""
    goes = None if comes_back(application, place) else place
    if isinstance(goes, Queue) and (refused := denied(state, application, goes, goes.path)) is not None:
        return f"queue: {application.id} cannot move: {refused.message}"
    if not application.counted:
        return ""
    if isinstance(place, Wait):
        explicit = state.explicit.get(application.id)
        if explicit is not None and explicit.reservation and over(state, application, explicit.reservation):
            return ""  # its pods on nodes are about to be deleted
        return f"queue: {application.id} cannot move: {place.message}"
    wanted = asked_for(state, application, namespace)
    found = wanted == place.path or place.path.endswith(
        wanted.removeprefix("root")
    )  # a short name is enough for a queue of capacities
    if not state.discipline.placement.ruled() and wanted and not found:
        return f"queue: {application.id} cannot move to {wanted}: it does not exist"
    try:
        check_move(current.path, place, used_everywhere(application), application.id)
    except MoveRefused as error:
        return str(error)
    return ""


def _move(state: State, application: Application, queue: Queue | None) -> None:
    left, ran = application.queue, admission.leave(state, application)
    masters = [record for record in application.pods.values() if record.master]
    for record in masters:
        release_master(state, record)
    for part in application.everywhere():
        leave(state, part)
    if left is not None:
        state.tree.drained(left)
        state.tree.left(left, state.now)
    if queue is not None:
        for part in application.everywhere():
            enter(state, part, queue)
        admission.arrive(state, application, runs=ran and application.allocated > 0)
    state.record(application.id, "in queue" if queue is not None else "has no queue", "" if queue is None else queue.path)
    for record in masters:
        count_master(record, 1)
    state.dirty[application] = None
    if state.updates.demands is not None:
        state.updates.demands[application] = None
    if ran and left is not None:
        admission.replace(state, left, application.user)


def _drop_if_empty(state: State, application: Application) -> None:
    if not application.pods:
        _move(state, application, None)
        state.applications.pop(application.id, None)
        state.assignment.unplaced.pop(application, None)
        state.assignment.refused.pop(application, None)
        state.assignment.asked_running.pop(application, None)
        state.assignment.groups.pop(application.id, None)
        state.assignment.asked.pop(application.id, None)
        state.reports.misnamed.pop(application, None)
        state.reports.unheeded.pop(application, None)
        state.reports.ungrouped.pop(application, None)
        state.reports.durations_told.discard(application)
        state.reports.claims_told.discard(application)
        state.reports.labels_told.discard(application)
        state.reports.profiles_told.pop(application, None)
        state.gangs.forget(application.id)
        state.together.forget(application.id)
        for part in application.everywhere():
            state.dirty.pop(part, None)
        application.bury()
