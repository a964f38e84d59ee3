"""What the fair discipline keeps of applications and leaves: which may be starved, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.disciplines.fair.starvation import StarvationState, Starving
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.model import PodSpec


class FairMembership:
    """See ``kernel.seam.Membership``."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.contenders: dict[Application, StarvationState] = {}
        self.leaves: dict[Queue, Starving] = {}

    def entered(self, part: Application) -> None:
        """Do nothing: no user is limited."""

    def leaving(self, part: Application) -> None:
        """Do nothing: no user is limited."""

    def partition_wanted(self, application: Application, pod: PodSpec) -> str | None:
        """Return None: partitions do not matter. Who asks for one is told, once."""
        explicit = self._state.explicit.get(application.id)
        partition = pod.partition or ("" if explicit is None else explicit.partition)
        reports = self._state.reports
        if partition and application not in reports.unheeded:
            reports.unheeded[application] = partition
            reports.unheeded_news = True
        return None

    def partition_of(self, labels: Mapping[str, str]) -> str:  # noqa: ARG002 - one protocol for both
        """Return the default partition: all nodes are in it."""
        return ""

    def partitions_matter(self) -> bool:
        """Return False."""
        return False

    def pod_seen(self, uid: str) -> None:
        """Do nothing: partitions do not matter."""

    def object_changed(self, application: Application) -> None:
        """Do nothing: partitions do not matter."""

    def redefined(self, *, whole: bool) -> list[Application]:  # noqa: ARG002 - one protocol for both
        """Return none: partitions do not matter."""
        return []

    def settled(self, applications: list[Application]) -> None:
        """Do nothing: partitions do not matter."""

    def victim_stays(self, application: Application) -> None:
        """Look for other victims with the next round."""
        contender = self.contenders.get(application)
        if contender is not None:
            contender.next_check = float("-inf")

    def forget_the_gone(self) -> None:
        """Drop what is remembered of applications and leaves that are no more."""
        state = self._state
        for application in [one for one in self.contenders if one.queue is None or one.id not in state.applications]:
            del self.contenders[application]
        for queue in [one for one in self.leaves if state.tree.queues.get(one.path) is not one]:
            del self.leaves[queue]
