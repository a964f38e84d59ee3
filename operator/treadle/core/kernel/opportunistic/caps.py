"""What opportunistic pods of a queue, and of all below it, may be given in sum: a maximum of its own, since they count against no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.units.amounts import plus
from treadle.core.units.resources import UNBOUNDED, in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord, Queue
    from treadle.core.units.resources import Vector

AT_MAXIMUM: Final = "OpportunisticMaximum"
"""The reason of an opportunistic pod whose queue, or one above, has given its opportunistic pods as much as it may."""


class Caps:
    """The maxima of queues and what their opportunistic pods have; ``held`` is that of each leaf, by path."""

    def __init__(self, state: State, held: Mapping[str, Vector]) -> None:
        self._state = state
        self.held: dict[str, Vector] = {}
        """What opportunistic pods of each queue and below it have, by path."""
        for path, amounts in held.items():
            queue = state.tree.queues.get(path)
            if queue is not None:
                self.give(queue, amounts)

    def give(self, leaf: Queue, amounts: Vector) -> None:
        """Count what a pod of a leaf is given."""
        for queue in leaf.chain:
            self.held[queue.path] = plus(self.held.get(queue.path, [0] * TYPES), amounts)

    def full(self, leaf: Queue, amounts: Vector) -> Queue | None:
        """Return the first queue up the chain of a leaf that may not give so much more, None if all may."""
        for queue in leaf.chain:
            if queue.spec.max_opportunistic:
                have = self.held.get(queue.path, [0] * TYPES)
                if any(has + more > most for has, more, most in zip(have, amounts, self.most(queue), strict=True) if more):
                    return queue
        return None

    def most(self, queue: Queue) -> Vector:
        """Return the maximum of a queue."""
        state, limits = self._state, queue.spec.max_opportunistic
        return [
            limits[name].resolve(state.cluster.total[position]) if name in limits else UNBOUNDED
            for position, name in enumerate(state.types.names[:TYPES])
        ]

    def words(self, record: PodRecord) -> str:
        """Say which maximum keeps a pod back, empty for none."""
        leaf = None if record.application is None else record.application.queue
        full = None if leaf is None else self.full(leaf, vector(record.spec.opportunistic))
        if full is None:
            return ""
        names, have = self._state.types.names, self.held.get(full.path, [0] * TYPES)
        parts = [
            f"{name}={in_words(name, have[at])} of {in_words(name, most)}"
            for at, (name, most) in enumerate(zip(names[:TYPES], self.most(full), strict=True))
            if most < UNBOUNDED
        ]
        return f"opportunistic pods of queue {full.path} have {', '.join(parts)} that they may have (spec.opportunistic.limits)"
