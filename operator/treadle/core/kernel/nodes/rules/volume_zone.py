"""The zones and regions that the labels of volumes name (plugin VolumeZone).

A node that names any zone or region must be in those of each volume. Old labels of volumes are matched by new ones of nodes.
What can make it pass: the labels of a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.volumes.needs import ZONE_LABELS
from treadle.core.kernel.volumes.rule import VolumeRule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treadle.core.model import NodeSpec

REASON = "node(s) had no available volume zone"
NEW = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}


class VolumeZone(VolumeRule):
    """For pods with volumes that have such labels."""

    __slots__ = ()

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        return "" if self.where()[row] else REASON

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass."""
        return [(REASON, ~self.where()[:count])]

    def where(self) -> NDArray[np.bool_]:
        """Return the nodes in the zones of all volumes."""
        return self.nodes.passing(("zones", self.needs.zones), self._passes)

    def _passes(self, node: NodeSpec) -> bool:
        labels = node.labels
        if not any(label in labels for label in ZONE_LABELS):
            return True
        for key, values in self.needs.zones:
            value = labels.get(key)
            if value is None and key in NEW:
                value = labels.get(NEW[key])
            if value not in values:
                return False
        return True
