"""The words for limits that are the capacity discipline's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.am_share import short_of
from treadle.core.disciplines.capacity.quota import limit_of, quota_of, room_of
from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.disciplines.capacity.live_tree import LiveCapacityTree
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue
    from treadle.core.units.resources import Vector


class CapacityWords:
    """See ``kernel.seam.Words``."""

    largest = "maximumAllocation"
    maximum = "capacity.maximum"
    fair_shares = False

    def __init__(self, state: State) -> None:
        self._state = state

    def used_capacity(self, queue: Queue) -> float | None:
        """Return how much of what it is guaranteed a queue uses in its partition."""
        capacities: LiveCapacityTree | None = capacity_state(self._state).capacities
        if capacities is None:
            return None
        known = capacities.of[queue.path]
        known.update_statistics(queue.partition)
        return known.share(queue.partition).used_capacity

    def remark(self, queue: Queue) -> str:  # noqa: ARG002 - one protocol for both
        """Return nothing: what does not go together is refused."""
        return ""

    def room(self, application: Application) -> Vector | None:
        """Return what the user may have more, of the types that are shared."""
        quota = quota_of(application)
        if quota is None:
            return None
        amounts = room_of(quota, self._state.tree.root.usage)
        counted = quota.leaf.context.calculator.deciding
        return [max(0, value) if at in counted else 0 for at, value in enumerate(amounts)]

    def masters_short(self, ask: Ask) -> bool:
        """Whether a master would break the limit of its leaf or its user."""
        return short_of(ask) is not None

    def master_share(self, ask: Ask) -> str:
        """Return of what the masters of a queue, or of a user in it, would hold too much."""
        state = self._state
        leaf, found = ask.application.chain[0], short_of(ask)
        if found is None:
            return f"the masters of queue {leaf.path} leave room again; the pod is next looked at with the next pass"
        whose, at, held, limit = found
        name = state.types.names[at]
        whom = f"queue {leaf.path}" if whose == "queue" else f"user {ask.application.user} in queue {leaf.path}"
        wanted = in_words(name, dict(ask.shape.charged)[at])
        most = in_words(name, limit)
        return (
            f"the masters of {whom} hold {name} {in_words(name, held)} of the {most} that they may together "
            f"(maximumAMResourcePercent), {wanted} wanted"
        )

    def at_quota(self, ask: Ask) -> str:
        """Return what a user holds in a queue and may have, with the numbers of now."""
        state = self._state
        quota = quota_of(ask.application)
        if quota is None or not quota.exceeded():
            return "the user is below the limit again; the pod is next looked at with the next pass"
        leaf = quota.leaf
        limit = limit_of(leaf, quota.user.name, quota.partition)
        at = next((at for at in sorted(leaf.context.calculator.deciding) if quota.used[at] > limit[at]), None)
        if at is None:
            return f"user {quota.user.name} is at the limit of queue {leaf.path}"
        name = state.types.names[at]
        return (
            f"user {quota.user.name} holds {name} {in_words(name, quota.used[at])} in queue {leaf.path} of the "
            f"{in_words(name, limit[at])} that one user may have now (minimumUserLimitPercent {leaf.user_limit:g}, "
            f"userLimitFactor {leaf.user_limit_factor:g}, {len(leaf.users.active)} active user{'s' if len(leaf.users.active) != 1 else ''})"
        )
