"""Domains: nodes with the same value of a label, as a column of numbers for each label that a rule goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from treadle.core.model import RACK_LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from treadle.core.model import NodeSpec

NOWHERE = -1
"""The domain of a node without the label."""
EACH_NODE, RACKS = "\0node", "\0rack"
"""The scopes of placement constraints, which are no labels: every node by itself, and racks."""
DEFAULT_RACK = "/default-rack"
"""The rack of a node that names none (``NetworkTopology.DEFAULT_RACK`` of Hadoop)."""


class Follower(Protocol):
    """What goes by the domains of nodes."""

    def moved(self, row: int, before: int, after: int, /) -> None:
        """Take note that a node is in another domain."""


class Topology:
    """The domain of each node by one label, or scope: ``domain[row]`` is its number, ``NOWHERE`` without the label; ``followers`` are told when it changes."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.domain: list[int] = []
        self.followers: dict[Follower, None] = {}
        self._numbers: dict[str, int] = {}
        self._column: NDArray[np.int64] | None = None

    @property
    def size(self) -> int:
        """How many domains there have been."""
        return len(self._numbers)

    def number(self, value: str) -> int:
        """Return the number of the domain with a value, one that no node has if there is none; ``NOWHERE`` is no domain."""
        return self._numbers.get(value, NOWHERE - 1)

    def see(self, row: int, spec: NodeSpec | None) -> None:
        """Take over the description of a node, None for one that is gone."""
        while len(self.domain) <= row:
            self.domain.append(NOWHERE)
        after, before = self._of(spec), self.domain[row]
        if after != before:
            self.domain[row] = after
            self._column = None
            for follower in self.followers:
                follower.moved(row, before, after)

    def see_all(self, specs: Sequence[NodeSpec | None]) -> None:
        """Take over the descriptions of all nodes, whose rows may be others than before; nobody is told."""
        self._numbers.clear()
        self.domain = [self._of(spec) for spec in specs]
        self._column = None

    def column(self, count: int) -> NDArray[np.int64]:
        """Return the domains of so many rows; not to be changed."""
        if self._column is None or len(self._column) != count:
            self._column = np.full(count, NOWHERE, dtype=np.int64)
            known = min(count, len(self.domain))
            self._column[:known] = self.domain[:known]
        return self._column

    def _of(self, spec: NodeSpec | None) -> int:
        if spec is None:
            value = None
        elif self.key == EACH_NODE:
            value = spec.name
        elif self.key == RACKS:
            value = spec.labels.get(RACK_LABEL, DEFAULT_RACK)
        else:
            value = spec.labels.get(self.key)
        return NOWHERE if value is None else self._numbers.setdefault(value, len(self._numbers))


class Topologies(dict[str, Topology]):
    """The labels that rules go by."""

    def of(self, key: str, specs: Sequence[NodeSpec | None]) -> Topology:
        """Return the domains by a label; ``specs`` are the descriptions of all nodes."""
        found = self.get(key)
        if found is None:
            found = self[key] = Topology(key)
            found.see_all(specs)
        return found

    def see(self, row: int, spec: NodeSpec | None) -> None:
        """Take over the description of a node."""
        for topology in self.values():
            topology.see(row, spec)

    def see_all(self, specs: Sequence[NodeSpec | None]) -> None:
        """Take over new descriptions of all rows."""
        for topology in self.values():
            topology.see_all(specs)
