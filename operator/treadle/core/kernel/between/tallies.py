"""Counts of the pods that a rule is about: by node, and by domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.kernel.between.topologies import NOWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.model import PodTerm


@dataclass(frozen=True, slots=True)
class About:
    """The pods that all of some terms are about; ``staying``: those that are being deleted left out."""

    terms: tuple[PodTerm, ...]
    staying: bool = False


class Watcher(Protocol):
    """What follows a count."""

    def changed(self, row: int, change: int, /) -> None:
        """Take note that there are more, or fewer, of the pods on a node."""

    def renewed(self) -> None:
        """Take note that the count was made anew."""


class Tally:
    """How many of the pods that a rule is about are on each node: ``rows``, those with none left out.

    While it is ``uncounted``, pods that were on nodes before the rule came up are not in it yet, and nothing is added.
    """

    __slots__ = ("by_domain", "rows", "uncounted", "watchers")

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.uncounted = False
        self.watchers: dict[Watcher, None] = {}
        self.by_domain: dict[Topology, DomainCounts] = {}

    def add(self, row: int, change: int) -> None:
        """Count one pod more on a row (1), or one less (-1)."""
        if self.uncounted:
            return
        rows = self.rows
        left = rows.get(row, 0) + change
        if left:
            rows[row] = left
        else:
            del rows[row]
        for watcher in self.watchers:
            watcher.changed(row, change)

    def begin(self) -> None:
        """Begin again, from nothing."""
        self.rows.clear()
        self.uncounted = True

    def made_up(self) -> None:
        """Take note that all pods have been counted."""
        self.uncounted = False
        for watcher in self.watchers:
            watcher.renewed()

    def end(self) -> None:
        """Count no longer: nothing looks at it."""
        for counts in self.by_domain.values():
            counts.topology.followers.pop(counts, None)

    def close_up(self, moved: list[int]) -> None:
        """Take over the new numbers of all rows, by the old ones."""
        self.rows = {moved[row]: count for row, count in self.rows.items()}
        for watcher in self.watchers:
            watcher.renewed()

    def by(self, topology: Topology) -> DomainCounts:
        """Return the counts by the domains of a topology."""
        found = self.by_domain.get(topology)
        if found is None:
            found = self.by_domain[topology] = DomainCounts(self, topology)
            self.watchers[found] = None
            topology.followers[found] = None
        return found


class Listener(Protocol):
    """What looks at counts by domain."""

    def came(self, domain: int, /) -> None:
        """Take note of the first pod in a domain."""

    def left(self, domain: int, /) -> None:
        """Take note that no pod is in a domain any more."""


class DomainFollower(Protocol):
    """What looks at how many there are in domains."""

    def counted(self, domain: int, change: int, /) -> None:
        """Take note that there are more (``change`` above 0), or fewer, in a domain; ``NOWHERE`` and 0: it may be any."""


class DomainCounts:
    """How many of the pods of a tally are in each domain: ``counts``, those with none left out. Pods on nodes in no domain are in none.

    ``listeners`` are told of domains that get their first pod and lose their last, ``followers`` of every change.
    """

    __slots__ = ("counts", "followers", "listeners", "tally", "topology")

    def __init__(self, tally: Tally, topology: Topology) -> None:
        self.tally = tally
        self.topology = topology
        self.listeners: dict[Listener, None] = {}
        self.followers: dict[DomainFollower, None] = {}
        self.counts: dict[int, int] = {}
        self.renewed()

    def column(self, count: int) -> NDArray[np.bool_]:
        """Return for so many rows whether any of the pods is in their domain."""
        any_in = np.zeros(self.topology.size + 1, dtype=np.bool_)  # the last one is for nodes in no domain
        if self.counts:
            any_in[list(self.counts)] = True
        found: NDArray[np.bool_] = any_in[self.topology.column(count)]
        return found

    def changed(self, row: int, change: int) -> None:
        """Count a pod on a node."""
        self._add(self.topology.domain[row] if row < len(self.topology.domain) else NOWHERE, change)

    def moved(self, row: int, before: int, after: int) -> None:
        """Count the pods of a node in another domain."""
        count = self.tally.rows.get(row, 0)
        if count:
            self._add(before, -count)
            self._add(after, count)

    def renewed(self) -> None:
        """Count anew."""
        domain = self.topology.domain
        counts: dict[int, int] = {}
        for row, count in self.tally.rows.items():
            at = domain[row] if row < len(domain) else NOWHERE
            if at != NOWHERE:
                counts[at] = counts.get(at, 0) + count
        before, self.counts = self.counts, counts
        for follower in self.followers:
            follower.counted(NOWHERE, 0)
        for listener in self.listeners:
            for at in counts.keys() - before.keys():
                listener.came(at)
            for at in before.keys() - counts.keys():
                listener.left(at)

    def _add(self, domain: int, change: int) -> None:
        if domain == NOWHERE:
            return
        counts = self.counts
        before = counts.get(domain, 0)
        if before + change:
            counts[domain] = before + change
            if not before:
                for listener in self.listeners:
                    listener.came(domain)
        else:
            del counts[domain]
            for listener in self.listeners:
                listener.left(domain)
        for follower in self.followers:
            follower.counted(domain, change)
