"""YARN's placement constraints (``PlacementConstraintsUtil.canSatisfyConstraints`` of Hadoop).

A single constraint holds where all of its targets do: of each tag there are at least, and at most, so many in the scope, not
counting the pod that is placed; the node is in the partition; its attribute is, or is not, the first of the values. A negated
partition is looked at as one that is not. A scope is the node, or its rack; attributes are labels of nodes.

What can make it pass: any change of how many there are, and the labels of a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.tags import term
from treadle.core.kernel.between.tallies import About
from treadle.core.kernel.between.topologies import EACH_NODE, NOWHERE, RACKS
from treadle.core.model.placement_constraints import (
    MOST,
    NODE,
    RACK,
    And,
    AttributeTarget,
    DelayedOr,
    Or,
    PartitionTarget,
    PlacementConstraint,
    Single,
    TagTarget,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from treadle.core.kernel.between.kinds import Kinds
    from treadle.core.kernel.between.tallies import DomainCounts, Tally
    from treadle.core.kernel.between.topologies import Topology
    from treadle.core.model import NodeSpec

    Helped = Callable[[Topology, int], None]
    SpecOf = Callable[[int], NodeSpec | None]

PARTITION_LABEL = "treadle.dev/partition"
"""The label of nodes that names partitions."""
REASON = "node(s) didn't satisfy placement constraints"


class Tagged:
    """At least and at most so many pods with each of some tags in the node's scope."""

    __slots__ = ("_helped", "counts", "least", "most", "topology")

    def __init__(self, counts: Sequence[DomainCounts], topology: Topology, least: int, most: int, helped: Helped) -> None:
        self.topology = topology
        self.counts = counts
        self.least = least
        self.most = most
        self._helped = helped
        for one in counts:
            one.followers[self] = None

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return [one.tally for one in self.counts]

    def close(self) -> None:
        """Follow the counts no longer."""
        for one in self.counts:
            one.followers.pop(self, None)

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        domain, least, most = self.topology.domain[row], self.least, self.most
        for one in self.counts:
            count = one.counts.get(domain, 0)
            if (least > 0 and count < least) or (most < MOST and count > most):
                return False
        return True

    def counted(self, domain: int, change: int) -> None:
        """Take note that there are more, or fewer, in a domain."""
        if (change >= 0 and self.least > 0) or (change <= 0 and self.most < MOST):
            self._helped(self.topology, domain)


class Described:
    """What a node's labels must say."""

    __slots__ = ("_holds", "_spec_of", "tallies", "topology")

    def __init__(self, holds: Callable[[NodeSpec], bool], spec_of: SpecOf, topology: Topology) -> None:
        self.topology = topology
        self.tallies: list[Tally] = []
        self._holds = holds
        self._spec_of = spec_of

    def close(self) -> None:
        """Follow nothing."""

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        spec = self._spec_of(row)
        return spec is not None and self._holds(spec)


class Joined:
    """Several of which all must hold, or one."""

    __slots__ = ("all_of_them", "children", "topology")

    def __init__(self, children: Sequence[Part], topology: Topology, *, all_of_them: bool) -> None:
        self.topology = topology
        self.children = children
        self.all_of_them = all_of_them

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return [tally for child in self.children for tally in child.tallies]

    def close(self) -> None:
        """Follow the counts no longer."""
        for child in self.children:
            child.close()

    def admits(self, row: int) -> bool:
        """Whether a node passes."""
        for child in self.children:
            if child.admits(row) != self.all_of_them:
                return not self.all_of_them
        return self.all_of_them


Part = Tagged | Described | Joined


class Placement:
    """One constraint that must hold, as a check of nodes."""

    __slots__ = ("admits", "part", "topology")

    def __init__(self, part: Part) -> None:
        self.part = part
        self.topology = part.topology
        self.admits = part.admits

    @property
    def tallies(self) -> list[Tally]:
        """The pods that are counted."""
        return self.part.tallies

    def close(self) -> None:
        """Follow the counts no longer."""
        self.part.close()

    def follow(self) -> None:
        """Be up to date, which it always is."""

    def refusal(self, row: int) -> str:
        """Return why a node does not pass, or an empty text."""
        return "" if self.admits(row) else REASON

    def refusals(self, count: int) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return for so many rows which do not pass; a domain is asked once."""
        domains = self.topology.column(count)
        refused = np.zeros(count, dtype=np.bool_)
        _, firsts, each = np.unique(domains, return_index=True, return_inverse=True)
        answers = np.array([not self.admits(first) for first in firsts.tolist()], dtype=np.bool_)
        refused[:] = answers[each]
        return [(REASON, refused)]


class Builder:
    """What constraints of an application (``namespace/name``) are made into checks with; ``topology`` gives the domains of a scope."""

    def __init__(
        self, application: str, kinds: Kinds, topology: Callable[[str], Topology], spec_of: SpecOf, helped: Helped
    ) -> None:
        self._application = application
        self._kinds = kinds
        self._topology = topology
        self._spec_of = spec_of
        self._helped = helped

    def checks(self, constraints: Sequence[PlacementConstraint]) -> list[Placement]:
        """Return a check for each part of which all must hold."""
        found: list[Placement] = []
        for one in constraints:
            if isinstance(one, And):
                found += self.checks(one.children)
            elif isinstance(one, Single):
                found += [Placement(part) for part in self._targets(one, self._helped)]
            else:
                found.append(Placement(self._part(one, self._helped)))
        return found

    def _part(self, constraint: PlacementConstraint, helped: Helped) -> Part:
        each = self._topology(EACH_NODE)

        def anywhere(_topology: Topology, _domain: int) -> None:
            helped(each, NOWHERE)

        match constraint:
            case Or(children) | And(children) | DelayedOr(children):  # those in force: ``kernel.pods.delays``
                parts = [self._part(child, anywhere) for child in children]
                return Joined(parts, each, all_of_them=isinstance(constraint, And))
            case Single():
                return Joined(self._targets(constraint, anywhere), each, all_of_them=True)

    def _targets(self, single: Single, helped: Helped) -> list[Part]:
        return [self._target(single, target, helped) for target in single.targets]

    def _target(self, single: Single, target: TagTarget | PartitionTarget | AttributeTarget, helped: Helped) -> Part:
        match target:
            case TagTarget() if single.scope not in {NODE, RACK}:  # there are no containers in any other
                return Described(lambda _: single.least <= 0, self._spec_of, self._topology(EACH_NODE))
            case TagTarget():
                topology = self._topology(RACKS if single.scope == RACK else EACH_NODE)
                about = [About((term(target, tag, self._application),)) for tag in target.tags]
                counts = [self._kinds.tally(one).by(topology) for one in about]
                return Tagged(counts, topology, single.least, single.most, helped)
            case PartitionTarget(values):
                wanted = values[0] if values else ""
                return Described(
                    lambda spec: spec.labels.get(PARTITION_LABEL, "") == wanted, self._spec_of, self._topology(EACH_NODE)
                )
            case AttributeTarget(key, values):
                value, equal = values[0], single.operator != "NE"
                return Described(lambda spec: (spec.labels.get(key) == value) is equal, self._spec_of, self._topology(EACH_NODE))
