"""How many volumes a CSI driver can attach to a node (plugin NodeVolumeLimits).

The volumes of the pods on a node count once each, and so does what is attached to it besides. What can make it pass: a pod that leaves, a
volume that is detached, a CSINode that says otherwise.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from treadle.core.kernel.volumes.needs import DRIVERS, attachable
from treadle.core.kernel.volumes.rule import VolumeRule

if TYPE_CHECKING:
    from treadle.core.model.volumes import CSINodeSpec

REASON = "node(s) exceed max volume count"


class VolumeLimits(VolumeRule):
    """For pods with volumes that drivers attach."""

    __slots__ = ()

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        name = self.nodes.names[row]
        csi = self.storage.csi_nodes.get(name)
        if csi is None or not csi.limits:
            return ""
        attached = self._attached(name, csi)
        wanted = Counter[str]()
        for one in self.needs.attached:
            counts = not one.plugin or one.plugin in csi.migrated
            if counts and not (one.handle and (one.driver, one.handle) in attached):
                wanted[one.driver] += 1
        if not wanted:
            return ""
        used = Counter(driver for driver, _ in attached)
        for key in self.storage.attached_to.get(name, ()):
            one_more = self.storage.attachments[key]
            volume = self.storage.volumes.get(one_more.volume)
            if volume is not None and volume.driver and (one_more.driver, volume.handle) not in attached:
                used[one_more.driver] += 1
        limits = dict(csi.limits)
        full = any(driver in limits and used[driver] + more > limits[driver] for driver, more in wanted.items())
        return REASON if full else ""

    def at(self, node: str) -> None:
        """Take note that less may be in use on a node."""
        self.help_at(node)

    def _attached(self, node: str, csi: CSINodeSpec) -> dict[tuple[str, str], None]:
        """Return the volumes of the pods on a node, as (driver, handle)."""
        found: dict[tuple[str, str], None] = {}
        for key in self.in_use.claims.get(node, ()):
            claim = self.storage.claims.get(key)
            one = attachable(claim, self.storage) if claim is not None else None
            if one is not None and (not one.plugin or one.plugin in csi.migrated):
                found[one.driver, one.handle] = None
        for plugin, handle in self.in_use.handles.get(node, ()):
            if plugin in DRIVERS and plugin in csi.migrated:
                found[DRIVERS[plugin], handle] = None
        return found
