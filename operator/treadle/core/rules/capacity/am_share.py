"""How much masters may hold in a leaf and of one user, and which applications start (Hadoop's ``AbstractLeafQueue.activateApplications``).

Masters are charged when their application starts, before their container is there. An application whose master does not fit is
passed over; later and smaller ones may start. If nothing is active, or no master is charged, the limits do not hold: one
application may always start.
"""

from __future__ import annotations

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.ordering import first_come
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.units.amounts import plus
from treadle.core.units.resources import Vector


def limit_of_leaf(leaf: CapacityQueue, partition: str) -> Vector:
    """Return what masters of a leaf may hold of a partition; remembers it."""
    context = leaf.context
    share, amounts = leaf.own(partition), leaf.usage.of(partition)
    usable = share.minimum
    room = leaf.told_limit if partition == DEFAULT else context.none()
    if context.calculator.fits(usable, room):
        usable = room
    amounts.master_limit = context.calculator.times_up(usable, share.master_share, context.least)
    return amounts.master_limit


def last_limit_of_leaf(leaf: CapacityQueue, partition: str) -> Vector:
    """Return what masters of a leaf may hold of a partition, as it was computed last."""
    return leaf.usage.see(partition).master_limit or leaf.context.none()


def limit_of_user(leaf: CapacityQueue, partition: str, user: str | None) -> Vector:
    """Return what masters of one user may hold, as compared with the limit of the leaf that was computed last."""
    context, calculator = leaf.context, leaf.context.calculator
    found = leaf.users.users.get(user) if user is not None else None
    weight = found.weight if found is not None else 1.0
    single = context.single
    part = max(single(single(leaf.user_limit) / single(100.0)), single(1.0 / single(max(leaf.users.count_active(), 1))))
    part = min(single(part * weight), 1.0)
    share = leaf.share(partition)
    by = single(single(share.master_share * part) * leaf.user_limit_factor)
    if leaf.user_limit_factor == -1:
        by = share.master_share
    limit = calculator.times_up(share.minimum, by, context.least)
    return calculator.smaller(leaf.last_total, limit, last_limit_of_leaf(leaf, partition))


def start_applications(leaf: CapacityQueue) -> None:
    """Let those start whose masters fit."""
    calculator = leaf.context.calculator
    for partition in leaf.partitions_of_masters():
        limit_of_leaf(leaf, partition)
    user_limits: dict[str, Vector] = {}
    for application in sorted(leaf.pending, key=first_come):
        partition, demand = application.master_partition, application.master_demand
        limit = last_limit_of_leaf(leaf, partition)
        held = leaf.usage.see(partition).masters
        free = len(leaf.active) < 1 or calculator.compare(leaf.last_total, held, leaf.context.none()) <= 0
        if not calculator.fits(plus(demand, held), limit) and not free:
            continue
        user = leaf.users.user(application.user)
        if partition not in user_limits:
            user_limits[partition] = limit_of_user(leaf, partition, application.user)
        if not calculator.fits(plus(demand, user.usage.see(partition).masters), user_limits[partition]) and not free:
            continue
        user.pending -= 1
        user.active += 1
        start(leaf, application)
        leaf.pending.remove(application)


def start(leaf: CapacityQueue, application: CapacityApplication) -> None:
    """Charge an application's master and let the application take part."""
    partition, demand = application.master_partition, application.master_demand
    if application not in leaf.active:
        leaf.active.append(application)
    leaf.usage.change(partition, "masters", demand)
    leaf.users.user(application.user).usage.change(partition, "masters", demand)


def stop(leaf: CapacityQueue, application: CapacityApplication) -> None:
    """Take an application out of those that take part, and its master's charge with it."""
    partition, demand = application.master_partition, application.master_demand
    leaf.active.remove(application)
    leaf.unsorted.pop(application.name, None)
    leaf.usage.change(partition, "masters", demand, less=True)
    leaf.users.user(application.user).usage.change(partition, "masters", demand, less=True)
