"""What the rules about volumes have in common: they are asked of each node by itself, and follow storage and what is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import EACH_NODE, NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.kernel.volumes.in_use import InUse
    from treadle.core.kernel.volumes.storage import Storage
    from treadle.core.model.volumes import VolumeNeeds

    Helped = Callable[[Topology, int], None]

ALSO = "\n"
"""What parts the reasons of a rule that has several at once."""


class VolumeRule:
    """A rule for pods with the same needs."""

    __slots__ = ("_helped", "in_use", "needs", "nodes", "storage", "topology")
    tallies: Sequence[Tally] = ()

    def __init__(self, needs: VolumeNeeds, storage: Storage, in_use: InUse, nodes: Nodes, helped: Helped) -> None:
        self.needs = needs
        self.storage = storage
        self.in_use = in_use
        self.nodes = nodes
        self.topology: Topology = nodes.topologies.of(EACH_NODE, nodes.specs)
        self._helped = helped
        storage.followers[self] = None

    def close(self) -> None:
        """Follow storage no longer."""
        self.storage.followers.pop(self, None)

    def follow(self) -> None:
        """Be up to date, which most are always."""

    def where(self) -> NDArray[np.bool_] | None:
        """Return the nodes beyond which none passes, None where that is not known without asking each."""
        return None

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        raise NotImplementedError

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        return not self.refusal(row)

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass why."""
        found: dict[str, list[int]] = {}
        for row, spec in enumerate(self.nodes.specs[:count]):
            if spec is not None and (reason := self.refusal(row)):
                found.setdefault(reason, []).append(row)
        masks = []
        for reason, rows in found.items():
            mask = np.zeros(count, dtype=np.bool_)
            mask[rows] = True
            masks.append((reason, mask))
        return masks

    def at(self, node: str) -> None:
        """Take note that less may be in use on a node."""

    def anywhere(self) -> None:
        """Take note that volumes may be found, or made, where they could not."""

    def freed(self, claim: str) -> None:
        """Take note that no pod on a node names a claim any more."""

    def promised(self, claim: str) -> None:
        """Take note that it has changed which volume a claim gets, or where it is made."""

    def taken(self) -> None:
        """Take note that a volume is free no longer."""

    def help_at(self, node: str) -> None:
        """Tell that a node may pass that did not."""
        row = self.nodes.row.get(node)
        if row is not None and (domain := self.topology.domain[row]) != NOWHERE:
            self._helped(self.topology, domain)

    def help_anywhere(self) -> None:
        """Tell that any node may pass that did not."""
        self._helped(self.topology, NOWHERE)
