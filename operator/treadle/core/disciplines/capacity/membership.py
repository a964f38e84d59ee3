"""What the capacity discipline keeps of applications: the quotas of their users, and in which partition they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity import enforced_partitions
from treadle.core.disciplines.capacity.edits import redefined
from treadle.core.disciplines.capacity.state import capacity_state
from treadle.core.rules.capacity.context import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec


class CapacityMembership:
    """See ``kernel.seam.Membership``.

    Without capacities, which there are not until a settling has ended, partitions do not matter.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def entered(self, part: Application) -> None:
        """Open the quota of its user."""
        capacities = capacity_state(self._state).capacities
        if capacities is not None:
            capacities.arrive(part)

    def leaving(self, part: Application) -> None:
        """Close the quota of its user."""
        capacities = capacity_state(self._state).capacities
        if capacities is not None:
            capacities.leave(part)

    def partition_wanted(self, application: Application, pod: PodSpec) -> str | None:
        """Return the pod's own word, its application's, or its queue's default."""
        state, capacities = self._state, capacity_state(self._state).capacities
        if capacities is None:
            return None
        explicit = state.explicit.get(application.id)
        said = pod.partition or (explicit.partition if explicit is not None else "")
        if said or application.queue is None:
            return said
        return capacities.of[application.queue.path].default_partition or DEFAULT

    def partition_of(self, labels: Mapping[str, str]) -> str:
        """Return what the partition label says."""
        return labels.get(self._state.scheduler.partition_label, DEFAULT) if self.partitions_matter() else DEFAULT

    def partitions_matter(self) -> bool:
        """Whether there are capacities."""
        return capacity_state(self._state).capacities is not None

    def pod_seen(self, uid: str) -> None:
        """Take note of what a pod says of its application's partition, where leaves keep partitions apart."""
        enforced_partitions.note(self._state, uid)

    def object_changed(self, application: Application) -> None:
        """Take note of what an application's object says of its partition."""
        enforced_partitions.follow(self._state, application)

    def redefined(self, *, whole: bool) -> list[Application]:
        """Return the applications in leaves that were defined anew."""
        return list(self._state.applications.values()) if whole else redefined(self._state)

    def settled(self, applications: list[Application]) -> None:
        """Let those look again that are let in or shut out now."""
        enforced_partitions.follow_all(self._state, applications)

    def victim_stays(self, application: Application) -> None:
        """Do nothing: who is to be helped is found anew in each round."""

    def forget_the_gone(self) -> None:
        """Do nothing: quotas are closed when applications leave."""
