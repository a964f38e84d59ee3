"""The words for limits that are the capacity discipline's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity.am_share import short_of
from treadle.core.disciplines.capacity.quota import limit_of, quota_of
from treadle.core.units.resources import format_amount

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask


class CapacityWords:
    """See ``kernel.seam.Words``."""

    largest = "maximumAllocation"
    maximum = "its maximum"

    def __init__(self, state: State) -> None:
        self._state = state

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
        wanted = format_amount(name, dict(ask.shape.demand)[at])
        most = format_amount(name, limit)
        return (
            f"the masters of {whom} hold {name} {format_amount(name, held)} of the {most} that they may together "
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
            f"user {quota.user.name} holds {name} {format_amount(name, quota.used[at])} in queue {leaf.path} of the "
            f"{format_amount(name, limit[at])} that one user may have now (minimumUserLimitPercent {leaf.user_limit:g}, "
            f"userLimitFactor {leaf.user_limit_factor:g}, {len(leaf.users.active)} active user{'s' if len(leaf.users.active) != 1 else ''})"
        )
