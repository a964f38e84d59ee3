"""Topology spread with DoNotSchedule (plugin PodTopologySpread).

With the pod in it, no domain may have more than ``max_skew`` of the pods that are spread beyond the domain with the fewest. Only
pods in the pod's own namespace that are not being deleted are counted, on nodes that have the labels of all constraints and that
the policies on node affinity and taints let in; those nodes make up the domains. With fewer domains than ``min_domains`` the
fewest are taken to be none.

What can make it pass: a pod that leaves, one that comes to the domain with the fewest, and any change of a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.tallies import About
from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.model import PodTerm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.model import PodRules, SpreadTerm

    Helped = Callable[[Topology, int], None]

UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
NO_DOMAIN = -1


class Together:
    """The constraints of a pod, which are looked at together: a node that lacks the label of one counts for none.

    ``counted`` returns the nodes that the policies of a constraint let in, ``edits`` how often descriptions of nodes have changed.
    """

    __slots__ = ("_counted", "_edits", "_seen", "constraints")

    def __init__(self, counted: Callable[[SpreadTerm], NDArray[np.bool_]], edits: Callable[[], int]) -> None:
        self.constraints: list[Even] = []
        self._counted = counted
        self._edits = edits
        self._seen = -1

    def follow(self) -> None:
        """Count anew where nodes have changed."""
        edits = self._edits()
        if self._seen != edits or any(one.stale for one in self.constraints):
            self._seen = edits
            masks = [self._counted(one.term) for one in self.constraints]
            count = len(masks[0])
            labelled = np.logical_and.reduce([one.topology.column(count) != NOWHERE for one in self.constraints])
            for one, mask in zip(self.constraints, masks, strict=True):
                one.recount(mask & labelled)


class Even:
    """One constraint: ``counts`` are the pods in each domain by its number, ``NO_DOMAIN`` where no node counts, and ``most`` may be in one before the pod comes."""

    __slots__ = (
        "_by_count",
        "_domains",
        "_eligible",
        "_helped",
        "_least",
        "_together",
        "counts",
        "most",
        "stale",
        "tally",
        "term",
        "topology",
    )

    def __init__(
        self, term: SpreadTerm, namespace: str, kinds: Kinds, topology: Topology, together: Together, helped: Helped
    ) -> None:
        self.term = term
        self.topology = topology
        nothing = not term.selector  # an empty selector counts no pod, as none does (countPodsMatchSelector)
        meant = PodTerm("", None if nothing else term.selector, (namespace,))
        self.tally = kinds.tally(About((meant,), staying=True))
        self.counts: list[int] = []
        self.most = 0
        self.stale = True
        self._least = 0
        self._by_count: dict[int, int] = {}
        self._domains = 0
        self._eligible: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._together = together
        self._helped = helped
        together.constraints.append(self)
        self.tally.watchers[self] = None
        topology.followers[self] = None

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return [self.tally]

    def close(self) -> None:
        """Follow the counts no longer."""
        self.tally.watchers.pop(self, None)
        self.topology.followers.pop(self, None)

    def follow(self) -> None:
        """Be up to date with nodes; to be called before anything is asked."""
        self._together.follow()

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        domain = self.topology.domain[row]
        return domain >= 0 and self.counts[domain] <= self.most

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        if self.topology.domain[row] == NOWHERE:
            return NO_LABEL
        return "" if self.admits(row) else UNEVEN

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass why; the first reason of a row counts."""
        domains = self.topology.column(count)
        full = np.array([*self.counts, NO_DOMAIN], dtype=np.int64) > self.most
        return [(NO_LABEL, domains == NOWHERE), (UNEVEN, full[domains])]

    def changed(self, row: int, change: int) -> None:
        """Count a pod on a node."""
        if self.stale or row >= len(self._eligible) or not self._eligible[row]:
            return
        domain = self.topology.domain[row]
        before = self.counts[domain]
        after = self.counts[domain] = before + change
        alike = self._by_count
        alike[after] = alike.get(after, 0) + 1
        if alike[before] > 1:
            alike[before] -= 1
        else:
            del alike[before]
        if change < 0:
            self._set_least(min(self._least, after))
            self._helped(self.topology, domain)
        elif before == self._least and before not in alike:
            self._set_least(after)
            self._helped(self.topology, NOWHERE)

    def moved(self, row: int, before: int, after: int) -> None:  # noqa: ARG002 - whichever node it is
        """Take note that a node is in another domain."""
        self.stale = True

    def renewed(self) -> None:
        """Take note that pods were counted anew."""
        self.stale = True
        self._helped(self.topology, NOWHERE)

    def recount(self, eligible: NDArray[np.bool_]) -> None:
        """Count anew over the nodes that count."""
        count = len(eligible)
        self._eligible = eligible
        domains = self.topology.column(count)
        self.counts = [NO_DOMAIN] * self.topology.size
        for domain in np.unique(domains[eligible]).tolist():
            self.counts[domain] = 0
        for row, pods in self.tally.rows.items():
            if row < count and eligible[row]:
                self.counts[int(domains[row])] += pods
        self._by_count = {}
        for pods in self.counts:
            if pods >= 0:
                self._by_count[pods] = self._by_count.get(pods, 0) + 1
        self._domains = sum(self._by_count.values())
        self._set_least(min(self._by_count, default=0))
        self.stale = False

    def _set_least(self, least: int) -> None:
        self._least = least
        floor = 0 if self._domains < self.term.min_domains else least
        self.most = floor + self.term.max_skew - self.term.self_match


def topology_spread(
    rules: PodRules,
    kinds: Kinds,
    topology: Callable[[str], Topology],
    counted: Callable[[SpreadTerm], NDArray[np.bool_]],
    edits: Callable[[], int],
    helped: Helped,
) -> list[Even]:
    """Return what a node must pass, constraint by constraint; ``helped`` is called when a domain, or any, may pass that did not before."""
    together = Together(counted, edits)
    return [Even(term, rules.namespace, kinds, topology(term.topology), together, helped) for term in rules.spread]
