"""What keeps an ask from its turn under the capacity discipline beside room, and what is tried before it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity import lending, locality, unreserve, user_limits

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.seam import Choice
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue


class CapacityTurns:
    """See ``kernel.seam.Turns``."""

    full_queues_block = True

    def __init__(self, state: State) -> None:
        self._state = state

    def wake(self) -> None:
        """Let those compete again whose users are below their limits."""
        user_limits.wake_users(self._state)

    def unreserve(self, ask: Ask) -> bool:
        """Let an ask at a limit give back a node that is kept for it."""
        return unreserve.unreserve(self._state, ask)

    def at_quota(self, ask: Ask) -> None:
        """Park an ask until its user is below the limit."""
        user_limits.hold_back_user(self._state, ask)

    def quota_grew(self, application: Application) -> None:
        """Let asks of the leaf compete again whose users are below their limit."""
        user_limits.limit_grew(self._state, application)

    def block_queue(self, queue: Queue, ask: Ask) -> None:
        """Let no ask in a full queue overtake the one that found it full."""
        user_limits.block_queue(queue, ask)

    def lending(self) -> bool:
        """Whether any partition is shareable."""
        return lending.lending(self._state)

    def may_be_lent(self, shape: Shape) -> bool:
        """Whether any partition could ever lend something to pods of a shape."""
        return lending.may_be_lent(self._state, shape)

    def can_lend(self, shape: Shape) -> bool:
        """Whether a node of a shareable partition could take a pod of a shape."""
        return lending.can_lend(self._state, shape)

    def lend(self, ask: Ask) -> tuple[int, Application] | None:
        """Return a node of a shareable partition, and the part of the application that counts there."""
        return lending.lend(self._state, ask)

    def near(self, ask: Ask, near: Near) -> Choice:
        """Return the closest node that an ask may take by the offers that it has missed."""
        return locality.choose(self._state, ask, near)
