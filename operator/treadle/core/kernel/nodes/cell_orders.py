"""The orders of nodes for shapes with rules about other pods: one for each cell of nodes (``parts``).

What a rule by a topology with few domains says holds for a whole cell, so it is asked once a cell, and pods that alternate between
zones never make an order anew. Shapes whose rules all are of that kind and that are alike but for these rules share their orders,
since what leaves an order does so for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from treadle.core.kernel.nodes.orders import Candidates
    from treadle.core.kernel.nodes.parts import Parts
    from treadle.core.kernel.nodes.scores import Score

MOST_SHARED = 64
"""Orders that are kept to be shared."""


class CellOrders:
    """An order of nodes for each cell.

    ``seen`` and ``edits`` are how far the logs of improved and edited nodes have been read. ``outdated`` counts the entries that were
    found to be worth less than when they were made, ``moves`` is how often nodes had changed by then.
    """

    __slots__ = ("each", "edits", "moves", "outdated", "parts", "score", "seen")

    def __init__(self, score: Score, parts: Parts, each: list[Candidates], seen: int, edits: int, moves: int) -> None:
        self.score = score
        self.parts = parts
        self.each = each
        self.seen = seen
        self.edits = edits
        self.moves = moves
        self.outdated = 0

    def copy(self, made: list[Candidates]) -> CellOrders:
        """Return orders that go on from the same arrays; ``made`` are new ones, with nothing taken out."""
        for new, old in zip(made, self.each, strict=True):
            new.scores, new.rows, new.made = old.scores, old.rows, old.made
            new.go_on()
        return CellOrders(self.score, self.parts, made, self.seen, self.edits, self.moves)


class SharedOrders(dict["Hashable", CellOrders]):
    """Orders by what shapes that share them have in common, the oldest first."""

    def made(self, key: Hashable, orders: CellOrders) -> None:
        """Take note of orders that were made, and forget the oldest ones where there are too many."""
        self.pop(key, None)
        self[key] = orders
        if len(self) > MOST_SHARED:
            del self[next(iter(self))]
