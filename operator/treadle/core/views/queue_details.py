"""Queues with all that YARN's web services tell of them, as plain data: what masters hold, how many pods there are, what users have, and capacities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.disciplines.fair.am_share import limit_of as fair_masters
from treadle.core.rules.capacity.am_share import last_limit_of_leaf
from treadle.core.rules.running import NO_LIMIT
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.units.resources import Vector
    from treadle.core.views.figures import Amounts


@dataclass(frozen=True, slots=True)
class CapacityDetails:
    """What a queue has of one partition under the capacity discipline: parts as fractions, amounts as they are in force and as they are written, -1 as the weight where none is."""

    capacity: float
    used: float
    maximum: float
    absolute: float
    absolute_used: float
    absolute_maximum: float
    master_share: float
    weight: float
    normalized_weight: float
    configured_minimum: Amounts
    configured_maximum: Amounts
    minimum_in_force: Amounts
    maximum_in_force: Amounts


@dataclass(frozen=True, slots=True)
class UserDetails:
    """What a user has in a leaf: applications that run and such that wait, and what their pods hold in all partitions."""

    name: str
    running: int
    pending: int
    used: Amounts
    masters: Amounts
    weight: float


@dataclass(frozen=True, slots=True)
class CapacityWords:
    """What only the capacity discipline says of a queue; lifetimes are in seconds, -1 for none."""

    partitions: dict[str, CapacityDetails]
    user_limit: float
    user_limit_factor: float
    max_applications: int
    max_applications_of_user: int
    order: str
    kind: str
    preemption_disabled: bool
    intra_preemption_disabled: bool
    priority: int
    default_priority: int
    max_lifetime: float
    default_lifetime: float
    max_allocation: Amounts
    users: list[UserDetails] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueueDetails:
    """A queue of the default partition. ``maximum`` is no more than the cluster has; ``max_running`` is None without a limit, ``largest`` None without one."""

    path: str
    leaf: bool
    dynamic: bool
    state: str
    policy: str
    preemptable: bool
    children: tuple[str, ...]
    minimum: Amounts
    maximum: Amounts
    used: Amounts
    demand: Amounts
    pending: Amounts
    held: Amounts
    steady: Amounts
    fair: Amounts
    masters: Amounts
    master_limit: Amounts
    largest: Amounts | None
    max_running: int | None
    running: int
    accepted: int
    pods: int
    waiting: int
    holds: int
    capacity: CapacityWords | None


def queue_details(state: State, path: str) -> QueueDetails | None:
    """Return the details of a queue, None if none is in force at that path."""
    queue = state.tree.queues.get(path)
    if queue is None:
        return None
    named, total = state.types.named, state.cluster.total
    below = [application for one in queue.walk() for application in one.applications.values()]
    inside = {application.id for application in below}
    holds = [hold for hold in state.preemption.holds if hold.application.whole.id in inside]
    held = [0] * state.types.width
    for hold in holds:
        for position, value in hold.shape.charged:
            held[position] += value
    capacity = _capacity(state, queue)
    return QueueDetails(
        path=path,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        state=queue.state,
        policy=queue.policy.name,
        preemptable=queue.spec.preemptable,
        children=tuple(child.path for child in queue.children.values()),
        minimum=named(queue.minimum or ()),
        maximum=named(min(most, have) for most, have in zip(queue.maximum, total, strict=False)),
        used=named(queue.usage),
        demand=named(queue.demand),
        pending=named(queue.pending),
        held=named(held),
        steady=named(queue.steady_share),
        fair=named(queue.fair_share),
        masters=named(queue.master_usage),
        master_limit=named(_master_limit(state, queue)),
        largest=None if queue.largest is None else named(value for value in queue.largest if value < UNBOUNDED),
        max_running=queue.max_running if queue.max_running < NO_LIMIT else None,
        running=sum(application.allocated > 0 for application in below),
        accepted=sum(not application.allocated for application in below),
        pods=sum(application.allocated for application in below),
        waiting=sum(application.pending for application in below),
        holds=len(holds),
        capacity=capacity,
    )


def _master_limit(state: State, queue: Queue) -> Iterable[int]:
    if not queue.leaf:
        return ()
    if state.discipline.name == "Capacity":
        capacities = capacity_state(state).capacities
        known = None if capacities is None else capacities.of.get(queue.path)
        return () if known is None else last_limit_of_leaf(known, "")
    limit: Vector = fair_masters(state, queue)
    return [value if value < UNBOUNDED else 0 for value in limit]


def _capacity(state: State, queue: Queue) -> CapacityWords | None:
    if state.discipline.name != "Capacity":
        return None
    capacities = capacity_state(state).capacities
    known = None if capacities is None else capacities.of.get(queue.path)
    if known is None:
        return None
    known.update_statistics()
    named = state.types.named
    partitions = {}
    for name in ("", *sorted(one for one in known.shares if one)):
        share = known.share(name)
        partitions[name] = CapacityDetails(
            share.capacity,
            share.used_capacity,
            share.maximum_capacity,
            share.absolute,
            share.absolute_used,
            share.absolute_maximum,
            share.master_share,
            share.weight,
            share.normalized_weight,
            *(
                named(value if value < UNBOUNDED else 0 for value in amounts)
                for amounts in (share.configured_minimum, share.configured_maximum, share.minimum, share.maximum)
            ),
        )
    return CapacityWords(
        partitions,
        known.user_limit,
        known.user_limit_factor,
        known.max_applications,
        known.max_applications_of_user,
        queue.policy.name if queue.leaf else known.order,
        known.kind,
        known.disable_preemption,
        known.disable_intra_preemption,
        known.priority,
        known.default_application_priority,
        known.max_lifetime,
        known.default_lifetime,
        named(value if value < UNBOUNDED else 0 for value in known.max_allocation),
        _users(state, queue, known),
    )


def _users(state: State, queue: Queue, known: CapacityQueue) -> list[UserDetails]:
    found: dict[str, tuple[list[int], Vector, Vector]] = {}
    width = state.types.width
    for application in queue.applications.values():
        counts, used, masters = found.setdefault(application.user, ([0, 0], [0] * width, [0] * width))
        counts[not application.allocated] += 1
        held = application.master_usage()
        for position in range(min(width, len(application.usage))):
            used[position] += application.usage[position]
            masters[position] += held[position]
    named = state.types.named
    return [
        UserDetails(name, counts[0], counts[1], named(used), named(masters), known.user_weights.get(name, 1.0))
        for name, (counts, used, masters) in sorted(found.items())
    ]
