"""The tree at the beginning of a round, once for each partition (Hadoop's ``TempQueuePerPartition``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.core.rules.capacity.context import DEFAULT, Context
from treadle.core.rules.capacity.ordering import BY_PRIORITY
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.units.amounts import least, minus, most, take_from
from treadle.core.units.resources import Vector


class Victim(Protocol):
    """A container that may be taken, or a hold. ``key`` is what it was asked under; larger ones are less urgent."""

    demand: Sequence[int]
    key: Any
    sequence: int
    master: bool
    partition: str
    since: float
    node: Any
    owner: Any


class TempQueue:
    """A queue in one partition.

    ``ideal`` is what it should have, ``to_take`` what it has too much, ``obtain`` what is left of that to be taken.
    """

    def __init__(
        self, queue: CapacityQueue, parent: TempQueue | None, partition: str, *, exclusive: bool, counts_pending: bool
    ) -> None:
        context = queue.context
        share, total = queue.share(partition), context.of(partition)
        self.queue, self.parent, self.partition, self.total = queue, parent, partition, total
        self.children: list[TempQueue] = []
        self.absolute = share.absolute
        self.used: Vector = list(queue.usage.used(partition))
        self.reserved: Vector = list(queue.usage.see(partition).reserved)
        self.killable = queue.killable_amount(partition)
        self.guaranteed = list(share.minimum) if any(share.minimum) else context.calculator.times(total, share.absolute)
        absolute_maximum = share.absolute_maximum if exclusive else 1.0
        self.maximum = list(share.maximum) if any(share.maximum) else context.calculator.times(total, absolute_maximum)
        self.protected = queue.disable_preemption
        self.priority = queue.priority if parent is not None and parent.queue.order == BY_PRIORITY else 0
        self.pending, self.pending_now = context.none(), context.none()
        self.untouchable, self.preemptable = context.none(), context.none()
        self.ideal, self.to_take, self.obtain = context.none(), context.none(), context.none()
        self.normalized: list[float] = [0.0] * context.width
        self.applications: list[Any] = []
        self.users: dict[str, Any] = {}
        if counts_pending and not queue.parental:
            self.pending = pending_of_users(queue, partition, without_held=False)
            self.pending_now = pending_of_users(queue, partition, without_held=True)
        for child in queue.children:
            found = TempQueue(child, self, partition, exclusive=exclusive, counts_pending=counts_pending)
            self.children.append(found)
            for position in range(context.width):
                self.pending[position] += found.pending[position]
                self.pending_now[position] += found.pending_now[position]

    @property
    def path(self) -> str:
        """The path of the queue."""
        return self.queue.path

    def walk(self) -> list[TempQueue]:
        """Return the queue and all below it."""
        return [self, *(found for child in self.children for found in child.walk())]


def pending_of_users(leaf: CapacityQueue, partition: str, *, without_held: bool) -> Vector:
    """Return what the active applications of a leaf ask for, as far as their users may have it."""
    room: dict[str, Vector] = {}
    total = leaf.context.none()
    for application in leaf.active:
        user = application.user
        if user not in room:
            used = leaf.users.user(user).usage.used(partition)
            room[user] = most(minus(leaf.users.limit(user, partition), used), leaf.context.none())
        amounts = application.usage.see(partition)
        asked = minus(amounts.pending, amounts.reserved) if without_held else amounts.pending
        found = least(room[user], most(asked, leaf.context.none()))
        for position, value in enumerate(found):
            total[position] += value
        take_from(room[user], found)
    return total


def all_holds(application: Any) -> Sequence[Any]:
    """Return the holds of an application in the order in which it got them."""
    found: Sequence[Any] = application.all_holds()
    return found


@dataclass
class Round:
    """One round: the snapshots, what may still be taken, and what was chosen so far.

    ``underserved`` are leaves and parents that lacked something, by partition.
    """

    context: Context
    partitions: list[str]
    roots: dict[str, TempQueue]
    leaves: list[str]
    budget: Vector
    nodes: list[Any]
    now: float
    chosen: dict[int, Any] = field(default_factory=dict)
    underserved: dict[str, dict[str, None]] = field(default_factory=dict)
    queues: dict[tuple[str, str], TempQueue] = field(default_factory=dict)
    holds_of: Callable[[Any], Sequence[Any]] = all_holds

    def queue(self, path: str, partition: str) -> TempQueue:
        """Return a queue in a partition."""
        return self.queues[path, partition]

    def is_chosen(self, container: Any) -> bool:
        """Whether a container was chosen before."""
        return id(container) in self.chosen

    def choose(self, container: Any) -> None:
        """Choose a container."""
        self.chosen[id(container)] = container

    def lacks(self, queue: TempQueue) -> None:
        """Note a queue that lacked something."""
        self.underserved.setdefault(queue.partition, {})[queue.path] = None


def begin(root: CapacityQueue, nodes: Sequence[Any], leaves: Sequence[str], now: float, *, counts_pending: bool = True) -> Round:
    """Take the snapshots; with ``counts_pending`` what is asked for is counted as Hadoop does, else it is left at nothing for the caller."""
    context = root.context
    settings = context.settings
    partitions = list(dict.fromkeys([*settings.partitions, DEFAULT]))
    roots = {
        name: TempQueue(root, None, name, exclusive=settings.partitions.get(name, True), counts_pending=counts_pending)
        for name in partitions
    }
    budget = context.calculator.times(context.total, context.single(settings.preemption.per_round))
    found = Round(context, partitions, roots, list(leaves), budget, list(nodes), now)
    found.queues = {(queue.path, name): queue for name, each in roots.items() for queue in each.walk()}
    return found
