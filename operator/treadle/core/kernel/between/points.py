"""Counts that preferences between pods go by, as columns: they follow each placement, so a look at all nodes adds nothing up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology


class _Part:
    """The pods of one count, each worth so many points in its domain."""

    __slots__ = ("points", "tally", "weight")

    def __init__(self, points: Points, tally: Tally, weight: int) -> None:
        self.points = points
        self.tally = tally
        self.weight = weight
        tally.watchers[self] = None

    def changed(self, row: int, change: int) -> None:
        """Take note of pods on a node."""
        self.points.add(row, self.weight * change)

    def renewed(self) -> None:
        """Take note that pods were counted anew."""
        self.points.stale = True


class Points:
    """What the domains of a topology are worth for the pods that are in them: the sum of weights of counts."""

    __slots__ = ("_values", "parts", "stale", "topology")

    def __init__(self, topology: Topology, weighted: Iterable[tuple[int, Tally]]) -> None:
        self.topology = topology
        self._values: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self.stale = True
        self.parts = [_Part(self, tally, weight) for weight, tally in weighted]
        topology.followers[self] = None

    def close(self) -> None:
        """Follow the counts no longer."""
        self.topology.followers.pop(self, None)
        for part in self.parts:
            part.tally.watchers.pop(part, None)

    def moved(self, row: int, before: int, after: int) -> None:  # noqa: ARG002 - whichever node it is
        """Take note that a node is in another domain."""
        self.stale = True

    def add(self, row: int, points: int) -> None:
        """Add points in the domain of a node."""
        if self.stale:
            return
        domain = self.topology.domain[row]
        if domain != NOWHERE:
            self._values[domain] += points

    def values(self) -> NDArray[np.int64]:
        """Return what the domains are worth by their numbers, and at the end what it is worth to be in none."""
        if self.stale or len(self._values) != self.topology.size + 1:
            self._recount()
        return self._values

    def column(self, count: int) -> NDArray[np.int64]:
        """Return for so many rows what their domains are worth; nothing outside of all domains."""
        found: NDArray[np.int64] = self.values()[self.topology.column(count)]
        return found

    def _recount(self) -> None:
        self._values = np.zeros(self.topology.size + 1, dtype=np.int64)  # the last one is for nodes in no domain
        domain = self.topology.domain
        for part in self.parts:
            for row, pods in part.tally.rows.items():
                at = domain[row] if row < len(domain) else NOWHERE
                if at != NOWHERE:
                    self._values[at] += part.weight * pods
        self.stale = False


class SpreadCounts:
    """The pods that are spread, by domain and over the nodes that count, or (``by_node``) by node and over all."""

    __slots__ = ("_eligible", "_seen", "_values", "by_node", "stale", "tally", "topology")

    def __init__(self, tally: Tally, topology: Topology, *, by_node: bool) -> None:
        self.tally = tally
        self.topology = topology
        self.by_node = by_node
        self.stale = True
        self._seen = -1
        self._values: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._eligible: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        tally.watchers[self] = None
        topology.followers[self] = None

    def close(self) -> None:
        """Follow the counts no longer."""
        self.tally.watchers.pop(self, None)
        self.topology.followers.pop(self, None)

    def renewed(self) -> None:
        """Take note that pods were counted anew."""
        self.stale = True

    def moved(self, row: int, before: int, after: int) -> None:  # noqa: ARG002 - whichever node it is
        """Take note that a node is in another domain."""
        self.stale = True

    def changed(self, row: int, change: int) -> None:
        """Count a pod on a node."""
        if self.stale:
            return
        if row >= len(self._eligible):
            self.stale = True  # a node that has come since
        elif self._eligible[row]:
            self._values[row if self.by_node else self.topology.domain[row]] += change

    def current(self, edits: int, count: int) -> bool:
        """Whether the counts are those of the nodes as they are now."""
        return not self.stale and self._seen == edits and len(self._eligible) == count

    def recount(self, eligible: NDArray[np.bool_], edits: int) -> None:
        """Count anew over the nodes that count, each of which is in a domain if it goes by domains."""
        self._eligible, self._seen = eligible, edits
        count = len(eligible)
        self._values = np.zeros(count if self.by_node else self.topology.size + 1, dtype=np.int64)
        domains = self.topology.column(count)
        for row, pods in self.tally.rows.items():
            if row < count and eligible[row]:
                self._values[row if self.by_node else int(domains[row])] += pods
        self.stale = False

    def values(self) -> NDArray[np.int64]:
        """Return how many pods count in each domain by its number, none at the end, or on each node."""
        return self._values
