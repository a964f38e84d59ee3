"""What a round of live preemption starts from: the tree of capacities with what is held and asked at this moment, partition by partition.

The computation of ideal shares is that of ``rules.capacity.preemption``. What is on its way out is counted as gone, and what is
held for an application as had, so that a round never asks twice for the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.rules.capacity.preemption.snapshot import Round, TempQueue, begin
from treadle.core.rules.capacity.queue import CapacityApplication
from treadle.core.units.amounts import add_to, minus, most, take_from

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.preemption.search import Search
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.units.resources import Demand, Vector


class Member(CapacityApplication):
    """An application of the live tree as the computation of ideal shares sees it."""

    def __init__(self, application: Application, capacities: LiveCapacityTree, order: int) -> None:
        assert application.queue is not None
        leaf = capacities.of[application.queue.path]
        super().__init__(application.id, application.user, leaf, order, urgency(application, capacities))
        self.application = application
        self.start = application.start
        self.awaits_master = False
        self.master_demand = application.master_usage()
        for part in application.everywhere():
            amounts = self.usage.of(part.partition)
            amounts.used = list(part.usage)
            amounts.pending = pending(part)

    def part(self, partition: str) -> Application | None:
        """Return what the application is in a partition, if anything."""
        return next((one for one in self.application.everywhere() if one.partition == partition), None)

    def asks(self, partition: str) -> list[tuple[Demand, int]]:
        """Return what it asks for in a partition, (demand, number of pods) in its order."""
        part = self.part(partition)
        return [] if part is None else [found for ask in sorted(part.asks.values()) for found in ask.charged]


def urgency(application: Application, capacities: LiveCapacityTree) -> int:
    """Return an application's priority: its own or its queue's default, at most the ceiling."""
    assert application.queue is not None
    leaf = capacities.of[application.queue.path]
    return min(application.priority or leaf.default_application_priority, capacities.context.settings.max_priority)


def pending(part: Application) -> Vector:
    """Return what an application asks for in one partition."""
    total = [0] * len(part.usage)
    for ask in part.asks.values():
        ask.add_to(total)
    return total


def take_snapshot(state: State, capacities: LiveCapacityTree, search: Search) -> Round:
    """Take the snapshots of a round."""
    context = capacities.context
    applications = sorted(state.applications.values(), key=lambda one: (one.start, one.id))
    for leaf in capacities.of.values():
        leaf.active = []
    for order, application in enumerate(applications):
        if application.queue is not None and application.busy:
            member = Member(application, capacities, order)
            member.leaf.active.append(member)
    for queue in capacities.of.values():
        queue.update_statistics()
        if not queue.parental:
            for partition in context.partitions:
                queue.users.follow(partition)
    paths = [path for path, queue in capacities.of.items() if not queue.parental]
    found = begin(capacities.tree.root, [], paths, state.now, counts_pending=False)
    for partition in found.partitions:
        _pend(found.roots[partition], partition)
    for hold in state.preemption.holds:
        if not hold.without_victims:
            _adjust(found, hold.application.chain, search.charged_of(hold.shape), arrives=True)
    for owner, amounts in search.going.items():
        _adjust(found, owner.chain, amounts, arrives=False)
    return found


def _pend(queue: TempQueue, partition: str) -> tuple[Vector, Vector]:
    """Let what is asked for be whole pods, as many as users may have: one that is below the limit may have one more, as when pods are placed."""
    if queue.queue.parental:
        for at in range(len(queue.pending)):
            queue.pending[at] = queue.pending_now[at] = 0
        for child in queue.children:
            add_to(queue.pending, _pend(child, partition)[0])
        queue.pending_now = list(queue.pending)
        return queue.pending, queue.pending_now
    leaf, counted = queue.queue, queue.queue.context.calculator.deciding
    room: dict[str, Vector] = {}
    total = [0] * len(queue.pending)
    for member in leaf.active:
        assert isinstance(member, Member)
        if member.user not in room:
            room[member.user] = minus(_limit(member, partition), leaf.users.user(member.user).usage.used(partition))
        left = room[member.user]
        for demand, count in member.asks(partition):
            fit = min([count, *(left[at] // value + 1 for at, value in demand if at in counted)])
            for at, value in demand:
                total[at] += value * max(fit, 0)
                left[at] -= value * max(fit, 0)
    queue.pending, queue.pending_now = total, list(total)
    return queue.pending, queue.pending_now


def _limit(member: Member, partition: str) -> Vector:
    """Return what a member's user may hold: who is alone has no limit but the cap, since the limit follows what the user holds."""
    users = member.leaf.users
    limit = list(users.limit(member.user, partition))
    part = member.part(partition)
    quota = None if part is None else quota_of(part)
    if quota is not None and list(users.active) == [member.user]:
        for at, most in quota.cap:
            limit[at] = most
    return limit


def _adjust(round_: Round, chain: tuple[Queue, ...], amounts: Vector, *, arrives: bool) -> None:
    none = [0] * len(amounts)
    for queue in chain:
        at = round_.queues.get((queue.path, queue.partition))
        if at is None:
            continue
        if arrives:
            add_to(at.used, amounts)
            for waiting in (at.pending, at.pending_now):
                take_from(waiting, amounts)
                waiting[:] = most(waiting, none)
        else:
            take_from(at.used, amounts)
