"""The words for limits that are the fair discipline's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.am_share import limit_of, share_of, short_of
from treadle.core.units.resources import format_amount

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.application import Ask


class FairWords:
    """See ``kernel.seam.Words``."""

    largest = "maxContainerAllocation"
    maximum = "maxResources"

    def __init__(self, state: State) -> None:
        self._state = state

    def masters_short(self, ask: Ask) -> bool:
        """Whether a master cannot have all it asks for."""
        return short_of(self._state, ask) is not None

    def master_share(self, ask: Ask) -> str:
        """Return of what the masters of a queue would hold too much."""
        state, leaf = self._state, ask.application.chain[0]
        at = short_of(state, ask)
        if at is None:
            return f"the masters of queue {leaf.path} leave room again; the pod is next looked at with the next pass"
        name = state.types.names[at]
        held, most, wanted = (
            format_amount(name, value) for value in (leaf.master_usage[at], limit_of(state, leaf)[at], dict(ask.shape.demand)[at])
        )
        return (
            f"the masters of queue {leaf.path} hold {name} {held} of the {most} that they may together "
            f"(maxAMShare {share_of(state, leaf):g} of the queue's fair share), {wanted} wanted"
        )

    def at_quota(self, ask: Ask) -> str:  # noqa: ARG002 - one protocol for both
        """Return nothing: no user is limited."""
        return ""
