"""What keeps an ask from its turn under the fair discipline beside room and maxima: wishes for places alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair import locality

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.near import Near
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.seam import Choice
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue


class FairTurns:
    """See ``kernel.seam.Turns``. No user is limited, and partitions do not matter."""

    full_queues_block = False

    def __init__(self, state: State) -> None:
        self._state = state

    def wake(self) -> None:
        """Do nothing: none waits."""

    def unreserve(self, ask: Ask) -> bool:  # noqa: ARG002 - one protocol for both
        """Return False: what is kept is charged to no queue."""
        return False

    def at_quota(self, ask: Ask) -> None:
        """Do nothing: there are no quotas."""

    def quota_grew(self, application: Application) -> None:
        """Do nothing: there are no quotas."""

    def block_queue(self, queue: Queue, ask: Ask) -> None:
        """Do nothing: smaller asks may overtake."""

    def lending(self) -> bool:
        """Return False."""
        return False

    def may_be_lent(self, shape: Shape) -> bool:  # noqa: ARG002 - one protocol for both
        """Return False."""
        return False

    def can_lend(self, shape: Shape) -> bool:  # noqa: ARG002 - one protocol for both
        """Return False."""
        return False

    def lend(self, ask: Ask) -> tuple[int, Application] | None:  # noqa: ARG002 - one protocol for both
        """Return None."""
        return None

    def near(self, ask: Ask, near: Near) -> Choice:
        """Return the closest node that an ask may take by the time that it has waited."""
        return locality.choose(self._state, ask, near)
