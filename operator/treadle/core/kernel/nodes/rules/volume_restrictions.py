"""Disks that one node can use only once, and claims for one pod alone (plugin VolumeRestrictions).

A disk that a pod names itself cannot be on a node where a pod has the same one, but that both only read it. A pod with a claim of access mode
ReadWriteOncePod goes nowhere while another pod with it is on a node. What can make it pass: a pod that leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.volumes.rule import VolumeRule

if TYPE_CHECKING:
    from treadle.core.model.volumes import Disk

DISK = "node(s) had no available disk"
IN_USE = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
NEVER_SHARED = "awsElasticBlockStore"


def conflict(one: Disk, other: Disk) -> bool:
    """Whether two pods with these disks cannot be on one node."""
    return (
        one.kind == other.kind
        and one.within == other.within
        and not set(one.names).isdisjoint(other.names)
        and (one.kind == NEVER_SHARED or not (one.read_only and other.read_only))
    )


class VolumeRestrictions(VolumeRule):
    """For pods with such disks or claims."""

    __slots__ = ()

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        disks = self.needs.disks
        if disks:
            used = self.in_use.disks.get(self.nodes.names[row], ())
            if any(conflict(one, other) for other in used for one in disks):
                return DISK
        for claim in self.needs.exclusive:
            if claim in self.in_use.pods:
                return IN_USE
        return ""

    def at(self, node: str) -> None:
        """Take note that less may be in use on a node."""
        if self.needs.disks:
            self.help_at(node)

    def freed(self, claim: str) -> None:
        """Take note that no pod on a node names a claim any more."""
        if claim in self.needs.exclusive:
            self.help_anywhere()
