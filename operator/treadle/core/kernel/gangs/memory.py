"""What is remembered of gangs, and the PodGroup objects of other systems that say more of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treadle.core.model import PodGroupSpec, PodSpec
    from treadle.core.model.gangs import RequestPhase

Gang = tuple[str, str]
"""An application and the name of a gang in it."""
Group = tuple[str, str]
"""A system and a PodGroup object of it, as ``namespace/name``."""


@dataclass(frozen=True, slots=True)
class Request:
    """How the request for the nodes of a gang is doing, and what those who wait are told of it."""

    phase: RequestPhase
    words: str


def group_of(spec: PodSpec) -> Group:
    """Return the PodGroup object that a pod names; its ``gang_source`` is not empty."""
    return spec.gang_source, f"{spec.namespace}/{spec.gang}"


@dataclass(slots=True)
class Gangs:
    """``complete`` are the gangs whose minimum is on nodes, ``begun`` those that have started and of which there are pods.

    ``served`` says of a system whether the API server knows its PodGroups, as far as that has been told. ``users`` are the uids of the
    pods that name a group, ``marked`` the groups of which something has changed since their pods were looked at. ``partial`` says
    since when a gang that has begun lacks pods that wait. ``stuck`` are gangs that found no room when they had their turn, since when; ``left_alone``
    are those of them for which room was held in vain, and until when none is held again. ``looked`` is when it was last looked for whom to hold some,
    ``tried`` how far the log of improved nodes had come when a gang was last tried on the room that is held for it. ``failed`` are gangs of which a bind has
    failed since the last pass, ``leaving`` the uids of pods that were asked to go since they are all that is left of a gang. ``requests`` say what became of the nodes that
    were asked for, ``provisioner`` whether they can be (None: not known yet), and ``provisioner_trouble`` why not.
    """

    complete: dict[Gang, None] = field(default_factory=dict)
    begun: dict[Gang, None] = field(default_factory=dict)
    groups: dict[Group, PodGroupSpec] = field(default_factory=dict)
    served: dict[str, bool] = field(default_factory=dict)
    users: dict[Group, dict[str, None]] = field(default_factory=dict)
    marked: dict[Group, None] = field(default_factory=dict)
    partial: dict[Gang, float] = field(default_factory=dict)
    stuck: dict[Gang, float] = field(default_factory=dict)
    left_alone: dict[Gang, float] = field(default_factory=dict)
    tried: dict[Gang, int] = field(default_factory=dict)
    failed: dict[Gang, None] = field(default_factory=dict)
    leaving: dict[str, Gang] = field(default_factory=dict)
    requests: dict[Gang, Request] = field(default_factory=dict)
    provisioner: bool | None = None
    provisioner_trouble: str = ""
    looked: float = float("-inf")
    spare: dict[Gang, tuple[int, ...]] = field(default_factory=dict)
    """Gangs that have pods of several shapes, and more than they start with: the shapes of those that no node could have."""
    spare_looked: float = float("-inf")
    allocatable: tuple[tuple[int, int, int], NDArray[np.int64]] | None = None
    """What nodes have, by which it is told what they could have."""

    def see(self, group: PodGroupSpec) -> None:
        """Take over a PodGroup object."""
        key = (group.source, group.id)
        if self.groups.get(key) != group:
            self.groups[key] = group
            self.marked[key] = None

    def gone(self, source: str, identity: str) -> None:
        """Take note that a PodGroup object was deleted."""
        if self.groups.pop((source, identity), None) is not None:
            self.marked[source, identity] = None

    def become_served(self, source: str, *, served: bool) -> None:
        """Take note of whether the API server knows a system's PodGroups, all of which have been told then."""
        if self.served.get(source) == served:
            return
        self.served[source] = served
        if not served:
            self.groups = {key: group for key, group in self.groups.items() if key[0] != source}
        self.marked.update(dict.fromkeys(key for key in self.users if key[0] == source))

    def queue_of(self, spec: PodSpec) -> str:
        """Return the queue that a pod names, else the one that its PodGroup does; empty if neither does."""
        if spec.queue or not spec.gang_source:
            return spec.queue
        group = self.groups.get(group_of(spec))
        return group.queue if group is not None else ""

    def use(self, spec: PodSpec) -> None:
        """Take note that a pod names a group."""
        if spec.gang_source:
            self.users.setdefault(group_of(spec), {})[spec.uid] = None

    def unuse(self, spec: PodSpec) -> None:
        """Take note that a pod names a group no longer."""
        if not spec.gang_source:
            return
        key = group_of(spec)
        found = self.users.get(key, {})
        found.pop(spec.uid, None)
        if not found:
            self.users.pop(key, None)

    def forget(self, application: str) -> None:
        """Forget the gangs of an application that has no pods any more."""
        for known in (
            self.complete,
            self.begun,
            self.partial,
            self.stuck,
            self.left_alone,
            self.tried,
            self.requests,
            self.spare,
        ):
            for gang in [gang for gang in known if gang[0] == application]:
                del known[gang]
