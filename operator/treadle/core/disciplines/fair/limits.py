"""Minima, maxima, running limits and orders of queues, as their definitions say and the cluster's size makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.rankers import Rankers
from treadle.core.disciplines.fair.starvation import in_force
from treadle.core.disciplines.fair.update import update_steady_share
from treadle.core.disciplines.fair.update_pass import weigh
from treadle.core.disciplines.fair.words import FairOrigins
from treadle.core.kernel.seam import Running
from treadle.core.kernel.tree import admission
from treadle.core.kernel.tree.demand import hold_demand
from treadle.core.kernel.tree.limits import Had, resolve, resolve_largest
from treadle.core.kernel.update import apply_given
from treadle.core.model import Limit, QueueSpec
from treadle.core.rules.fair.policies import BUILT_IN
from treadle.core.units.amounts import f32
from treadle.core.units.resources import MEMORY

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue
    from treadle.core.kernel.tree.tree import Settled
    from treadle.core.units.resources import Vector


class FairLimits:
    """See ``kernel.seam.Limits``."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._rankers = Rankers(state.cluster)

    def interval(self) -> float:
        """Return the update interval."""
        return self._state.settings.update_interval

    def weight(self, queue: Queue) -> float:
        """Return the weight of a queue."""
        return queue.weight

    def due(self, queue: Queue, partition: str = "") -> Vector:
        """Return the steady fair share of a queue; of types that a policy above it does not share out the part that it has of memory."""
        cluster = self._state.cluster
        if partition:
            return [0] * len(cluster.total)  # it is no partition here
        update_steady_share(queue, cluster)
        shared = set(range(len(cluster.total)))
        for above in queue.chain[1:]:
            shared.intersection_update(above.policy.counts(cluster))
        memory, mine = cluster.total[MEMORY], queue.steady_share[MEMORY]
        return [
            value if at in shared or not memory else total * mine // memory
            for at, (value, total) in enumerate(zip(queue.steady_share, cluster.total, strict=True))
        ]

    def promisable(self, queue: Queue) -> tuple[str, ...]:  # noqa: ARG002 - one protocol for both
        """Return the default partition: there is no other."""
        return ("",)

    def planned(
        self, above: Queue, path: str, part: float, amounts: Mapping[str, Mapping[str, int]], *, promised: bool
    ) -> QueueSpec:
        """Return a queue whose minimum is what it counts on, and whose weight is its part.

        A reservation below its minimum is given that at once, unless the queues above say when.
        """
        state = self._state
        timeout = 0.0 if promised and in_force(above, state.scheduler.fair)[2] is None else None
        policy = state.tree.policy_below(above) or above.policy.name
        minimum = {name: Limit(value) for name, value in amounts[""].items()}
        return QueueSpec(path, f32(part), minimum, policy=policy, min_share_timeout=timeout)

    def outdated(self) -> bool:
        """Return False: limits go by the cluster's total alone."""
        return False

    def apply(self, *, followed: bool) -> None:  # noqa: ARG002 - one protocol for both
        """Resolve the limits of all queues, and find out whether an order depends on demands."""
        state = self._state
        self._rankers = Rankers(state.cluster)
        for queue in state.tree.everywhere():
            self._resolve(queue)
            resolve_largest(queue, state.cluster.total, state.types)
        if not state.scheduler.fair.size_based_weight:
            weigh(state, state.applications.values())
        by_demand = any(_by_demand(queue) for queue in state.tree.queues.values())
        state.updates.demands, state.updates.demands_stale = ({} if by_demand else None), by_demand

    def edited(self, settled: Settled) -> dict[Queue, Had]:
        """Resolve the limits of queues that were edited, of queues made below them, and what those below inherit."""
        state = self._state
        applied: dict[Queue, Had] = {}
        touched = [*settled.made, *settled.edited, *settled.parents()]
        for queue in touched:
            for one in (queue, *(child for child in queue.children.values() if child.dynamic)):
                applied.setdefault(one, Had.of(one))
                self._resolve(one)
        pending = list(touched)
        for queue in pending:
            before = queue.largest
            resolve_largest(queue, state.cluster.total, state.types)
            if queue.largest != before:
                for child in queue.children.values():
                    applied.setdefault(child, Had.of(child))
                    pending.append(child)
        by_demand = any(_by_demand(queue) or (queue.parent is not None and _by_demand(queue.parent)) for queue in applied)
        if state.updates.demands is None and by_demand:
            state.updates.demands, state.updates.demands_stale = {}, True
        if state.updates.demands is not None and not state.updates.demands_stale:
            for queue in applied:
                hold_demand(queue)
        return applied

    def made(self, queue: Queue) -> None:
        """Resolve the limits of a queue that a rule made, and of the parents that it made for it."""
        state = self._state
        for one in queue.chain:
            if one.dynamic:
                before = Had.of(one)
                resolve(one, state.cluster.total, state.types, state.scheduler.fair.queue_max_default)
                resolve_largest(one, state.cluster.total, state.types)
                admission.limit(one, state.scheduler.fair)
                one.rank = one.policy.ranker(state.cluster)
                state.left[one] = None
                if before.limited != one.limited:  # it was defined until now
                    apply_given(state, {one: before})

    def part_made(self, part: Queue) -> None:
        """Do nothing: partitions do not matter."""

    def part_gone(self, queue: Queue, partition: str) -> None:
        """Do nothing: partitions do not matter."""

    def partitions(self) -> Container[str]:
        """Return none."""
        return ()

    def widened(self) -> None:
        """Do nothing: limits are resolved when the cluster is followed."""

    def running(self) -> Running:
        """Return the limits on running applications of a user."""
        fair = self._state.scheduler.fair
        return Running(fair.user_max_running, fair.user_max_running_default, None, FairOrigins(fair))

    def lifetime(self, queue: Queue) -> tuple[float, float]:  # noqa: ARG002 - one protocol for both
        """Return no limit: only an application says how long it lives."""
        return 0.0, 0.0

    def lifetimes(self) -> bool:
        """Return False."""
        return False

    def _resolve(self, queue: Queue) -> None:
        """Give a queue its own limits and its ranker; ``largest`` comes from above."""
        state = self._state
        resolve(queue, state.cluster.total, state.types, state.scheduler.fair.queue_max_default)
        admission.limit(queue, state.scheduler.fair)
        queue.rank = self._rankers.of(queue.policy, leaf=queue.leaf)


def _by_demand(queue: Queue) -> bool:
    """Whether the order of a queue's members depends on what they demand: minima are held at it under ``fair``, and a policy of one's own may look at it."""
    if type(queue.policy) not in BUILT_IN:
        return True
    return queue.policy.name == "fair" and any(child.minimum is not None for child in queue.children.values())
