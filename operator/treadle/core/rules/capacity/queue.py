"""A queue of the capacity discipline and its applications: its shares of every partition, its usage, and, in a leaf, its users (Hadoop's ``AbstractCSQueue``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from treadle.core.model.capacity import CapacityQueueSpec, ManagedCreation, PartitionShare
from treadle.core.rules.capacity.context import ANY_PARTITION, DEFAULT, Context
from treadle.core.rules.capacity.share import Share
from treadle.core.rules.capacity.usage import Usage
from treadle.core.rules.capacity.users import User, Users
from treadle.core.units.amounts import add_to, take_from
from treadle.core.units.resources import Vector

RUNNING, DRAINING, STOPPED = "RUNNING", "DRAINING", "STOPPED"


class CapacityApplication:
    """Who asks, in which leaf, how urgently; ``order`` counts submissions.

    ``partition`` is the one that it was submitted for as a whole. ``ranked_usage`` and ``ranked_pending`` are the memory by which
    a fair leaf last ranked it. ``headroom_from`` is where its headroom was last looked at.
    """

    def __init__(self, name: str, user: str, leaf: CapacityQueue, order: int, priority: int) -> None:
        self.name, self.user, self.leaf, self.order, self.priority = name, user, leaf, order, priority
        self.start = float(order)
        self.usage = Usage(leaf.context.width)
        self.master_demand: Vector = list(leaf.context.least)
        self.master_partition = ""
        self.partition = ""
        self.ranked_usage = 0
        self.ranked_pending = 0
        self.headroom_from: tuple[CapacityQueue, User] | None = None

    def reserved(self, partition: str) -> Vector:
        """Return what is held for it in a partition, to read."""
        found = self.usage.partitions.get(partition)
        return [0] * self.usage.width if found is None else found.reserved


InOrder = Callable[[Sequence[CapacityApplication]], Sequence[CapacityApplication]]


def by_submission(applications: Sequence[CapacityApplication]) -> list[CapacityApplication]:
    """Return applications in the order of their submission."""
    return sorted(applications, key=lambda one: one.start)


class Entitling(Protocol):
    """What a managed parent gives to the leaves that it made (``auto.managed.Entitlements``)."""

    creation: ManagedCreation

    def amount(self, partition: str) -> Vector:
        """Return what a leaf with capacity has of a partition."""

    def missing_room(self) -> bool:
        """Whether one more leaf would have more than there is, all leaves counted."""

    def empty(self, leaf: CapacityQueue) -> None:
        """Let a leaf have nothing for now."""

    def settle(self, leaf: CapacityQueue) -> None:
        """Give a new leaf capacity, if there is some left."""

    def take_over(self, creation: ManagedCreation) -> None:
        """Put another template in force. Raises ``Refused``."""

    def restart(self, in_order: InOrder = ...) -> None:
        """Forget which leaves have capacity and give it anew. Raises ``Refused``."""

    def round(self, in_order: InOrder = ...) -> None:
        """Take capacity from leaves without applications and give it to others. Raises ``Refused``, and then nothing changed."""


class CapacityQueue:
    """A queue. ``parental``: it is for child queues; otherwise it is a leaf with applications.

    Of a leaf, ``active`` applications may have containers, ``pending`` ones wait for room for their masters, and ``waiting`` ones
    for a limit on parallel applications. ``limit`` is what the parents last left to it; ``told_limit`` is the one that headrooms
    are made from.

    ``held`` is what is held in the default partition for the applications that are in the queue now or below it.

    ``dynamic``: it was made because an application asked for it, and goes when no application uses it. ``entitled``: it is a leaf
    that a managed parent made, which has ``entitlements``; ``bare``: nothing that is said of others is for it; what is
    ``imposed`` on it stands for its definition where legacy mode is off. ``last_submitted`` is when it was last used; for a
    parent, when a child was made.
    """

    def __init__(self, name: str, parent: CapacityQueue | None, context: Context, *, parental: bool) -> None:
        self.name, self.parent, self.context, self.parental = name, parent, context, parental
        self.path: str = name if parent is None else f"{parent.path}.{name}"
        self.children: list[CapacityQueue] = []
        self.spec = CapacityQueueSpec(self.path)
        self.shares: dict[str, Share] = {}
        self.usage = Usage(context.width)
        self.held: Vector = context.none()
        self.state = ""
        self.kind = "PERCENTAGE"
        self.configured: tuple[str, ...] = (DEFAULT,)
        self.accessible: frozenset[str] = frozenset({ANY_PARTITION})
        self.default_partition: str | None = None
        self.max_allocation: Vector = list(context.most)
        self.priority = 0
        self.order = "utilization"
        self.disable_preemption = False
        self.disable_intra_preemption = False
        self.user_weights: dict[str, float] = {}
        self.max_running = 0
        self.running_below = 0
        self.applications_below = 0
        self.max_lifetime = -1.0
        self.default_lifetime = -1.0
        self.default_lifetime_set = False
        self.declared = True
        """Whether it was built from its definition, not put in beside those that were."""
        self.dynamic = False
        self.entitled = False
        self.bare = False
        self.entitlements: Entitling | None = None
        self.imposed: dict[str, PartitionShare] = {}
        self.last_submitted = float("-inf")
        self.killable: dict[str, dict[object, Vector]] = {}
        self._killable_sums: dict[str, Vector] = {}
        # of a leaf
        self.user_limit = 100.0
        self.user_limit_factor = 1.0
        self.max_applications = 0
        self.max_applications_of_user = 0
        self.allocation_factor = 0.0
        self.default_application_priority = 0
        self.active: list[CapacityApplication] = []
        self.pending: list[CapacityApplication] = []
        self.waiting: list[CapacityApplication] = []
        self.runnable: list[CapacityApplication] = []
        self.unsorted: dict[str, CapacityApplication] = {}
        self.lent: dict[str, dict[object, None]] = {}
        self.last_total: Vector = list(context.total)
        self.limit: Vector = list(context.total)
        self.told_limit: Vector = list(context.total)
        self.users = Users(self)

    def become_parent(self) -> None:
        """Let a leaf be for child queues."""
        self.parental = True
        self.order = self.parent.order if self.parent is not None else "utilization"
        self.max_applications = self.max_applications_of_user = 0

    @property
    def below(self) -> Sequence[CapacityQueue]:
        """The child queues."""
        return self.children

    @property
    def chain(self) -> Iterator[CapacityQueue]:
        """The queue and those above it, the root last."""
        at: CapacityQueue | None = self
        while at is not None:
            yield at
            at = at.parent

    def walk(self) -> Iterator[CapacityQueue]:
        """The queue and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def share(self, partition: str) -> Share:
        """Return what the queue has of a partition, to read; nothing of one that it has no share of."""
        found = self.shares.get(partition)
        if found is None:
            found = Share(self.context.width)
        return found

    def own(self, partition: str) -> Share:
        """Return what the queue has of a partition, to change."""
        found = self.shares.get(partition)
        if found is None:
            found = self.shares[partition] = Share(self.context.width)
        return found

    def may_use(self, partition: str) -> bool:
        """Whether the queue can have anything of a partition by its own right; the default partition is every queue's."""
        return partition == DEFAULT or ANY_PARTITION in self.accessible or partition in self.accessible

    @property
    def allow_zero_sum(self) -> bool:
        """Whether children may have no capacity at all although the queue has some."""
        return bool(self.spec.allow_zero_sum)

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is taken from an application for another one of the same leaf."""
        return self.disable_intra_preemption or self.disable_preemption

    def maximum_down(self, partition: str) -> Vector:
        """Return the maximum in whole steps."""
        return self.context.calculator.round_down(self.share(partition).maximum, self.context.least)

    def killable_amount(self, partition: str) -> Vector:
        """Return how much of what is used may be ended at any time (lazy preemption)."""
        return list(self._killable_sums.get(partition) or self.context.none())

    def note_killable(self, partition: str, container: object, amount: Sequence[int]) -> None:
        """Note that a container may be ended at any time; Hadoop counts one again that is noted again."""
        noted = self.killable.setdefault(partition, {})
        if container not in noted or self.context.as_hadoop:
            add_to(self._killable_sums.setdefault(partition, self.context.none()), amount)
        noted[container] = list(amount)

    def forget_killable(self, partition: str, container: object) -> None:
        """Forget a container that might be ended at any time."""
        amount = self.killable.get(partition, {}).pop(container, None)
        if amount is not None:
            take_from(self._killable_sums[partition], amount)

    @property
    def applications(self) -> int:
        """How many applications are in the queue or below it, whatever they wait for."""
        return len(self.active) + len(self.pending) + len(self.waiting) if not self.parental else self.applications_below

    def partitions_of_masters(self) -> list[str]:
        """Return the partitions for which the leaf has limits on masters."""
        if ANY_PARTITION in self.accessible:
            found = dict.fromkeys([*self.shares, *self.usage.partitions])
        else:
            found = dict.fromkeys(self.accessible)
        found.setdefault(DEFAULT)
        return list(found)

    def update_statistics(self, partition: str | None = None) -> None:
        """Compute which parts of its capacity and of the partitions are used; they decide the order of siblings."""
        calculator = self.context.calculator
        for name in [partition] if partition is not None else dict.fromkeys([*self.shares, *self.usage.partitions]):
            share, total = self.own(name), self.context.of(name)
            share.used_capacity = share.absolute_used = 0.0
            if calculator.positive(total, total):
                used = self.usage.used(name)
                capacity = calculator.larger(total, self._ranked_by(name, share), self.context.least)
                share.absolute_used = calculator.divide(total, used, total)
                share.used_capacity = calculator.divide(total, used, capacity)

    def _ranked_by(self, partition: str, share: Share) -> Vector:
        """Return what the used part is of: the amount in force, or, of a leaf that was given nothing, what its template has."""
        entitlements = self.parent.entitlements if self.parent is not None and self.entitled else None
        if entitlements is None or share.absolute:
            return share.minimum
        return entitlements.amount(partition)

    def __repr__(self) -> str:
        return f"CapacityQueue({self.path})"
