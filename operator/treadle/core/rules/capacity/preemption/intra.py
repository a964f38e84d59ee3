"""Victims inside a leaf: for applications of higher priority, or for users below their limit (Hadoop's ``IntraQueueCandidatesSelector``)."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from treadle.core.rules.capacity.ordering import FAIR, fairness, first_come
from treadle.core.rules.capacity.preemption.selection import deduct_chosen, least_urgent, try_take
from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import add_to, least, loosely_beyond, minus, plus, take_from
from treadle.core.units.resources import Vector


class _User:
    """A user of the leaf. ``over_done``: what the user has over the limit was handed out once already."""

    def __init__(self, leaf: CapacityQueue, name: str, partition: str, masters: Vector) -> None:
        width = leaf.context.width
        self.masters = list(masters)
        self.used = list(leaf.users.user(name).usage.used(partition))
        self.limit = minus(leaf.users.limit(name, partition, of_active=False), masters)
        self.ideal: Vector = [0] * width
        self.chosen: Vector = [0] * width
        self.over_done = False

    @property
    def without_masters(self) -> Vector:
        """What the user has apart from masters."""
        return minus(self.used, self.masters)


class _Application:
    """An application of the leaf.

    ``lacks`` is what it still wants from others (at first: ``wanted``), ``spare`` what it has too much, ``obtain`` how much of
    that is wanted.
    """

    def __init__(self, member: Any, partition: str, user: _User, none: Vector) -> None:
        self.member, self.user, self.partition = member, user, partition
        self.used = list(member.usage.used(partition))
        has_master = not member.awaits_master and member.master_partition == partition
        self.masters = list(member.master_demand) if has_master else none[:]
        self.pending = list(member.usage.see(partition).pending)
        self.ideal, self.lacks, self.wanted = none[:], none[:], none[:]
        self.spare, self.obtain, self.chosen = none[:], none[:], none[:]


def look_inside(round_: Round) -> None:
    """Find out which applications of the leaves that lacked something want something from others, and who has too much."""
    settings = round_.context.settings.preemption
    for partition in round_.partitions:
        for path in round_.underserved.get(partition, {}):
            queue = round_.queue(path, partition)
            if not queue.queue.parental and queue.queue.share(partition).used_capacity >= round_.context.single(
                settings.intra_threshold
            ):
                _compute(round_, queue)


def inside_queues(round_: Round) -> None:
    """Choose victims inside the leaves that lacked something."""
    look_inside(round_)
    deduct_chosen(round_)
    for partition in round_.partitions:
        for path in round_.underserved.get(partition, {}):
            queue = round_.queue(path, partition)
            if not queue.queue.parental and not queue.queue.keeps_all:
                _select(round_, queue)


def _compute(round_: Round, queue: TempQueue) -> None:
    context, leaf, partition = round_.context, queue.queue, queue.partition
    calculator, none, settings = context.calculator, context.none(), context.settings.preemption
    masters: dict[str, Vector] = {}
    left = minus(queue.used, queue.obtain)
    for member in leaf.active:
        if member.master_partition == partition:
            add_to(masters.setdefault(member.user, list(none)), member.master_demand)
            take_from(left, member.master_demand)
    members = [*leaf.pending, *leaf.active]
    if len(members) == 1:
        return
    applications = []
    for member in members:
        if member.user not in queue.users:
            queue.users[member.user] = _User(leaf, member.user, partition, masters.get(member.user, none))
        applications.append(_Application(member, partition, queue.users[member.user], none))
    urgent_first = _sorted(round_, leaf, applications)
    _share(round_, urgent_first, left)
    limit = context.calculator.times(queue.guaranteed, context.single(settings.intra_limit))
    limit = minus(limit, queue.obtain) if calculator.more(context.total, limit, queue.obtain) else list(none)
    limit = calculator.smaller(context.total, limit, round_.budget)
    last_first = list(reversed(urgent_first))
    for each in last_first:
        if calculator.compare(context.total, limit, none) <= 0:
            break  # it only gets less
        if not any(each.used) or calculator.compare(context.total, each.used, none) <= 0:
            continue
        spare = loosely_beyond(loosely_beyond(minus(each.used, each.ideal), each.chosen), each.masters)
        if not settings.intra_by_priority:
            spare = loosely_beyond(spare, context.least)
        each.spare = calculator.smaller(context.total, calculator.larger(context.total, spare, none), limit)
        limit = loosely_beyond(limit, each.spare)
    queue.applications = last_first
    _pair(round_, last_first)


def _sorted(round_: Round, leaf: CapacityQueue, applications: list[_Application]) -> list[_Application]:
    context = round_.context
    if leaf.spec.order != FAIR or context.settings.preemption.intra_by_priority:
        return sorted(applications, key=lambda each: first_come(each.member))

    def compare(one: _Application, other: _Application) -> int:
        if one.user is other.user:
            mine, theirs = fairness(leaf, one.member), fairness(leaf, other.member)
            return (mine > theirs) - (mine < theirs)
        if one.user.without_masters == other.user.without_masters:
            return int(one.member.order) - int(other.member.order)
        return -1 if context.calculator.less(context.total, one.user.without_masters, other.user.without_masters) else 1

    return sorted(applications, key=cmp_to_key(compare))


def _share(round_: Round, applications: list[_Application], left: Vector) -> None:
    """Deal what the leaf has out to its applications, as far as their users' limits go."""
    context = round_.context
    calculator, total, none = context.calculator, context.total, context.none()
    for each in applications:
        if calculator.compare(total, left, none) <= 0:
            break  # it only gets less
        if calculator.any_used_up(left) and context.settings.preemption.intra_conservative:
            break
        for container in round_.chosen.values():
            if container.owner is each.member and container.partition == each.partition:
                add_to(each.chosen, container.demand)
                add_to(each.user.chosen, container.demand)
        has = minus(each.used, each.masters)
        wants = minus(plus(has, each.pending), each.chosen)
        if not calculator.less(total, each.user.ideal, each.user.limit):
            continue
        room = minus(each.user.limit, each.user.ideal)
        if context.settings.precise:
            each.ideal = calculator.as_much(wants, least(left, room))
        else:
            each.ideal = calculator.smaller(total, left, calculator.smaller(total, wants, room))
        add_to(each.user.ideal, each.ideal)
        has = minus(has, each.chosen)
        if calculator.more(total, each.ideal, has):
            each.lacks = minus(each.ideal, has)
            each.wanted = list(each.lacks)
        left = loosely_beyond(left, each.ideal)


def _pair(round_: Round, applications: list[_Application]) -> None:
    """Let those that lack something, the most urgent first, take from those that have too much, the least urgent first.

    Who has nothing left to give is not looked at again.
    """
    context = round_.context
    calculator, total, none = context.calculator, context.total, context.none()
    by_limit = not context.settings.preemption.intra_by_priority
    givers = [low for low in applications if any(low.spare) and calculator.more(total, low.spare, none)]
    for high in reversed(applications):
        if not givers:
            break
        if not any(high.lacks) or not calculator.more(total, high.lacks, none):
            continue
        touched: list[_Application] = []
        for low in givers:
            if not any(high.lacks):
                break
            other_user = high.member.user != low.member.user
            if not other_user and low.member.priority >= high.member.priority:
                continue
            if calculator.compare(total, low.spare, low.obtain) <= 0:
                touched.append(low)
                continue
            over = calculator.more(total, low.user.without_masters, low.user.limit)
            if other_user and not over and by_limit:
                continue
            amount = minus(low.spare, low.obtain)
            if other_user and low.member.priority == high.member.priority and over:
                beyond = minus(minus(low.user.without_masters, low.user.chosen), low.user.limit)
                beyond = list(none) if low.user.over_done else beyond
                if calculator.less(total, beyond, amount):
                    low.user.over_done = True
                    amount = beyond
            if calculator.more(total, amount, none):
                taken = calculator.smaller(total, high.lacks, amount)
                high.lacks = minus(high.lacks, taken)
                low.obtain = plus(low.obtain, taken)
                touched.append(low)
        for low in touched:
            if calculator.compare(total, low.spare, low.obtain) <= 0:
                givers.remove(low)


def _select(round_: Round, queue: TempQueue) -> None:
    context, partition = round_.context, queue.partition
    obtain = {partition: context.none()}
    for each in queue.applications:
        add_to(obtain[partition], each.obtain)
    rolling: dict[str, Vector] = {name: list(user.usage.used(partition)) for name, user in queue.queue.users.users.items()}
    for each in queue.applications:
        if any(each.obtain):
            _from_application(round_, queue, each, obtain, rolling.setdefault(each.member.user, context.none()))


def _from_application(round_: Round, queue: TempQueue, each: _Application, obtain: dict[str, Vector], rolling: Vector) -> None:
    context, settings = round_.context, round_.context.settings.preemption
    for container in least_urgent(each.member.containers):
        if not obtain:
            return
        if round_.is_chosen(container) or container in container.node.killable or container.master:
            continue
        user = round_.queue(queue.path, container.node.partition).users.get(each.member.user)
        if user is not None and not settings.intra_by_priority:
            after = minus(rolling, container.demand)
            if context.calculator.compare(context.total, after, plus(user.limit, user.masters)) <= 0:
                return
        if try_take(round_, obtain, container, conservative=settings.intra_conservative) and not settings.intra_by_priority:
            take_from(rolling, container.demand)
