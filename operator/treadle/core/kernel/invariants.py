"""What must hold after every step: sums agree up the tree, no node is over its allocatable, the order misses no ask."""

from __future__ import annotations

from collections import defaultdict
from operator import add
from typing import TYPE_CHECKING, Any

from treadle.core.kernel.between import agreement
from treadle.core.kernel.devices.registry import Devices
from treadle.core.kernel.opportunistic import agreement as opportunistic
from treadle.core.kernel.pods import device_charges
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.reservations import agreement as plans
from treadle.core.units.resources import held

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue


def broken(state: State) -> list[str]:
    """Return every contradiction found in the state, as sentences."""
    return [
        *_nodes(state),
        *_applications(state),
        *_tree(state),
        *_admission(state),
        *_masters(state),
        *_counts(state),
        *_demands(state),
        *_keys(state),
        *agreement.broken(state.shapes.kinds, list(state.pods.values())),
        *_volumes(state),
        *_devices(state),
        *device_charges.broken(state),
        *opportunistic.broken(state),
        *plans.broken(state),
        *state.discipline.broken(),
    ]


def _volumes(state: State) -> list[str]:
    """What is in use is what pods on nodes name, and what is kept is kept for pods that are placed."""
    on_nodes = {
        uid: (record.spec.constraints.volumes, state.nodes.names[record.node])
        for uid, record in state.pods.items()
        if record.node >= 0 and record.spec.constraints.volumes is not None
    }
    problems = state.shapes.in_use.broken(on_nodes)
    storage, claims = state.shapes.storage, state.claims
    problems += [
        f"claims of pod {uid} are being bound, which is not placed"
        for uid in claims
        if uid not in state.pods or state.pods[uid].state is not PodState.ASSUMED
    ]
    kept = {volume for entry in claims.values() for volume in entry.volumes.values()}
    if kept != set(storage.taken):
        problems.append(f"volumes {sorted(storage.taken)} are kept, {sorted(kept)} are for claims that are being bound")
    made = {claim for entry in claims.values() for claim in entry.made}
    if not set(storage.chosen) <= made:
        problems.append(f"nodes are chosen for claims {sorted(storage.chosen)}, for {sorted(made)} volumes are made")
    return problems


def _devices(state: State) -> list[str]:
    """What is decided for claims is decided for pods that are placed, and what is in use is what allocations say."""
    devices, reservations = state.shapes.devices, state.reservations
    problems = [
        f"claims for devices of pod {uid} are being allocated, which is not placed"
        for uid in reservations
        if uid not in state.pods or state.pods[uid].state is not PodState.ASSUMED
    ]
    decided = {key for entry in reservations.values() for key in entry.allocations}
    decided |= {key for _, allocations in reservations.lingering.values() for key in allocations}
    if not set(devices.decided) <= decided:
        problems.append(f"devices are kept for claims {sorted(devices.decided)}, those of placed pods are {sorted(decided)}")
    anew = Devices()
    for claim in devices.claims.values():
        anew.see(claim)
    for key, allocation in devices.decided.items():
        anew.decide(key, allocation)
    problems += [
        f"devices {name} are {getattr(devices, name)}, those of all claims are {getattr(anew, name)}"
        for name in ("allocated", "parts")
        if getattr(anew, name) != getattr(devices, name)
    ]
    return problems


def _nodes(state: State) -> list[str]:
    problems = []
    nodes = state.nodes
    width = state.types.width
    held: dict[int, list[int]] = defaultdict(lambda: [0] * width)
    foreign: dict[int, list[int]] = defaultdict(lambda: [0] * width)
    for record in state.pods.values():
        if record.state in {PodState.ASSUMED, PodState.BOUND}:
            for position, value in (*record.shape.demand, *state.extra.get(record.spec.uid, ())):
                held[record.node][position] += value
                if record.application is None:
                    foreign[record.node][position] += value
    kept: dict[int, list[int]] = defaultdict(lambda: [0] * width)
    for hold in state.preemption.holds:
        for position, value in hold.shape.demand:
            kept[hold.row][position] += value
    for row, name in enumerate(nodes.names):
        spec = nodes.specs[row]
        others = (nodes.left_of(spec) if spec is not None else None) or [0] * width
        withheld = [max(0, left - taken) for left, taken in zip(others, foreign[row], strict=True)]
        expected = [have - used - kept for have, used, kept in zip(nodes.allocatable[row], held[row], withheld, strict=True)]
        left = [value - more for value, more in zip(expected, kept[row], strict=True)]
        if left != nodes.free[row]:
            problems.append(f"node {name}: {nodes.free[row]} is free, the pods and holds leave {left}")
        if row not in nodes.overdrawn and any(value < 0 for value in expected):
            problems.append(f"node {name} is over its allocatable: {expected} left")
    problems += _rows(state)
    taken = [0] * width
    for row, spec in enumerate(nodes.specs):
        left = (nodes.left_of(spec) if spec is not None else None) or [0] * width
        for at in range(width):
            taken[at] += min(max(foreign[row][at], left[at]), nodes.allocatable[row][at])
    if taken != nodes.foreign:
        problems.append(f"others' pods take {taken} of what the nodes have, {nodes.foreign} counted")
    return problems


def _rows(state: State) -> list[str]:
    """Each name has the row that says so, each row without a description is bare or vacant, and nothing is on a vacant one."""
    nodes, problems = state.nodes, []
    if {name: row for row, name in enumerate(nodes.names) if name} != nodes.row:
        problems.append("names of nodes and their rows do not agree")
    bare = {row for row in nodes.row.values() if nodes.specs[row] is None}
    if bare != nodes.bare:
        problems.append(f"rows {sorted(bare)} have no description, {sorted(nodes.bare)} are known to have none")
    vacant = {row for row, name in enumerate(nodes.names) if not name}
    if sorted(vacant) != sorted(nodes.vacant):
        problems.append(f"rows {sorted(vacant)} have no node, {sorted(nodes.vacant)} are vacant")
    used = {record.node for record in state.pods.values()} | {hold.row for hold in state.preemption.holds}
    problems += [f"row {row} is vacant and used" for row in vacant if row in used or any(nodes.free[row]) or nodes.ports[row]]
    return problems


def _applications(state: State) -> list[str]:
    problems = []
    for application in (part for whole in state.applications.values() for part in whole.everywhere()):
        used = [0] * state.types.width
        for record in application.whole.pods.values():
            if record.state in {PodState.ASSUMED, PodState.BOUND} and record.part is application:
                for position, value in record.charged:
                    used[position] += value
        for hold in state.preemption.holds:
            if hold.counted and hold.application is application:
                for position, value in hold.shape.charged:
                    used[position] += value
        if used != application.usage:
            problems.append(
                f"application {application.id}: usage {application.usage}, its pods and what is kept for it make {used}"
            )
        active = [ask for ask in application.asks.values() if ask.active]
        if len(active) != application.active:
            problems.append(f"application {application.id}: {application.active} active asks counted, {len(active)} found")
        for ask in application.asks.values():
            if not ask.pods:
                problems.append(f"application {application.id} keeps an empty ask")
            if not ask.active and ask.wait is None:
                problems.append(f"application {application.id}: an ask of {len(ask.pods)} pods neither competes nor says why not")
            if ask.active and not ask.queued:
                problems.append(f"application {application.id}: an active ask is missing from its order")
    return problems


def _tree(state: State) -> list[str]:
    problems = []
    made = {queue.path for queue in state.tree.queues.values() if queue.dynamic}
    known = {queue.path for queue in state.tree.dynamic}
    if known != made:
        problems.append(f"queues that were made: {sorted(known)} known, {sorted(made)} found")
    for queue in state.tree.everywhere():
        children = queue.members()
        total = [sum(values) for values in zip(*(child.usage for child in children), strict=True)] or [0] * state.types.width
        if total != queue.usage:
            problems.append(f"queue {queue.path}: usage {queue.usage}, its children sum to {total}")
        problems += _order(queue)
        problems += _users(queue)
    return problems


def _users(queue: Queue) -> list[str]:
    """The users of a leaf hold together what the leaf does, and each what the user's applications do."""
    if queue.children or not queue.applications or next(iter(queue.applications.values())).quota is None:
        return []
    held: dict[str, list[int]] = {}
    for application in queue.applications.values():
        one = held.setdefault(application.user, [0] * len(queue.usage))
        for position, value in enumerate(application.usage):
            one[position] += value
    problems = []
    first: Any = next(iter(queue.applications.values())).quota
    if first is not None:
        problems += [
            f"queue {queue.path}: the sums over users are out of date for {one}" for one in first.leaf.users.out_of_date()
        ]
    for application in queue.applications.values():
        quota: Any = application.quota
        if quota is None or quota.user.name != application.user or quota.used != held[application.user]:
            counted = None if quota is None else (quota.user.name, quota.used)
            problems.append(f"queue {queue.path}: user {application.user} holds {held[application.user]}, {counted} counted")
        elif quota.asking != (application.whole.busy and bool(application.asks)):
            problems.append(f"application {application.id}: whether its user is active is out of date")
    return problems


def _admission(state: State) -> list[str]:
    problems = []
    users: dict[str, int] = defaultdict(int)
    running: dict[str, int] = defaultdict(int)
    for application in state.applications.values():
        if application.counted:
            users[application.user] += 1
            for queue in application.chain:
                running[queue.path] += 1
        elif application.queue is not None and application.busy and application not in state.admission.newcomers:
            problems.append(f"application {application.id} runs without being counted")
        if not application.busy:
            problems += _held_back(state, application)
    if users != state.admission.running.running:
        problems.append(f"running applications of users: {state.admission.running.running} counted, {dict(users)} found")
    for queue in state.tree.queues.values():
        if queue.running_below != running.get(queue.path, 0):
            problems.append(
                f"queue {queue.path}: {queue.running_below} running applications counted, {running.get(queue.path, 0)} found"
            )
    return problems


def _held_back(state: State, application: Application) -> list[str]:
    queue = application.queue
    if queue is None or application not in queue.unadmitted:
        return [f"application {application.id} waits to run and is in no list"]
    problems = []
    if application.active:
        problems.append(f"application {application.id} competes although it may not run")
    undecided = state.updates.limits_changed or state.tree.unsettled or application in state.admission.newcomers
    if not undecided and state.admission.running.obstacle(queue, application.user) is None:
        problems.append(f"application {application.id} waits to run and no limit holds it")
    return problems


def _masters(state: State) -> list[str]:
    problems = []
    for queue in state.tree.everywhere():
        held = [0] * state.types.width
        for application in queue.applications.values():
            for record in application.whole.pods.values():
                if record.master and record.part is application:
                    for position, value in record.charged:
                        held[position] += value
        if held != queue.master_usage:
            problems.append(f"queue {queue.path}: its masters hold {held}, {queue.master_usage} counted")
        if any(ask.application.queue is not queue for ask in queue.masters_blocked):
            problems.append(f"queue {queue.path}: a master of another queue waits here")
    return problems


def _order(queue: Queue) -> list[str]:
    children = queue.members()
    active = [child for child in children if child.active and child.blocked_by is None]
    problems = []
    if len(active) != queue.active:
        problems.append(f"queue {queue.path}: {queue.active} active children counted, {len(active)} found")
    current = {id(key[-1]) for key in queue.heap if key[-1].key is key}
    problems += [
        f"queue {queue.path}: {child.name} is active and missing from the order" for child in active if id(child) not in current
    ]
    return problems


def _keys(state: State) -> list[str]:
    """The keys that nothing is under way for are those of now; the queues with a maximum below which asks wait for nodes are known."""
    if state.tree.unsettled or state.updates.limits_changed:
        return []  # what queues may have may be other now; it is applied, and all keys are made anew, with the next pass
    limited = {queue for queue in state.tree.everywhere() if queue.limited and queue.rest_key is not None}
    problems = [] if limited == set(state.shapes.waiting.limited) else ["the queues that may be found full are not those known"]
    stale: set[object] = set(state.left)
    for child in (*state.dirty, *state.left):
        above = getattr(child, "chain", ())
        stale.update((child, *above))
    for queue in state.tree.everywhere():
        for child in queue.members():
            if child in stale:
                continue
            for what, key in (("order", child.key), ("order of what waits", child.rest_key)):
                now = queue.rank(child)[:-1]
                if key is not None and key[:-1] != now:
                    problems.append(f"queue {queue.path}: {child.name} has the key {key[:-1]} in the {what}, {now} now")
    return problems


def _demands(state: State) -> list[str]:
    """Where the order depends on demands, they are what is held and asked for."""
    if state.updates.demands is None or state.updates.demands or state.updates.demands_stale:
        return []
    problems = []
    for queue in state.tree.queues.values():
        total = [0] * state.types.width
        for child in queue.members():
            for at, value in enumerate(child.demand):
                total[at] += value
        if total != queue.demand_below:
            problems.append(f"queue {queue.path}: its members demand {total}, {queue.demand_below} counted")
    for application in state.applications.values():
        wanted = held(map(add, application.usage, application.pending_demand(len(application.usage))))
        if application.queue is not None and application.demand != wanted:
            problems.append(f"application {application.id}: it demands {wanted}, {application.demand} counted")
    return problems


def _counts(state: State) -> list[str]:
    states = [record.state for record in state.pods.values()]
    counted = {
        "waiting": (state.waiting, states.count(PodState.WAITING) + states.count(PodState.DELAYED)),
        "assumed": (state.assumed, states.count(PodState.ASSUMED)),
        "bound": (state.bound, states.count(PodState.BOUND)),
    }
    return [f"{name}: {have} counted, {found} found" for name, (have, found) in counted.items() if have != found]
