"""How many applications a leaf takes, altogether and of one user, live (``AbstractLeafQueue.submitApplication``).

YARN refuses the application that is one too many. Here it waits, and is let in when another one leaves; so it is one more limit
on who may run, and those that wait for any of them count for none. Leaves of managed parents take every application, as in YARN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.model.capacity import UNLIMITED
from treadle.core.rules.running import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.kernel.tree.members import Queue
    from treadle.core.model.capacity import CapacitySettings
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
    """The limits beside those on running applications, and the fields that all of them come from (``rules.running.Origins``).

    ``known`` are the capacities by path.
    """

    def __init__(self, settings: CapacitySettings, known: Mapping[str, CapacityQueue]) -> None:
        self._settings, self._known = settings, known

    def of_user(self, queue: Limited) -> int:
        """Return how many applications of one user a leaf takes."""
        leaf = self._known.get(queue.path)
        return NO_LIMIT if leaf is None or leaf.entitled else leaf.max_applications_of_user

    def running_limit(self, queue: Queue) -> str:
        """Return where a queue's limit comes from."""
        found, settings = self._known.get(queue.path), self._settings
        most = NO_LIMIT if found is None else settings.max_applications if found.parent is None else found.max_applications
        if found is None or queue.max_running != most:
            return "maxRunningApplications" if queue.spec.max_running is not None else "capacity.maxParallelApps of the Scheduler"
        if found.parent is None:
            return "capacity.maximumApplications of the Scheduler"
        if found.spec.max_applications is not None:
            return "capacity.maximumApplications"
        by_default = settings.queue_max_applications > 0 and found.kind != "ABSOLUTE_RESOURCE"
        if by_default:
            return "capacity.queueMaximumApplications of the Scheduler"
        share = max((found.share(partition).absolute for partition in found.configured), default=0.0)
        default = "" if found.kind == "ABSOLUTE_RESOURCE" else ", or capacity.queueMaximumApplications of the Scheduler,"
        return (
            f"it follows from its guaranteed share of {100 * share:.4g}%; set capacity.maximumApplications "
            f"of the queue{default} or give it a larger guarantee"
        )

    def user_limit(self, user: str) -> str:
        """Return where a user's limit comes from."""
        return f"capacity.userMaxParallelApps{'Of' if user in self._settings.user_max_parallel_of else ''} of the Scheduler"
