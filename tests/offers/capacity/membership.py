"""How applications enter, leave and change leaves: limits on their number, the wait for parallel ones, the start of masters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from offers.capacity import accounts
from offers.capacity.member import Member
from treadle.core.rules.capacity import states
from treadle.core.rules.capacity.am_share import start_applications, stop
from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.queue import RUNNING, CapacityQueue

if TYPE_CHECKING:
    from offers.capacity.world import CapacityWorld
    from offers.nodes import Container


def closed(leaf: CapacityQueue, user: str) -> str:
    """Say why a leaf does not take one more application of a user."""
    if leaf.state != RUNNING:
        return f"{leaf.path} is {leaf.state}"
    if not leaf.entitled and leaf.applications >= leaf.max_applications:
        return f"{leaf.path} has {leaf.applications} applications, which is its limit"
    if not leaf.entitled and leaf.users.user(user).applications >= leaf.max_applications_of_user:
        return f"{user} has {leaf.users.user(user).applications} applications in {leaf.path}, which is the limit"
    closed = next((above for above in leaf.chain if above.state != RUNNING), None)
    return f"{closed.path} is {closed.state}" if closed is not None else ""


def count(leaf: CapacityQueue) -> None:
    """Count one more application above a leaf."""
    for above in list(leaf.chain)[1:]:
        above.applications_below += 1


def uncount(leaf: CapacityQueue) -> None:
    """Count one application less above a leaf; whoever drains may be stopped now."""
    states.left(leaf)
    for above in list(leaf.chain)[1:]:
        above.applications_below -= 1
        states.left(above)


def submit(world: CapacityWorld, leaf: CapacityQueue, member: Member, *, runs: bool) -> None:
    """Let an application into a leaf; one that may not run yet waits."""
    member.runnable = runs
    if runs:
        world.running.run(leaf, member)
    else:
        world.running.wait(member)
    enter(leaf, member)


def enter(leaf: CapacityQueue, member: Member) -> None:
    """Let an application wait in a leaf for what it lacks to run."""
    leaf.users.user(member.user)
    if member.runnable:
        admit(leaf, member, member.user)
    else:
        leaf.waiting.append(member)


def admit(leaf: CapacityQueue, member: Member, user: str) -> None:
    """Let a runnable application wait for room for its master."""
    leaf.users.user(user).pending += 1
    leaf.runnable.append(member)
    if member not in leaf.pending:
        leaf.pending.append(member)
    if leaf.context.calculator.positive(leaf.last_total, leaf.last_total):
        start_applications(leaf)


def leave(leaf: CapacityQueue, member: Member) -> None:
    """Take an application out of its leaf; others may start."""
    user = leaf.users.user(member.user)
    if member in leaf.active:
        stop(leaf, member)
        user.active -= 1
    else:
        if member in leaf.pending:
            leaf.pending.remove(member)
        if member.runnable or leaf.context.as_hadoop:
            user.pending -= 1
    if member in leaf.waiting:
        leaf.waiting.remove(member)
    if member in leaf.runnable:
        leaf.runnable.remove(member)
    leaf.unsorted.pop(member.name, None)
    if user.applications == 0:
        leaf.users.forget(member.user)
    start_applications(leaf)


def move(world: CapacityWorld, member: Member, source: CapacityQueue, target: CapacityQueue) -> None:
    """Take an application with all that it has from one leaf to another, in Hadoop's order. A fair leaf ranks it as the one before did."""
    count(target)
    held = member.all_holds()
    for container in [*member.containers, *held]:
        accounts.detach(member, container)
        accounts.attach(world, target, container)
        if not world.as_hadoop and container in container.node.killable:
            accounts.forget_killable(source, container)
            accounts.note_killable(target, container)
    for container in held:
        _move_hold(container, source, target, sums=not world.as_hadoop)
    leave(source, member)
    if member.runnable:
        _move_count(world, member, source, target)
    member.leaf = target
    enter(target, member)
    for partition, amounts in member.usage.partitions.items():
        for queue, less in ((source, True), (target, False)):
            for above in queue.chain if any(amounts.pending) else ():
                above.usage.change(partition, "pending", amounts.pending, less=less)
    source.users.satisfied(member.user, member.name)
    if member.requests.keys:
        target.users.wants(member.user, member.name)
    uncount(source)


def _move_hold(container: Container, source: CapacityQueue, target: CapacityQueue, *, sums: bool) -> None:
    """Count a hold in another leaf. Without ``sums``, as in Hadoop, it is only known there, and by what was asked for instead of by its node."""
    if sums:
        accounts.count_hold(source, container, less=True)
        accounts.count_hold(target, container)
    elif container.partition == DEFAULT:
        accounts.note_held(source, container, less=True)
        accounts.note_held(target, container)


def _move_count(world: CapacityWorld, member: Member, source: CapacityQueue, target: CapacityQueue) -> None:
    """Count a runnable application in another leaf. Hadoop leaves the queues above both as they are."""
    world.running.stop(source, member)
    world.running.run(target, member)
    if world.as_hadoop:
        for leaf, number in ((source, 1), (target, -1)):
            for above in list(leaf.chain)[1:]:
                above.running_below += number


def waiting(queue: object, /) -> list[Member]:
    """Return the applications of a leaf that may not run yet."""
    assert isinstance(queue, CapacityQueue)
    return [member for member in queue.waiting if isinstance(member, Member)]


def promote(world: CapacityWorld, candidates: Iterable[Member], limit: int | None) -> None:
    """Let those run that may, up to a number of them."""
    running, done = world.running, list[Member]()
    for member in candidates:
        leaf = member.leaf
        if running.obstacle(leaf, member.user) is not None:
            continue
        running.run(leaf, member)
        member.runnable = True
        admit(leaf, member, member.user)
        done.append(member)
        if limit is not None and len(done) >= limit:
            break
    for member in done:
        member.leaf.waiting.remove(member)
        running.forget(member)
