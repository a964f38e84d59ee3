"""The limits of queues as the tree of capacities says, and what else it limits: applications and how long they live."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.applications import ApplicationLimits
from treadle.core.disciplines.capacity.state import capacities_of, capacity_state, make_capacities
from treadle.core.kernel.seam import Running
from treadle.core.kernel.tree.planned import LEAF_ORDERS
from treadle.core.model import QueueSpec
from treadle.core.model.capacity import Capacity, CapacityQueueSpec, Kind, PartitionShare, Portion

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.limits import Had
    from treadle.core.kernel.tree.members import Queue
    from treadle.core.kernel.tree.tree import Settled
    from treadle.core.units.resources import Vector

QUEUES = 250
"""Capacities of so many queues take as long as to let them follow the cluster half as often."""


class CapacityLimits:
    """See ``kernel.seam.Limits``.

    Between a choice of the discipline and the end of the settling that follows there are no capacities.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def interval(self) -> float:
        """Return the update interval, longer with many queues."""
        return self._state.settings.update_interval * (1 + len(self._state.tree.queues) / QUEUES)

    def weight(self, queue: Queue) -> float:
        """Return the part of the default partition that a queue is guaranteed."""
        capacities = self._capacities
        return 1.0 if capacities is None else capacities.of[queue.path].share(queue.partition).absolute

    def due(self, queue: Queue, partition: str = "") -> Vector:
        """Return the guarantee of a queue in a partition."""
        capacities = self._capacities
        return [0] * len(self._state.types) if capacities is None else list(capacities.of[queue.path].share(partition).minimum)

    def promisable(self, queue: Queue) -> tuple[str, ...]:
        """Return the partitions of which the queue's definition says what it has, and the default one."""
        capacities = self._capacities
        if capacities is None:
            return ("",)
        known = capacities.of[queue.path]
        first = known.default_partition or ""
        named = {name for name in ("", *known.configured) if name in {"", first} or known.may_use(name)}
        return tuple(sorted(named | {first}, key=lambda name: (name != first, name)))

    def planned(
        self,
        above: Queue,
        path: str,
        part: float,  # noqa: ARG002 - one protocol for both
        amounts: Mapping[str, Mapping[str, int]],
        *,
        promised: bool,  # noqa: ARG002 - one protocol for both
    ) -> QueueSpec:
        """Return a queue that is guaranteed these amounts; limits on its users and applications are those of the queue above, as in YARN.

        Hadoop guarantees nothing to a queue without memory: where there is none it is one byte.
        """
        said = above.spec.capacity or CapacityQueueSpec(above.path)
        written = self._state.tree.defined.get(above.path, above.spec).capacity
        order = written.order if written is not None and written.order in LEAF_ORDERS else None
        definition = CapacityQueueSpec(
            path,
            partitions={name: _share(mine) for name, mine in amounts.items()},
            user_limit=said.user_limit,
            user_limit_factor=said.user_limit_factor,
            max_applications=self._most_applications(above) if said.max_applications is None else said.max_applications,
            master_share=said.master_share,
            order=order,
            size_based_weight=said.size_based_weight,
        )
        return QueueSpec(path, policy=self._state.tree.policy_below(above) or "drf", capacity=definition)

    def outdated(self) -> bool:
        """Whether a partition has another size than was reckoned with."""
        capacities = self._capacities
        return capacities is not None and capacities.outdated(self._state)

    def apply(self, *, followed: bool) -> None:
        """Let the capacities follow the cluster, which gives all queues their limits; no order depends on demands."""
        state, capacities = self._state, self._capacities
        if capacities is not None and not followed:
            capacities.follow(state)
        state.updates.demands, state.updates.demands_stale = None, False

    def edited(self, settled: Settled) -> dict[Queue, Had]:  # noqa: ARG002 - one protocol for both
        """Return the queues that were given limits when the capacities followed the edits."""
        return capacities_of(self._state).take_given()

    def made(self, queue: Queue) -> None:  # noqa: ARG002 - one protocol for both
        """Make the capacities anew: they may be others in another tree. What comes of them is applied with the next pass."""
        state = self._state
        make_capacities(state)
        state.updates.limits_changed = capacity_state(state).automatic.grown = True

    def part_made(self, part: Queue) -> None:
        """Give a part its limits."""
        if self._capacities is not None:
            self._capacities.adopt(part, self._state)

    def part_gone(self, queue: Queue, partition: str) -> None:
        """Forget the bounds of a part."""
        if self._capacities is not None:
            self._capacities.forget(queue.path, partition)

    def partitions(self) -> Container[str]:
        """Return the partitions whose sizes the capacities were computed for."""
        return self._capacities.context.partitions if self._capacities is not None else ()

    def widened(self) -> None:
        """Make the capacities anew: all their vectors are too short."""
        state = self._state
        if self._capacities is not None:
            make_capacities(state)
            state.updates.limits_changed = capacity_state(state).automatic.grown = True

    def running(self) -> Running:
        """Return the limits on parallel applications of a user, and on applications that a leaf takes."""
        capacity = self._state.scheduler.capacity
        return Running(
            dict(capacity.user_max_parallel_of),
            capacity.user_max_parallel,
            limits := ApplicationLimits(capacity, {} if self._capacities is None else self._capacities.of),
            limits,
        )

    def lifetime(self, queue: Queue) -> tuple[float, float]:
        """Return the ``maximumApplicationLifetime`` and the ``defaultApplicationLifetime`` of a leaf."""
        known = self._capacities.of.get(queue.path) if self._capacities is not None else None
        return (0.0, 0.0) if known is None else (known.max_lifetime, known.default_lifetime)

    def lifetimes(self) -> bool:
        """Whether any queue has such a lifetime."""
        capacities = self._capacities
        return capacities is not None and capacities.lifetimes

    def _most_applications(self, queue: Queue) -> int:
        """Return how many applications a queue takes by its part of the partition of which it has most, whatever those below it have of that."""
        settings, capacities = self._state.scheduler.capacity, self._capacities
        if settings.queue_max_applications > 0:
            return min(settings.queue_max_applications, settings.max_applications)
        known = None if capacities is None else capacities.of[queue.path]
        parts = [1.0] if known is None else [known.share(partition).absolute for partition in known.configured]
        if any(isnan(part) for part in parts):
            return settings.max_applications  # there is no cluster yet
        return int(settings.max_applications * max(parts))

    @property
    def _capacities(self) -> LiveCapacityTree | None:
        return capacity_state(self._state).capacities


def _share(amounts: Mapping[str, int]) -> PartitionShare:
    types = {name: Portion(Kind.ABSOLUTE, value) for name, value in amounts.items()}
    if types and not amounts.get("memory"):
        types["memory"] = Portion(Kind.ABSOLUTE, 1)
    return PartitionShare(Capacity(types=types, written_by_type=True))
