"""The walk of one node through the tree (Hadoop's ``AbstractParentQueue.assignContainers`` and ``AbstractLeafQueue.assignContainers``).

Every walk ends with one proposal. Parents try their children in order, each with what is left to it. A leaf tries its
applications in order: one that can do nothing with the node is passed over, but one that could, were there room, ends the leaf's
turn, so that nobody overtakes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.capacity.accounts import owner
from offers.capacity.allocator import Outcome, Proposal, try_application
from offers.capacity.member import Member
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.limits import Limits, may_get_more, of_child, take_limit
from treadle.core.rules.capacity.ordering import in_order, siblings
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import minus, plus
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld
    from offers.nodes import NodeManager


def killable(world: CapacityWorld, node: NodeManager) -> Vector:
    """Return how much of a node may be freed at any time."""
    total = world.context.none()
    for container in node.killable:
        total = plus(total, container.demand)
    return total


def assign(world: CapacityWorld, queue: CapacityQueue, node: NodeManager, limits: Limits, *, within: bool) -> Proposal:
    """Offer a node to a queue. ``within``: by its own right to the node's partition; otherwise what the partition lends."""
    if not queue.parental:
        return assign_leaf(world, queue, node, limits, within=within)
    context, partition = world.context, node.partition
    if (within and not queue.may_use(partition)) or not _asks(world, queue, partition, within=within):
        return Proposal()
    if node.hold is not None or not context.calculator.fits(context.least, plus(node.free, killable(world, node))):
        return Proposal()
    if not may_get_more(queue, partition, limits, queue.held, within=within):
        return Proposal()
    result = Proposal()
    for child in siblings(queue, partition):
        left = of_child(queue, child, limits, partition, net=True)
        found = assign(world, child, node, left, within=within)
        if found.some(world):
            return found
        if found.outcome is Outcome.QUEUE_FULL:
            if result.outcome is not Outcome.QUEUE_FULL:
                result = found
            blocked = (left.blocked or context.none()) if child.parental else left.headroom
            limits.block(context.calculator.larger(context.total, blocked, context.none()))
    return result


def _asks(world: CapacityWorld, queue: CapacityQueue, partition: str, *, within: bool) -> bool:
    pending = queue.usage.see(partition if within else DEFAULT).pending
    return world.context.calculator.positive(world.context.total, pending)


class _Seen:
    """What was found for one user while nothing changed."""

    __slots__ = ("allowed", "held", "limit")

    def __init__(self, limit: Vector) -> None:
        self.limit = limit
        self.allowed = True
        self.held: Vector = [0] * len(limit)


def assign_leaf(world: CapacityWorld, leaf: CapacityQueue, node: NodeManager, limits: Limits, *, within: bool) -> Proposal:
    """Offer a node to a leaf; a held one only to the application that it is held for."""
    context, partition = world.context, node.partition
    take_limit(leaf, limits)
    _allow_ending(world, leaf, limits, partition)
    if node.hold is not None:
        member = owner(node.hold)
        if not member.gone and member.leaf is leaf:
            return try_application(world, member, node, limits, node.hold, within=within)
    if (within and not leaf.may_use(partition)) or not _asks(world, leaf, partition, within=within):
        return Proposal()
    seen: dict[str, _Seen] = leaf.users.findings(partition, within=within)
    check = True
    for application in in_order(leaf, partition):
        assert isinstance(application, Member)
        held = application.reserved(DEFAULT)
        if check:
            if not may_get_more(leaf, partition, limits, held, within=within):
                return Proposal()
            if not world.settings.look_further or not any(held):
                check = False
        if not _user_may(world, leaf, application, partition, limits, seen, within=within):
            continue
        found = try_application(world, application, node, limits, None, within=within)
        if found.some(world) or found.outcome is Outcome.QUEUE_FULL:
            return found
        if found.outcome is not Outcome.NEXT_APPLICATION:
            return Proposal()
    del context
    return Proposal()


def _allow_ending(world: CapacityWorld, leaf: CapacityQueue, limits: Limits, partition: str) -> None:
    share = leaf.share(partition)
    if any(share.minimum):
        limits.may_end = world.context.calculator.less(world.context.total, leaf.usage.used(partition), share.minimum)
    else:
        limits.may_end = share.absolute_used < share.absolute


def _user_may(
    world: CapacityWorld,
    leaf: CapacityQueue,
    member: Member,
    partition: str,
    limits: Limits,
    seen: dict[str, _Seen],
    *,
    within: bool,
) -> bool:
    """Whether the user of an application may have more; an answer holds for all the user's applications that hold no more than this one."""
    calculator, total = world.context.calculator, world.context.total
    held = member.reserved(DEFAULT)
    user = leaf.users.users.get(member.user)
    known = seen.get(member.user)
    if known is None:
        limit = leaf.users.limit(member.user, partition, within=within) if user is not None else world.context.none()
        known = seen[member.user] = _Seen(limit)
    if user is not None:
        leaf.told_limit = leaf.limit
        member.headroom_from = (leaf, user)
    if not known.allowed and all(one <= other for one, other in zip(held, known.held, strict=True)):
        return False
    if user is None:
        _refuse(known, held)
        return False
    limits.to_release = world.context.none()
    used = user.usage.used(partition)
    allowed = not calculator.more(total, used, known.limit)
    if not allowed and world.settings.look_further:
        without = minus(user.usage.used(DEFAULT), held)
        if calculator.compare(total, without, known.limit) <= 0:
            limits.to_release = minus(used, known.limit)
            allowed = True
    if not allowed:
        _refuse(known, held)
    return allowed


def _refuse(known: _Seen, held: Vector) -> None:
    if all(one <= other for one, other in zip(known.held, held, strict=True)):
        known.allowed, known.held = False, list(held)
