"""The rules between pods as they are in force for one shape: which nodes they let a pod to, and when that has grown more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.kernel.nodes.rules.affinity import refuses as refused_by_affinity
from treadle.core.kernel.nodes.rules.placement_constraints import Builder
from treadle.core.kernel.nodes.rules.pod_affinity import pod_affinity
from treadle.core.kernel.nodes.rules.taints import refuses as refused_by_taints
from treadle.core.kernel.nodes.rules.topology_spread import topology_spread
from treadle.core.model import Constraints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.model import NodeSpec, SpreadTerm


MOST_NEWS = 1024
"""Domains that may pass by now which are remembered."""


class Check(Protocol):
    """What a node must pass, by its domain in one topology."""

    @property
    def topology(self) -> Topology:
        """The topology that it goes by."""

    @property
    def tallies(self) -> Sequence[Tally]:
        """The pods that are counted."""

    def follow(self) -> None:
        """Be up to date; to be called before anything is asked."""

    def admits(self, row: int, /) -> bool:
        """Whether a node passes: all nodes of a domain do, or none does."""

    def refusal(self, row: int, /) -> str:
        """Return why a node does not pass, or an empty text."""

    def refusals(self, count: int, /) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass why; the first reason of a row counts."""

    def close(self) -> None:
        """Follow the counts no longer."""


class Between:
    """The rules for pods with the same constraints: ``checks``, in kube-scheduler's order.

    ``news`` counts how often a node may pass that did not before.
    """

    __slots__ = ("_helped_in", "_nodes", "_static", "checks", "news")

    def __init__(self, constraints: Constraints, kinds: Kinds, nodes: Nodes) -> None:
        self.news = 0
        self._helped_in: list[tuple[Topology, int]] = []
        self._nodes = nodes
        self._static = Constraints(constraints.selector, constraints.affinity, constraints.tolerations)
        rules = constraints.pods
        self.checks: list[Check] = []
        if rules is not None and rules.spread:
            self.checks += topology_spread(rules, kinds, self._topology, self._counted, self._edits, self._helped)
        self.checks += pod_affinity(rules, constraints.avoided_by, kinds, self._topology, self._helped)
        if rules is not None and rules.placement:
            self.checks += self._builder(rules.application, kinds).checks(rules.placement)
        if constraints.placement is not None:
            application, placement = constraints.placement
            self.checks += self._builder(application, kinds).checks(placement)

    @property
    def topologies(self) -> dict[Topology, None]:
        """The topologies that the rules go by."""
        return {check.topology: None for check in self.checks}

    @property
    def tallies(self) -> list[Tally]:
        """The counts that the rules look at."""
        return [tally for check in self.checks for tally in check.tallies]

    def close(self) -> None:
        """Follow the counts no longer."""
        for check in self.checks:
            check.close()

    @property
    def version(self) -> tuple[int, int]:
        """What changes whenever a node may pass that did not before."""
        return self.news, self._nodes.edited.end

    def follow(self) -> None:
        """Be up to date with the nodes; to be called before checks are asked one by one."""
        for check in self.checks:
            check.follow()

    def refusal(self, row: int) -> str:
        """Return why a node refuses a pod for the pods around it, or an empty text."""
        self.follow()
        return next((reason for check in self.checks if (reason := check.refusal(row))), "")

    def remembers(self, news: int) -> bool:
        """Whether it can be told which nodes may pass that did not so long ago."""
        return self.news - news <= len(self._helped_in)

    def since(self, news: int) -> list[tuple[Topology, int]]:
        """Return the domains in which nodes may pass that did not when there had been so much news; ``NOWHERE``: it may be any."""
        return self._helped_in[len(self._helped_in) - (self.news - news) :] if news < self.news else []

    def mask(self) -> NDArray[np.bool_]:
        """Return which nodes let a pod in."""
        self.follow()
        count = len(self._nodes)
        refused = np.zeros(count, dtype=np.bool_)
        for check in self.checks:
            for _, out in check.refusals(count):
                refused |= out
        return ~refused

    def refusals(self, among: NDArray[np.bool_]) -> Counter[str]:
        """Return how many of some nodes refuse a pod, by reason."""
        self.follow()
        left, found = among.copy(), Counter[str]()
        for check in self.checks:
            for reason, out in check.refusals(len(among)):
                found[reason] += int((left & out).sum())
                left &= ~out
        return +found

    def _helped(self, topology: Topology, domain: int) -> None:
        self.news += 1
        self._helped_in.append((topology, domain))
        if len(self._helped_in) > 2 * MOST_NEWS:
            del self._helped_in[:MOST_NEWS]

    def _edits(self) -> int:
        return self._nodes.edited.end

    def _builder(self, application: str, kinds: Kinds) -> Builder:
        return Builder(application, kinds, self._topology, self._spec_of, self._helped)

    def _spec_of(self, row: int) -> NodeSpec | None:
        return self._nodes.specs[row]

    def _topology(self, key: str) -> Topology:
        return self._nodes.topologies.of(key, self._nodes.specs)

    def _counted(self, term: SpreadTerm) -> NDArray[np.bool_]:
        """Return the nodes that the policies of a constraint let in."""
        mask = self._nodes.known_rows()
        if term.honor_affinity:
            mask = mask & self._nodes.passing(("affinity", self._static.selector, self._static.affinity), self._affinity_admits)
        if term.honor_taints:
            mask = mask & self._nodes.passing(("taints", self._static.tolerations), self._taints_admit)
        return mask

    def _affinity_admits(self, node: NodeSpec) -> bool:
        return not refused_by_affinity(node, self._static)

    def _taints_admit(self, node: NodeSpec) -> bool:
        return not refused_by_taints(node, self._static)
