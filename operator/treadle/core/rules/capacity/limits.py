"""What parents leave to their children, whether a queue may get anything more, and how many applications a leaf takes.

Hadoop's ``AbstractCSQueue.canAssignToThisQueue``, ``AbstractParentQueue.getResourceLimitsOfChild`` and ``AbstractLeafQueue``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.users import User
from treadle.core.units.amounts import add_to, least, loosely_beyond, minus, plus
from treadle.core.units.resources import Vector


class Limits:
    """What may be had in one subtree during one walk.

    ``headroom`` is what was left when that was last looked at, ``blocked`` what is kept from later siblings for one whose next
    request is too large for its headroom, ``to_release`` how much of what it holds an application must give up, ``may_end``
    whether others may be ended for it.
    """

    __slots__ = ("blocked", "headroom", "limit", "may_end", "to_release")

    def __init__(self, limit: Sequence[int]) -> None:
        self.limit: Vector = list(limit)
        self.headroom: Vector = list(limit)
        self.blocked: Vector | None = None
        self.to_release: Vector = [0] * len(self.limit)
        self.may_end = False

    @property
    def net(self) -> Vector:
        """The limit without what is kept for a blocked sibling."""
        return list(self.limit) if self.blocked is None else minus(self.limit, self.blocked)

    def block(self, amount: Sequence[int]) -> None:
        """Keep more from later siblings."""
        if self.blocked is None:
            self.blocked = [0] * len(self.limit)
        add_to(self.blocked, amount)


def of_child(parent: CapacityQueue, child: CapacityQueue, limits: Limits, partition: str, *, net: bool) -> Limits:
    """Return what is left to a child: the parent's limit, less what its other children use."""
    context = parent.context
    total = context.of(partition) if net else context.total
    del total
    limits.limit = context.calculator.smaller(context.total, limits.limit, parent.share(partition).maximum)
    left = minus(limits.net if net else limits.limit, parent.usage.used(partition))
    left = plus(plus(left, parent.killable_amount(partition)), child.usage.used(partition))
    return Limits(context.calculator.round_down(left, context.least))


def may_get_more(queue: CapacityQueue, partition: str, limits: Limits, releasable: Sequence[int], *, within: bool) -> bool:
    """Whether a queue is below its limit, or would be without what could be given up.

    ``within``: its own maximum holds, not only the partition's size.
    """
    context, calculator = queue.context, queue.context.calculator
    limit = context.of(partition)
    if within:
        limit = calculator.smaller(context.total, queue.share(partition).maximum, limits.limit)
    used = queue.usage.used(partition)
    if queue.parental:
        used = minus(used, queue.killable_amount(partition))
    limits.headroom = minus(limit, used)
    if calculator.compare(context.total, used, limit) < 0:
        return True
    look_further = context.settings.look_further and calculator.positive(context.total, releasable)
    return look_further and calculator.less(context.total, minus(used, releasable), limit)


def take_limit(leaf: CapacityQueue, limits: Limits) -> None:
    """Let a leaf remember what its parents left to it."""
    calculator = leaf.context.calculator
    leaf.limit = calculator.smaller(leaf.context.total, leaf.maximum_down(DEFAULT), limits.limit)


def headroom(leaf: CapacityQueue, user: User, partition: str, used_of_cluster: Sequence[int]) -> Vector:
    """Return what a user may expect to get more of a partition; ``used_of_cluster`` is what all queues have of it."""
    context, calculator = leaf.context, leaf.context.calculator
    limit = leaf.told_limit if partition == DEFAULT else leaf.share(partition).maximum
    of_user = loosely_beyond(leaf.users.limit(user.name, partition), user.usage.used(partition))
    left = least(of_user, loosely_beyond(limit, leaf.usage.used(partition)))
    left = calculator.round_down(left, context.least)
    total = context.of(partition)
    return calculator.smaller(total, minus(total, used_of_cluster), left)


def limit_applications(leaf: CapacityQueue) -> None:
    """Compute how many applications a leaf takes, altogether and of one user."""
    settings, single, whole = leaf.context.settings, leaf.context.single, leaf.context.calculator.whole
    system = settings.max_applications
    found = -1 if leaf.spec.max_applications is None else leaf.spec.max_applications
    base = min(settings.queue_max_applications, system) if settings.queue_max_applications > 0 else system
    if found < 0:
        if (not settings.legacy and not any(leaf.context.total)) or (
            settings.queue_max_applications > 0 and leaf.kind != "ABSOLUTE_RESOURCE"
        ):
            found = base
        else:
            for partition in leaf.configured:
                found = max(found, whole(single(single(base) * leaf.share(partition).absolute)))
    leaf.max_applications = leaf.max_applications_of_user = found
    if leaf.user_limit_factor != -1:
        part = single(single(single(found) * single(single(leaf.user_limit) / 100.0)) * leaf.user_limit_factor)
        leaf.max_applications_of_user = min(found, whole(part))


def limits_of(queue: CapacityQueue) -> Limits:
    """Return what those above a queue leave to it now."""
    limits = Limits(queue.context.total)
    for above, below in pairwise(list(queue.chain)[::-1]):
        limits = of_child(above, below, limits, "", net=False)
    return limits


def tell_room(leaf: CapacityQueue) -> None:
    """Let a leaf know what those above it leave to it now; limits on masters are parts of that."""
    take_limit(leaf, limits_of(leaf))
    leaf.told_limit = leaf.limit
