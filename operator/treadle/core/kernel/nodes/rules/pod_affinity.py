"""Affinity and anti-affinity between pods (plugin InterPodAffinity).

A pod with required affinity goes only where, for each term, a pod that all of its terms are about is in the node's domain. The
first pod of a series may go to any node that has all the labels: where there is no such pod in the cluster and it would be one
itself. A pod goes to no domain in which a pod is that a term of its anti-affinity is about, and to none in which a pod has a term
of anti-affinity that is about it.

What can make it pass: a pod that comes, for affinity; one that leaves, for anti-affinity, and for the affinity of the first of a
series; the labels of a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.tallies import About
from treadle.core.kernel.between.topologies import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import DomainCounts, Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.model import PodRules, PodTerm

    Helped = Callable[[Topology, int], None]

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
AVOIDED = "node(s) didn't satisfy existing pods anti-affinity rules"
OUTSIDE = "node(s) weren't in the topology domain of the gang"


class Away:
    """No pod of a count may be in the node's domain."""

    __slots__ = ("_helped", "_reason", "counts", "topology")

    def __init__(self, counts: DomainCounts, reason: str, helped: Helped) -> None:
        self.topology = counts.topology
        self.counts = counts
        self._reason = reason
        self._helped = helped
        counts.listeners[self] = None

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return [self.counts.tally]

    def close(self) -> None:
        """Follow the counts no longer."""
        self.counts.listeners.pop(self, None)

    def follow(self) -> None:
        """Be up to date, which it always is."""

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        return self.topology.domain[row] not in self.counts.counts

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        return "" if self.admits(row) else self._reason

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass."""
        return [(self._reason, self.counts.column(count))]

    def came(self, domain: int) -> None:
        """Take note of the first pod in a domain: nothing passes for that."""

    def left(self, domain: int) -> None:
        """Take note that no pod is in a domain any more."""
        self._helped(self.topology, domain)


class Series:
    """The pods that all of a pod's terms of affinity are about, among which it may be the first."""

    __slots__ = ("_first", "_kinds", "_known", "_rules", "counts")

    def __init__(self, rules: PodRules, kinds: Kinds, topology: Callable[[str], Topology]) -> None:
        meant = kinds.tally(About(tuple(map(anywhere, rules.affinity))))
        self.counts = [meant.by(topology(term.topology)) for term in rules.affinity]
        self._rules = rules
        self._kinds = kinds
        self._first, self._known = False, -1

    @property
    def begins(self) -> bool:
        """Whether there is no such pod yet in any domain, and the pod will be one."""
        for counts in self.counts:
            if counts.counts:
                return False
        rules, kinds = self._rules, self._kinds
        if self._known != kinds.relabelled:
            self._known, own = kinds.relabelled, dict(rules.labels)
            self._first = all(kinds.selected(term, rules.namespace, own) for term in rules.affinity)
        return self._first


class Near:
    """A pod of a series must be in the node's domain by one of its topologies, or the series begins there."""

    __slots__ = ("_counts", "_helped", "_reason", "_series", "topology")

    def __init__(self, series: Series, counts: DomainCounts, helped: Helped, reason: str = AFFINITY) -> None:
        self.topology = counts.topology
        self._reason = reason
        self._series = series
        self._counts = counts
        self._helped = helped
        counts.listeners[self] = None

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return [self._counts.tally]

    def close(self) -> None:
        """Follow the counts no longer."""
        self._counts.listeners.pop(self, None)

    def follow(self) -> None:
        """Be up to date, which it always is."""

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        domain = self.topology.domain[row]
        return domain in self._counts.counts or (domain != NOWHERE and self._series.begins)

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        return "" if self.admits(row) else self._reason

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass."""
        return [(self._reason, self.topology.column(count) == NOWHERE if self._series.begins else ~self._counts.column(count))]

    def came(self, domain: int) -> None:
        """Take note of the first pod in a domain."""
        self._helped(self.topology, domain)

    def left(self, domain: int) -> None:  # noqa: ARG002 - wherever it was
        """Take note that no pod is in a domain any more: the series may begin anew."""
        if self._series.begins:
            self._helped(self.topology, NOWHERE)


def pod_affinity(
    rules: PodRules | None, avoided_by: tuple[PodTerm, ...], kinds: Kinds, topology: Callable[[str], Topology], helped: Helped
) -> list[Near | Away]:
    """Return what a node must pass, in kube-scheduler's order; ``helped`` is called when a domain may pass that did not before."""
    found: list[Near | Away] = []
    if rules is not None and rules.affinity:
        series = Series(rules, kinds, topology)
        found += [Near(series, counts, helped) for counts in series.counts]
    for term in rules.anti_affinity if rules is not None else ():
        if term.selector is not None:
            found.append(Away(kinds.tally(About((anywhere(term),))).by(topology(term.topology)), ANTI_AFFINITY, helped))
    found += [Away(kinds.carriers(term).by(topology(term.topology)), AVOIDED, helped) for term in avoided_by]
    return found


def in_gang(rules: PodRules, kinds: Kinds, topology: Callable[[str], Topology], helped: Helped) -> list[Near]:
    """Return what holds a pod to the domain in which others of its gang are: the first one may go to any domain."""
    series = Series(rules, kinds, topology)
    return [Near(series, counts, helped, OUTSIDE) for counts in series.counts]


def anywhere(term: PodTerm) -> PodTerm:
    """Return a term without its topology: which pods it is about."""
    return type(term)("", term.selector, term.namespaces, term.namespace_selector)
