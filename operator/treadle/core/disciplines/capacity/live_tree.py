"""The tree of capacities beside the live tree: made anew when definitions change, brought up to date when the cluster does.

The live queues keep usage, order and limits; the tree of capacities says what they are due, may have at most, and how much of
that a user may have. Both share the vectors of what is used, so there is nothing to copy while pods are placed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.application_partition import enforces
from treadle.core.disciplines.capacity.applications import most_of
from treadle.core.disciplines.capacity.definitions import alike, specs_of
from treadle.core.disciplines.capacity.made_queues import entitle, graft_all
from treadle.core.disciplines.capacity.quota import Bounds, UserQuota, quota_of
from treadle.core.disciplines.capacity.ranks import QueueRank, applications_of, queues_by_use
from treadle.core.errors import InvalidSpec
from treadle.core.kernel.pods.device_charges import NOBODY, to_share
from treadle.core.kernel.tree.limits import Had
from treadle.core.kernel.tree.partitions import partition_of
from treadle.core.rules.capacity.context import DEFAULT, Context
from treadle.core.rules.capacity.edits import Edited
from treadle.core.rules.capacity.effective import update_edited
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.units.resources import UNBOUNDED, Vector, extend

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.model import QueueSpec
    from treadle.core.model.capacity import CapacityQueueSpec
    from treadle.core.rules.capacity.queue import CapacityQueue


class LiveCapacityTree:
    """The capacities of a tree in force.

    ``of`` is by the path of a queue, ``bounds`` by the path of a leaf and then by partition.
    """

    def __init__(self, state: State, before: LiveCapacityTree | None = None) -> None:
        self.context = Context(state.types, state.scheduler.capacity)
        self.context.lenient = True
        self.alike = False
        """Whether all queues share alike, since their definitions do not go together."""
        self.defined: dict[CapacityQueue, None] = {}
        """Queues that were made, or defined anew, since it was last computed what queues get."""
        self.redefined: dict[CapacityQueue, None] = {}
        """Queues that were defined anew since applications were last looked at for that."""
        self.sharing: dict[CapacityQueue, None] = {}
        """Parents whose children share anew since then."""
        self.given: dict[Queue, Had] = {}
        """Live queues that were given limits since that was last asked, and what they had before."""
        self.numbers: dict[str, tuple[bool, int]] = {}
        """The places of queues among their siblings: those without a definition come last."""
        self._numbered = 0
        self.managed: dict[CapacityQueue, None] = {}
        """The managed parents."""
        self._lifetimes: bool | None = None
        try:
            self.tree = CapacityTree(self._specs(state), self.context)
        except InvalidSpec as error:
            # an edit that was refused for another reason keeps what does not go with its siblings' new capacities
            state.discipline_problem = f"all queues share alike, since the capacities in force do not go together: {error}"
            self.tree = CapacityTree(specs_of({path: alike(path) for path in state.tree.queues}), self.context)
            self.alike = True
        self.undecided = graft_all(self.tree, state, {} if before is None else before.of)
        """Whether who has capacity below managed parents is still to be decided."""
        self.of: dict[str, CapacityQueue] = self.tree.queues()
        for capacity in self.of.values():
            self.number(capacity)
        self.enforcing = any(enforces(queue.spec) for queue in self.of.values())
        """Whether any leaf keeps partitions apart."""
        self.bounds: dict[str, dict[str, Bounds]] = {}
        for queue in state.tree.everywhere():
            self.of[queue.path].usage.of(queue.partition).used = queue.usage
        parts = [part for application in state.applications.values() for part in application.everywhere()]
        for part in parts:
            part.quota = None
        for part in parts:
            self.arrive(part)

    @staticmethod
    def _specs(state: State) -> dict[str, CapacityQueueSpec]:
        declared = [queue for queue in state.tree.queues.values() if queue.defined and not queue.dynamic]
        return specs_of({queue.path: of_leaf(queue.spec) if queue.leaf else queue.spec for queue in declared})

    def close(self) -> None:
        """Let go of everything: there is another tree of capacities now, or none."""
        self.tree.give_up()

    def follow(self, state: State) -> None:
        """Compute what every queue is due in the cluster of now, and give the live queues their limits and orders."""
        context = self.context
        context.total = list(state.cluster.total)
        context.partitions = sizes(state)
        context.largest = list(context.most)
        self.tree.follow()
        self.defined, self.sharing, self.given = {}, {}, {}
        if self.undecided:
            self.undecided = False
            entitle(state, self.tree)
        for queue in state.tree.everywhere():
            self.apply(queue, self.of[queue.path], state)

    def outdated(self, state: State) -> bool:
        """Whether partitions have other sizes than what is due was computed for, though the cluster may be as large as before."""
        return self.context.partitions != sizes(state)

    def adopt(self, part: Queue, state: State) -> None:
        """Give a queue's part in a partition, which was just made, its limits."""
        capacity = self.of[part.path]
        capacity.usage.of(part.partition).used = part.usage
        self.apply(part, capacity, state)

    def forget(self, path: str, partition: str) -> None:
        """Forget what a queue's part in a partition, which is no more, may have there."""
        self.bounds.get(path, {}).pop(partition, None)
        self.of[path].usage.partitions.pop(partition, None)

    def number(self, queue: CapacityQueue) -> None:
        """Take a queue in, after the siblings that are there already and are declared, or made, like itself."""
        if queue.entitlements is not None:
            self.managed[queue] = None
        self._lifetimes = True if _ends(queue) else self._lifetimes
        self._numbered += 1
        self.numbers[queue.path] = (not queue.declared, self._numbered)

    def drop(self, path: str) -> None:
        """Forget a queue that is no more."""
        gone = self.of.pop(path, None)
        if gone is not None:
            self.managed.pop(gone, None)
            self._lifetimes = None if _ends(gone) else self._lifetimes
        self.numbers.pop(path, None)
        self.bounds.pop(path, None)

    @property
    def lifetimes(self) -> bool:
        """Whether applications of any queue have a lifetime."""
        if self._lifetimes is None:
            self._lifetimes = any(_ends(queue) for queue in self.of.values())
        return self._lifetimes

    def defined_anew(self, edited: Edited) -> None:
        """Take note of queues that came or have other definitions: what is due is to be computed for them, and for those who share with them."""
        self.defined.update(edited.defined)
        self.sharing.update(edited.sharing)
        self.redefined.update(edited.defined)
        self._lifetimes = None

    def share_anew(self, state: State) -> None:
        """Compute what is due to queues that came or were defined anew, to their siblings and to all below them, and give the live queues their limits."""
        edited = Edited(self.defined, self.sharing)
        updated = update_edited(edited.parents, self.defined, self.sharing)
        for capacity in updated:
            live = state.tree.queues[capacity.path]
            for queue in (live, *live.parts.values()):
                self.given.setdefault(queue, Had.of(queue))
                self.apply(queue, capacity, state, ranks=capacity in self.defined)
        self.defined, self.sharing = {}, {}

    def take_given(self) -> dict[Queue, Had]:
        """Return the live queues that were given limits since the last time, and what they had before."""
        given, self.given = self.given, {}
        return given

    def apply(self, queue: Queue, capacity: CapacityQueue, state: State, *, ranks: bool = True) -> None:
        """Give one live queue its limits, its place among its siblings, and, if ``ranks``, the order of what is below it.

        A maximum of the whole partition is none: who waits then waits for nodes.
        """
        partition = queue.partition
        share, total = capacity.share(partition), self.context.of(partition)
        counted = self.context.calculator.deciding
        queue.minimum = list(share.minimum)
        root = queue.parent is None
        queue.maximum = [
            most if at in counted and most < total[at] and not root else UNBOUNDED for at, most in enumerate(share.maximum)
        ]
        extend(queue.maximum, state.types.width, UNBOUNDED)
        queue.limited = any(value < UNBOUNDED for value in queue.maximum)
        queue.zero = tuple(at for at, value in enumerate(queue.maximum) if not value)
        queue.largest = list(capacity.max_allocation) if any(value < UNBOUNDED for value in capacity.max_allocation) else None
        if not partition:
            queue.max_running = most_of(capacity, queue.spec.max_running)
        queue.queue_rank = QueueRank(capacity, partition, self.numbers[queue.path])
        leaf = queue.whole.leaf  # a part is made before those below it
        if ranks:
            queue.rank = applications_of(capacity) if leaf else queues_by_use(capacity)  # type: ignore[assignment]
        if leaf:
            bounds = self.bounds.setdefault(queue.path, {})[partition] = Bounds(capacity, partition)
            for application in queue.applications.values():
                quota = quota_of(application)
                if quota is not None:
                    quota.take(bounds)

    def arrive(self, application: Application) -> None:
        """Open the quota of an application that came into a leaf, with what it holds already."""
        queue = application.queue
        if queue is None:
            return
        leaf = self.of[queue.path]
        partition = application.partition
        known = self.bounds.setdefault(queue.path, {})
        bounds = known.get(partition)
        if bounds is None:
            bounds = known[partition] = Bounds(leaf, partition)
        quota = application.quota = UserQuota(application, leaf, partition, bounds)
        for vector, amounts in ((quota.used, application.usage), (quota.masters, application.master_usage())):
            for at, value in enumerate(amounts):
                vector[at] += value
        quota.touched[quota.user] = None
        application.ledgers = (application.usage, *(above.usage for above in application.chain), quota.used)

    def leave(self, application: Application) -> None:
        """Close the quota of an application that leaves its leaf with all it holds."""
        quota = quota_of(application)
        if quota is None:
            return
        for vector, amounts in ((quota.used, application.usage), (quota.masters, application.master_usage())):
            for at, value in enumerate(amounts):
                vector[at] -= value
        quota.touched[quota.user] = None
        quota.close()
        application.quota = None


def _ends(queue: CapacityQueue) -> bool:
    return queue.max_lifetime > 0 or queue.default_lifetime > 0


def of_leaf(spec: QueueSpec) -> QueueSpec:
    """Return what a definition means while its queue is a leaf: one that is to make queues makes none before its applications have left."""
    given = spec.capacity
    if given is None or not (given.flexible.enabled or given.managed is not None):
        return spec
    return replace(spec, capacity=replace(given, flexible=replace(given.flexible, enabled=False), managed=None))


def sizes(state: State) -> dict[str, Vector]:
    """Return what each partition has to share: what its nodes have, less what others' pods take of it."""
    width = state.types.width
    found: dict[str, Vector] = {name: [0] * width for name in (DEFAULT, *state.scheduler.capacity.partitions)}
    if not state.tree.roots and not any(_labelled(state)):
        return {**found, DEFAULT: list(state.cluster.total)}
    for row in range(len(state.nodes)):
        total = found.setdefault(partition_of(state, row), [0] * width)
        for at, value in enumerate(state.nodes.to_share(row)):
            total[at] += value
    devices: dict[str, dict[int, int]] = {}
    for row, counts in to_share(state).items():
        of_partition = devices.setdefault(DEFAULT if row == NOBODY else partition_of(state, row), {})
        for at, value in counts.items():
            of_partition[at] = of_partition.get(at, 0) + value
    for name, counts in devices.items():
        total = found.setdefault(name, [0] * width)
        for at, value in counts.items():
            total[at] += max(0, value)
    return found


def _labelled(state: State) -> Iterable[bool]:
    label = state.scheduler.partition_label
    return (bool(spec.labels.get(label)) for spec in state.nodes.specs if spec is not None)
