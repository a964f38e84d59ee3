"""Partitions that a leaf keeps apart, live: nodes of theirs go to their own applications, and those get no others (``FifoOrderingPolicyWithExclusivePartitions``).

With the order ``fifo-with-partitions`` a leaf has one list of applications for each of its ``enforcedPartitions`` and one for all
others together. A node is offered to the list of its partition only. An application is in the list of its own partition: in YARN
that of its AM container; here what its first master asks for, else its Application object, else the first of its pods, else the
default of its queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from treadle.core.rules.capacity.context import DEFAULT
from treadle.core.rules.capacity.ordering import EXCLUSIVE

if TYPE_CHECKING:
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model.capacity import CapacityQueueSpec
    from treadle.core.rules.capacity.queue import CapacityQueue


class ApplicationPartition:
    """Where an application says that it belongs: the word of the pod that decides (the first master, else the first pod) and of its object, empty where they say nothing."""

    __slots__ = ("of_object", "of_pod", "rank")

    def __init__(self) -> None:
        self.rank: tuple[bool, float, str] = (True, float("inf"), "")
        self.of_pod = ""
        self.of_object = ""

    @property
    def word(self) -> str:
        """What is said; a master's own word goes before that of the object."""
        by_master = not self.rank[0]
        return (self.of_pod or self.of_object) if by_master else (self.of_object or self.of_pod)


def partition_of(application: Application) -> ApplicationPartition | None:
    """Return where an application says that it belongs, None where that was not looked at."""
    return cast("ApplicationPartition | None", application.home)


def enforces(spec: CapacityQueueSpec) -> bool:
    """Whether a leaf keeps partitions apart."""
    return spec.order == EXCLUSIVE and bool(spec.enforced_partitions)


def denied(part: Application, leaf: CapacityQueue) -> str:
    """Return why an application in a leaf gets no nodes of the partition that ``part`` of it is for, empty if it may."""
    if not leaf.may_use(part.partition):
        return f"queue {leaf.path} may not use partition {part.partition} (accessiblePartitions)"
    return shut_out(part, leaf)


def shut_out(part: Application, leaf: CapacityQueue) -> str:
    """Return why an application gets no nodes of a partition because its leaf keeps partitions apart, empty if it does not."""
    if not enforces(leaf.spec):
        return ""
    enforced, here = leaf.spec.enforced_partitions, part.partition
    home = partition_of(part.whole)
    own = (home.word if home is not None else "") or leaf.default_partition or DEFAULT
    if (own if own in enforced else DEFAULT) == (here if here in enforced else DEFAULT):
        return ""
    if here in enforced:
        whose = f"partition {own}" if own else "the default partition"
        return (
            f"queue {leaf.path} gives nodes of partition {here} to applications of that partition only (enforcedPartitions), "
            f"and {part.id} is one of {whose}"
        )
    return (
        f"application {part.id} is one of partition {own}, and queue {leaf.path} gives such applications nodes of that partition only "
        "(enforcedPartitions)"
    )
