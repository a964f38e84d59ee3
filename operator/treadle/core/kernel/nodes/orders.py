"""The order over all nodes that was made for a shape, and which of such orders are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.scores import Score

Entry = tuple[float, int]
"""``(score, row)``: smaller scores first, then the older row."""
Aside = tuple[float, int, int]
"""An entry of the heap: the same, and the clock of the nodes when it was made."""

CHUNK = 64
"""Entries of an order that are taken out of its arrays at a time: most orders are never walked to their end."""
MOST_RANKED = 4_000_000
"""Entries of all orders together, a dozen bytes each; beyond that the oldest orders are forgotten, and made again if they are asked for."""


class Candidates:
    """One shape's order of nodes; ``seen`` is the position in the log of improved nodes up to which it is current.

    ``scores`` and ``rows`` are the whole order, ``order`` a part of it, which ends before ``taken``; ``made`` is the clock of the
    nodes when it was made. ``packed`` is the row that the last pick gave, while the score is one under which a node that was
    taken only gets better. Any news of a node ends it. ``edits`` is how long the log of edited nodes was when the order was made:
    while it has not grown, no description need be read, and ``mask`` says which nodes' descriptions admit the shape.
    """

    __slots__ = ("cursor", "edits", "made", "mask", "order", "packed", "rows", "score", "scores", "seen", "side", "taken")

    def __init__(self, score: Score) -> None:
        self.scores: NDArray[np.float64] = np.zeros(0)
        self.rows: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self.made = 0
        self.order: list[Entry] = []
        self.cursor = self.taken = 0
        self.side: list[Aside] = []
        self.seen = 0
        self.edits = 0
        self.mask: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.packed = -1
        self.score = score

    def go_on(self) -> list[Entry]:
        """Take the next part of the order, which is empty at the end."""
        start, self.taken = self.taken, min(self.taken + CHUNK, len(self.rows))
        self.order = list(zip(self.scores[start : self.taken].tolist(), self.rows[start : self.taken].tolist(), strict=True))
        self.cursor = 0
        return self.order

    def forget(self) -> None:
        """Give up all entries: it has to be made anew before it is used."""
        self.score = _no_score
        self.scores, self.rows, self.mask = np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_)
        self.edits = -1
        self.order, self.side = [], []
        self.cursor = self.taken = 0
        self.packed = -1


def _no_score(*_: object) -> float:
    """Score nothing: a forgotten order has been made by no score that is in use."""
    return 0.0


class Orders:
    """The orders that are kept, the oldest first, and how many ``entries`` they have together."""

    __slots__ = ("entries", "kept")

    def __init__(self) -> None:
        self.kept: dict[Candidates, int] = {}
        self.entries = 0

    def made(self, order: Candidates) -> None:
        """Take note of an order that was made, and forget the oldest ones where there are too many entries."""
        self.entries += len(order.rows) - self.kept.pop(order, 0)
        self.kept[order] = len(order.rows)
        while self.entries > MOST_RANKED and len(self.kept) > 1:
            self._forget(next(iter(self.kept)))

    def drop(self, orders: Iterable[Candidates]) -> None:
        """Forget some orders: they have to be made anew before they are used."""
        for order in orders:
            if order in self.kept:
                self._forget(order)
            else:
                order.forget()

    def keep(self, used: Collection[Candidates]) -> None:
        """Forget all other orders."""
        for order in [order for order in self.kept if order not in used]:
            self._forget(order)

    def _forget(self, order: Candidates) -> None:
        self.entries -= self.kept.pop(order)
        order.forget()
