"""Which containers are taken for what should be obtained (Hadoop's ``CapacitySchedulerPreemptionUtils`` and ``FifoCandidatesSelector``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.ordering import for_preemption
from treadle.core.rules.capacity.preemption.ideal import Dealing, compute
from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import add_to, minus, most, take_from
from treadle.core.units.resources import PODS, Vector

Obtain = dict[str, Vector]


def least_urgent(containers: Iterable[Any]) -> list[Any]:
    """Return containers, the least urgent first, of those the newest."""
    return sorted(containers, key=lambda one: (one.key, one.sequence), reverse=True)


def deduct_chosen(round_: Round) -> None:
    """Count what was chosen before as obtained, if more than that is wanted."""
    calculator = round_.context.calculator
    for container in round_.chosen.values():
        queue = round_.queue(container.owner.leaf.path, container.node.partition)
        if calculator.more(queue.total, queue.obtain, container.demand):
            take_from(queue.obtain, container.demand)
        queue.obtain = calculator.larger(queue.total, queue.obtain, round_.context.none())
        for application in queue.applications:
            if calculator.more(queue.total, application.obtain, container.demand):
                take_from(application.obtain, container.demand)


def wanted(round_: Round, path: str) -> Obtain:
    """Return what is to be obtained from a leaf, by partition."""
    found: Obtain = {}
    for partition in round_.partitions:
        queue = round_.queue(path, partition)
        if not queue.protected and round_.context.calculator.positive(round_.context.total, queue.obtain):
            found[partition] = list(queue.obtain)
    return found


def try_take(round_: Round, obtain: Obtain, container: Any, *, conservative: bool) -> bool:
    """Choose a container if that brings what is to be obtained nearer, and the budget allows it."""
    calculator, none = round_.context.calculator, round_.context.none()
    if round_.is_chosen(container):
        return False
    partition = container.node.partition
    left = obtain.get(partition)
    if left is None:
        return False
    for position in range(len(left)):
        if left[position] == 0 and position != PODS:
            left[position] = -1
    if not calculator.any_above_zero(left) or not calculator.fits(container.demand, round_.budget):
        return False
    after = minus(left, container.demand)
    if conservative:
        worth = not calculator.any_used_up(left)
    else:
        worth = calculator.less(round_.context.total, most(after, none), most(left, none))
    if not worth:
        return False
    obtain[partition] = after
    take_from(round_.budget, container.demand)
    if calculator.compare(round_.context.total, after, none) <= 0:
        del obtain[partition]
    round_.choose(container)
    return True


def by_queues(round_: Round, *, balance: bool, with_held: bool) -> list[Any]:
    """Choose victims in leaves that have more than their ideal share; returns holds that are given up at once."""
    settings = round_.context.settings.preemption
    compute(round_, Dealing(with_held=with_held, balance=balance))
    deduct_chosen(round_)
    holds: list[Any] = []
    masters: list[Any] = []
    for path in round_.leaves:
        queue = round_.queue(path, DEFAULT)
        if queue.protected:
            continue
        leaf, obtain = queue.queue, wanted(round_, path)
        for partition in list(obtain):
            for container in sorted(leaf.lent.get(partition, {}), key=_age, reverse=True):
                if not round_.is_chosen(container):
                    try_take(round_, obtain, container, conservative=settings.conservative)
        of_masters = round_.context.none()
        for application in for_preemption(leaf):
            if not obtain:
                break
            _from_application(round_, application, obtain, masters, of_masters, holds)
        allowed = masters_allowed(leaf, DEFAULT)
        _from_masters(round_, masters, obtain, of_masters, allowed)
    return holds


def _age(container: Any) -> tuple[int, int]:
    return container.owner.order, container.sequence


def _from_application(
    round_: Round, application: Any, obtain: Obtain, masters: list[Any], of_masters: Vector, holds: list[Any]
) -> None:
    conservative = round_.context.settings.preemption.conservative
    for container in round_.holds_of(application):
        if round_.is_chosen(container):
            continue
        if not obtain:
            return
        try_take(round_, obtain, container, conservative=conservative)
        if not round_.context.settings.preemption.observe_only:
            holds.append(container)
    for container in least_urgent(application.containers):
        if not obtain:
            return
        if round_.is_chosen(container) or container in container.node.killable:
            continue
        if container.master:
            masters.append(container)
            add_to(of_masters, container.demand)
            continue
        try_take(round_, obtain, container, conservative=conservative)


def masters_allowed(leaf: CapacityQueue, partition: str) -> Vector:
    """Return what masters of a leaf may keep while others go."""
    context, share = leaf.context, leaf.share(partition)
    part = context.settings.master_share if leaf.spec.master_share is None else leaf.spec.master_share
    return context.calculator.times(share.minimum, context.single(part))


def _from_masters(round_: Round, masters: list[Any], obtain: Obtain, of_masters: Vector, allowed: Vector) -> None:
    for container in masters:
        if not obtain or round_.context.calculator.compare(round_.context.total, of_masters, allowed) <= 0:
            break
        if try_take(round_, obtain, container, conservative=round_.context.settings.preemption.conservative):
            take_from(of_masters, container.demand)
    masters.clear()


def leaves_of(root: TempQueue) -> list[str]:
    """Return the paths of the leaves."""
    return [queue.path for queue in root.walk() if not queue.queue.parental]
