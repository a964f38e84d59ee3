"""The books: what is given, held and given back is counted with the application, its user and every queue above it.

A hold counts as used with users and queues, exactly as a container does, but not with the application.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from offers.capacity.member import Member
from offers.effects import Cause, Ended
from offers.nodes import Container, NodeManager
from offers.requests import ANY, Ask, Key
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.ordering import rank_anew
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import add_to, take_from

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld


def charge(world: CapacityWorld, container: Container) -> None:
    """Count a container or hold with its user and its queues; a fair leaf ranks the application anew."""
    member = owner(container)
    rank_anew(member.leaf, member)
    attach(world, member.leaf, container)


def attach(world: CapacityWorld, leaf: CapacityQueue, container: Container) -> None:
    """Count a container or hold with its user in a leaf and above it; parents end what may be ended if that puts them over their maximum."""
    member, partition = owner(container), container.node.partition
    for queue in leaf.chain:
        queue.usage.change(partition, "used", container.demand)
        queue.update_statistics(partition)
        if queue is not leaf:
            end_over_maximum(world, queue, partition)
            continue
        if container.partition == DEFAULT and partition != DEFAULT:
            leaf.lent.setdefault(partition, {})[container] = None
        leaf.users.charge(member.user, partition, container.demand)


def give_back(member: Member, container: Container) -> None:
    """Take a container or hold out of the books of its user and its queues, for good."""
    rank_anew(member.leaf, member)
    detach(member, container)
    forget_killable(member.leaf, container)


def note_killable(leaf: CapacityQueue, container: Container) -> None:
    """Note in a leaf and above it that a container may be ended at any time."""
    for queue in leaf.chain:
        queue.note_killable(container.node.partition, container, container.demand)


def forget_killable(leaf: CapacityQueue, container: Container) -> None:
    """Forget in a leaf and above it that a container may be ended at any time."""
    for queue in leaf.chain:
        queue.forget_killable(container.node.partition, container)


def count_again(member: Member, container: Container) -> None:
    """Count a container anew on a node whose size changed, as Hadoop does: where its master runs is what an application is charged for from now on."""
    leaf, partition = member.leaf, container.node.partition
    leaf.users.user(member.user)
    leaf.users.changed()
    for queue in leaf.chain:
        queue.update_statistics(partition)
    if container.master and member.master_partition != partition:
        member.master_partition, member.master_demand = partition, leaf.context.none()


def detach(member: Member, container: Container) -> None:
    """Take a container or hold out of the books of its user and its queues."""
    leaf, partition = member.leaf, container.node.partition
    for queue in leaf.chain:
        queue.usage.change(partition, "used", container.demand, less=True)
        queue.update_statistics(partition)
        if queue is leaf:
            leaf.lent.get(partition, {}).pop(container, None)
            leaf.users.charge(member.user, partition, container.demand, less=True)


def end_over_maximum(world: CapacityWorld, queue: CapacityQueue, partition: str) -> None:
    """End containers that may be ended at any time, while a queue is over its maximum."""
    context = queue.context
    noted = [one for one in queue.killable.get(partition, {}) if isinstance(one, Container)]
    for container in sorted(noted, key=lambda one: (owner(one).order, one.sequence)):
        if not context.calculator.more(context.of(partition), queue.usage.used(partition), queue.share(partition).maximum):
            return
        end(world, container, Cause.PREEMPTED)


def owner(container: Container) -> Member:
    """Return the application of a container."""
    found = container.owner
    assert isinstance(found, Member)
    return found


def hold(world: CapacityWorld, member: Member, node: NodeManager, key: Key, container: Container, *, again: bool) -> None:
    """Hold a node, or keep on holding it."""
    if again:
        member.held_again[key] += 1
        return
    member.held_again[key] = 0
    member.usage.change(node.partition, "reserved", container.demand)
    member.holds.setdefault(key, {})[node] = container
    node.hold = container
    container.since = world.now


def let_go(member: Member, container: Container) -> bool:
    """Take a hold off its node and out of the books of what is held; what it counts as used is the caller's. Returns whether it was held."""
    node, key = container.node, container.key
    holds = member.holds.get(key, {})
    if holds.pop(node, None) is None:
        return False
    if not holds:
        member.holds.pop(key, None)
    member.held_again[key] = 0
    member.usage.change(node.partition, "reserved", container.demand, less=True)
    if node.hold is container:
        node.hold = None
    count_hold(member.leaf, container, less=True)
    return True


def count_hold(leaf: CapacityQueue, container: Container, *, less: bool = False) -> None:
    """Count a hold in the books of what is held in a leaf and above it."""
    for queue in leaf.chain:
        queue.usage.change(container.node.partition, "reserved", container.demand, less=less)
    if container.node.partition == DEFAULT:
        note_held(leaf, container, less=less)


def note_held(leaf: CapacityQueue, container: Container, *, less: bool = False) -> None:
    """Count a hold with those that may be given up for something else below a queue."""
    for queue in leaf.chain:
        (take_from if less else add_to)(queue.held, container.demand)


def end(world: CapacityWorld, container: Container, cause: Cause) -> None:
    """End a container or a hold. Nothing happens the second time."""
    member = owner(container)
    if container.ended or member.gone:
        return
    node = container.node
    if container not in member.containers:
        if let_go(member, container):
            container.ended = True
            give_back(member, container)
        return
    container.ended = True
    del member.containers[container]
    member.usage.change(node.partition, "used", container.demand, less=True)
    node.release(container, by_node=False)
    node.reported.append(container)
    give_back(member, container)
    world.effects.append(Ended(container, cause))


def pend(member: Member, partition: str, demand: Sequence[int], *, less: bool = False) -> None:
    """Count what is asked for with the application and its queues."""
    member.usage.change(partition, "pending", demand, less=less)
    for queue in member.leaf.chain:
        queue.usage.change(partition, "pending", demand, less=less)


def ask(member: Member, key: Key, asks: Sequence[Ask]) -> bool:
    """Replace what an application asks for; returns whether the whole of a key changed. Its user is active while anything is asked for."""
    requests, whole = member.requests, next((each for each in asks if each.place == ANY), None)
    last = requests.ask(key, ANY)
    before = (last.partition, [value * last.count for value in last.demand], last.count) if last is not None else None
    requests.update(key, asks)
    if whole is None:
        return False
    requests.partitions.add(whole.partition)
    count = before[2] if before is not None else 0
    if whole.count <= 0:
        if count >= 0 and not requests.keys:
            member.leaf.users.satisfied(member.user, member.name)
    elif count <= 0:
        member.leaf.users.wants(member.user, member.name)
    if before is not None:
        pend(member, before[0], before[1], less=True)
    pend(member, whole.partition, [value * whole.count for value in whole.demand])
    return True


def given(member: Member, key: Key, places: Sequence[str]) -> None:
    """Count one container of a key as given."""
    whole = member.requests.ask(key, ANY)
    assert whole is not None
    partition, demand = whole.partition, list(whole.demand)
    member.requests.give(key, places)
    pend(member, partition, demand, less=True)
    if not member.requests.keys:
        member.leaf.users.satisfied(member.user, member.name)
