"""Where the devices of a pod's claims are, and where those that it still wants can be had (plugin DynamicResources).

An allocated claim says on which nodes its devices can be used. For the others the allocator is asked on each node; what it said is kept until
devices there are taken or come. What can make a node pass: a slice, a class, or a claim that gives devices back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import EACH_NODE, NOWHERE
from treadle.core.kernel.devices.allocator import CannotAllocate, allocate
from treadle.core.kernel.devices.extended import special_claim
from treadle.core.kernel.volumes.near import on

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.devices.on_nodes import Stamp
    from treadle.core.kernel.devices.registry import Devices
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import DeviceNeeds, WantedDevices

    Helped = Callable[[Topology, int], None]

ELSEWHERE = "resourceclaim not available on the node"


class DynamicResources:
    """For pods with claims for devices."""

    __slots__ = ("_answers", "_asked", "_at", "_helped", "_known", "devices", "needs", "nodes", "topology")
    tallies: Sequence[Tally] = ()

    def __init__(self, needs: DeviceNeeds, devices: Devices, nodes: Nodes, helped: Helped) -> None:
        self.needs = needs
        self.devices = devices
        self.nodes = nodes
        self.topology: Topology = nodes.topologies.of(EACH_NODE, nodes.specs)
        self._helped = helped
        self._at = (-1, -1)
        self._known: dict[int, tuple[Stamp, str]] = {}
        """What was found on nodes, by row, and when."""
        self._asked = tuple(replace(one, claim="") for one in needs.wanted)
        self._answers = devices.on_nodes.open(self._asked)
        devices.follow(self, self._claims())

    def close(self) -> None:
        """Follow devices no longer."""
        self.devices.unfollow(self, self._claims())
        self.devices.on_nodes.close(self._asked)

    def _claims(self) -> list[str]:
        return [one.claim for one in self.needs.wanted if one.claim]

    def follow(self) -> None:
        """Be up to date with the nodes."""
        at = (self.nodes.edited.end, len(self.nodes))
        if at != self._at:
            self._at = at
            self._known.clear()

    def where(self) -> NDArray[np.bool_] | None:
        """Return the nodes on which the devices of allocated claims can be used."""
        if not self.needs.bound:
            return None
        return self.nodes.passing(("devices", self.needs.bound), self._reached)

    def _reached(self, node: NodeSpec) -> bool:
        return all(on(node, terms) for terms in self.needs.bound)

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        return not self.refusal(row)

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        for resource, amount in self.needs.extended:
            node = self.nodes.specs[row]
            if node is not None and node.allocatable.get(resource) and self._free(row, resource) < amount:
                return f"Insufficient {resource}"
        node = self.nodes.specs[row]
        if node is None:
            return ELSEWHERE
        known, stamp = self._known.get(row), self.devices.on_nodes.stamp(node.name)
        if known is None or known[0] != stamp:
            known = self._known[row] = stamp, self._refusal(node)
        return known[1]

    def _refusal(self, node: NodeSpec) -> str:
        if not self._reached(node):
            return ELSEWHERE
        left = []
        for one in self.needs.wanted:
            has = self.devices.has(one.claim) if one.claim else None
            if has is None:
                left.append(one)
            elif has.nodes is not None and not on(node, has.nodes):
                return ELSEWHERE
        special = special_claim(self.needs, node, self.devices) if self.needs.asks else None
        if special is not None:
            left.append(special.wanted)
        if not left:
            return ""
        if special is not None or len(left) < len(self._asked):
            return self._tried(node, left)
        stamp = self.devices.on_nodes.stamp(node.name)
        found = self._answers.of(node, stamp)
        if found is None:
            found = self._tried(node, left)
            self._answers.keep(node, stamp, found, len(self.nodes))
        return found

    def _tried(self, node: NodeSpec, claims: Sequence[WantedDevices]) -> str:
        try:
            allocate(self.devices, node, self.devices.pools(node), claims)
        except CannotAllocate as problem:
            return str(problem)
        return ""

    def _free(self, row: int, resource: str) -> int:
        """Return how much of an extended resource a node has left itself."""
        free, at = self.nodes.free[row], self.nodes.types.index.get(resource, -1)
        return free[at] if 0 <= at < len(free) else 0

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
        """Take note that more can be had on a node, or anywhere."""
        if (self.needs.wanted or self.needs.asks) and self._forget(node):
            row = self.nodes.row.get(node, -1)
            self._helped(self.topology, int(self.topology.domain[row]) if row >= 0 else NOWHERE)

    def promised(self, claim: str) -> None:
        """Take note that a claim of these has got devices, or has given them back: other pods with it go by that at once."""
        del claim
        self._known.clear()
        self._helped(self.topology, NOWHERE)

    def _forget(self, node: str) -> bool:
        """Forget what was found on a node; returns whether there is such a node."""
        if not node:
            self._known.clear()
            return True
        row = self.nodes.row.get(node)
        if row is None:
            return False
        self._known.pop(row, None)
        return True
