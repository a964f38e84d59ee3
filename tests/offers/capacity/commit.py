"""From a proposal to what is in force (Hadoop's ``CapacityScheduler.tryCommit``): it is looked at once more, then counted everywhere.

The check uses limits as they are now. A proposal that fails it is dropped; the walk saw room that parents or users do not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offers.capacity.accounts import charge, count_hold, end, given, hold, let_go, owner
from offers.capacity.allocator import Outcome, Proposal
from offers.effects import Cause, Placed
from offers.nodes import Container
from offers.requests import ANY
from treadle.core.units.amounts import minus, plus
from treadle.core.units.resources import Vector

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld


def commit(world: CapacityWorld, proposal: Proposal) -> bool:
    """Put a proposal in force, if it can be; returns whether it was."""
    released = _released(proposal)
    if not proposal.some(world):
        for container in released:
            _release(world, proposal, container)
        return bool(released)
    again = proposal.outcome is Outcome.HELD and proposal.held is not None
    if not _acceptable(world, proposal, released, again=again):
        return False
    _apply(world, proposal, released, again=again)
    return True


def _released(proposal: Proposal) -> list[Container]:
    return [*proposal.to_end, *([proposal.give_up] if proposal.give_up is not None else [])]


def _is_hold(container: Container) -> bool:
    return container not in owner(container).containers


def _acceptable(world: CapacityWorld, proposal: Proposal, released: list[Container], *, again: bool) -> bool:
    member, node, calculator = proposal.member, proposal.node, world.context.calculator
    assert member is not None
    assert node is not None
    if any(container.ended for container in released):
        return False
    if proposal.outcome is Outcome.PLACED:
        if node.hold is not proposal.held or not _still_asked(proposal):
            return False
        room = node.free
        for container in released:
            if _is_hold(container):
                if container.node.hold is not container:
                    return False
            elif container.node is node:
                room = plus(room, container.demand)
        if not calculator.fits(proposal.demand, room):
            return False
    elif again:
        return node.hold is proposal.held
    elif node.hold is not None:
        return False
    return proposal.held is not None or _within_limits(world, proposal, released)


def _places(proposal: Proposal) -> list[str]:
    """Return the places at which a container counts as given."""
    assert proposal.node is not None
    return [proposal.node.name, proposal.node.rack, ANY][proposal.level :]


def _still_asked(proposal: Proposal) -> bool:
    """Whether all those places are asked for: whoever asks again for anywhere alone may have a host left whose rack is used up."""
    member, key = proposal.member, proposal.key
    return member is not None and key is not None and all(member.requests.count(key, place) > 0 for place in _places(proposal))


def _within_limits(world: CapacityWorld, proposal: Proposal, released: list[Container]) -> bool:
    member, node, calculator = proposal.member, proposal.node, world.context.calculator
    assert member is not None
    assert node is not None
    partition, given_up = node.partition, world.context.none()
    for container in released:
        given_up = plus(given_up, container.demand)
    limit = member.leaf.users.limit(member.user, partition, within=proposal.within)
    user = member.leaf.users.users.get(member.user)
    if user is None or calculator.more(world.context.total, minus(user.usage.used(partition), given_up), limit):
        return False
    net: Vector = minus(proposal.demand, given_up)
    for queue in member.leaf.chain:
        most = queue.share(partition).maximum if proposal.within else world.context.of(partition)
        if not calculator.fits(plus(queue.usage.used(partition), net), most):
            return False
    return True


def _apply(world: CapacityWorld, proposal: Proposal, released: list[Container], *, again: bool) -> None:
    member, node, key, held = proposal.member, proposal.node, proposal.key, proposal.held
    assert member is not None
    assert node is not None
    assert key is not None
    container = held
    if container is None:
        member.numbers += 1
        container = Container(member, node, key, proposal.demand, member.numbers)
        ask = member.requests.ask(key, ANY)
        container.partition = ask.partition if ask is not None else ""
    if proposal.outcome is Outcome.HELD:
        hold(world, member, node, key, container, again=again)
        if again:
            return
    else:
        if held is not None:
            let_go(member, held)
        member.containers[container] = None
        member.peak = max(member.peak, len(member.containers))
        container.since = world.now
        given(member, key, _places(proposal))
        member.usage.change(node.partition, "used", proposal.demand if world.as_hadoop else container.demand)
        member.count += 1
        container.ordinal = member.count
        container.master = member.managed and member.count == 1
        node.put(container)
        world.effects.append(Placed(container))
    for other in released:
        _release(world, proposal, other)
    if held is None:
        charge(world, container)
        if proposal.outcome is Outcome.HELD:
            count_hold(member.leaf, container)


def _release(world: CapacityWorld, proposal: Proposal, container: Container) -> None:
    """Let go of a hold of the same leaf, or end a container of another one."""
    assert proposal.member is not None
    if owner(container).leaf is not proposal.member.leaf:
        end(world, container, Cause.PREEMPTED)
    elif _is_hold(container):
        end(world, container, Cause.ABORTED)
