"""How many applications a leaf takes, altogether and of one user, live (``AbstractLeafQueue.submitApplication``).

YARN refuses the application that is one too many. Here it waits, and is let in when another one leaves; so it is one more limit on who may run,
and those that wait for any of them count for none. Leaves of managed parents take everybody, as in YARN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model.capacity import UNLIMITED
from treadle.core.rules.running import NO_LIMIT

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.rules.capacity.queue import CapacityQueue
    from treadle.core.rules.running import Limited


def most_of(queue: CapacityQueue, parallel: int | None) -> int:
    """Return how many applications of a queue may run: ``parallel`` at once, or as the settings say, but no more than it takes."""
    settings = queue.context.settings
    most = parallel if parallel is not None else settings.max_parallel if settings.max_parallel < UNLIMITED else NO_LIMIT
    if queue.parent is None:
        return min(most, settings.max_applications)
    return most if queue.parental or queue.entitled else min(most, queue.max_applications)


class ApplicationLimits:
    """The limits beside those on running applications, with the names by which administrators know them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of_user(self, queue: Limited) -> int:
        """Return how many applications of one user a leaf takes."""
        capacities = self._state.capacities
        leaf = capacities.of.get(queue.path) if capacities is not None else None
        return NO_LIMIT if leaf is None or leaf.entitled else leaf.max_applications_of_user

    def named(self, queue: Limited) -> str:
        """Return what the limit of a queue comes from, for a message."""
        capacities = self._state.capacities
        found = capacities.of.get(queue.path) if capacities is not None else None
        if found is None:
            return ""
        most = found.context.settings.max_applications if found.parent is None else found.max_applications
        return " (maximumApplications)" if queue.max_running == most else ""
