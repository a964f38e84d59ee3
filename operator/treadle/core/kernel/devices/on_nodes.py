"""What the allocator said of claims on nodes, kept until devices there are taken or come: for all pods whose claims ask for the same.

Pods that share a claim are a shape of their own, so hundreds of shapes may ask for the same devices; each node is searched once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.model import NodeSpec
    from treadle.core.model.devices import WantedDevices

    Asked = tuple[WantedDevices, ...]
    """Claims without their names."""
    Stamp = tuple[int, int]

ANYWHERE = ""
SPARE = 64
"""Answers beyond twice as many as there are nodes for which most are of nodes that are gone."""


class Answers:
    """Why nodes have not what is asked for, by node; an empty text where one has it. ``users`` counts the rules that ask."""

    __slots__ = ("_by_node", "users")

    def __init__(self) -> None:
        self.users = 0
        self._by_node: dict[str, tuple[NodeSpec, Stamp, str]] = {}

    def of(self, node: NodeSpec, stamp: Stamp) -> str | None:
        """Return the answer of a node as it is, None where it is not known."""
        known = self._by_node.get(node.name)
        return known[2] if known is not None and known[0] is node and known[1] == stamp else None

    def keep(self, node: NodeSpec, stamp: Stamp, answer: str, nodes: int) -> None:
        """Keep the answer of a node, of so many."""
        if len(self._by_node) > 2 * nodes + SPARE:
            self._by_node.clear()
        self._by_node[node.name] = node, stamp, answer


class OnNodes:
    """Answers by what is asked; a stamp tells whether devices of a node have changed since."""

    def __init__(self) -> None:
        self._changes = 0
        self._everywhere = 0
        self._at: dict[str, int] = {}
        self._asked: dict[Asked, Answers] = {}

    def stamp(self, node: str) -> Stamp:
        """Return what is another one when devices of a node have been taken, or have come, or are described otherwise."""
        return self._everywhere, self._at.get(node, 0)

    def changed(self, node: str) -> None:
        """Take note that devices of a node, or any (an empty name), are not as they were."""
        self._changes += 1
        if node == ANYWHERE:
            self._everywhere = self._changes
            self._at.clear()
        else:
            self._at[node] = self._changes

    def without(self, node: str) -> None:
        """Take note that a node has no devices of its own any more: nothing is kept of it."""
        if self._at.pop(node, None) is not None:
            self._changes += 1
            self._everywhere = self._changes  # no stamp of it is to look like one from before

    def open(self, asked: Asked) -> Answers:
        """Return the answers for some claims, to whoever asks for them until it closes them."""
        answers = self._asked.setdefault(asked, Answers())
        answers.users += 1
        return answers

    def close(self, asked: Asked) -> None:
        """Forget the answers when nobody asks any more."""
        answers = self._asked.get(asked)
        if answers is not None:
            answers.users -= 1
            if not answers.users:
                del self._asked[asked]
