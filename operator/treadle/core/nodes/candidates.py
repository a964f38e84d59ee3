"""Which node a shape goes to next: an order over all nodes made once, a cursor in it, and the nodes that changed since.

Ranking every node for every pod would cost a pass over the columns each time. Instead a shape's order is made once; later
picks walk it. An entry that is older than its node's version is looked at again: a node that got worse for this shape (a
placement under Spread, say) moves to a heap at the side with its new score, one that no longer fits is dropped. Nodes that
improved are read from the log of ``Nodes`` and join the heap. The better of the cursor and the heap is the answer.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.nodes.filters import host_ports
from treadle.core.nodes.filters.resources import fits, fitting
from treadle.core.nodes.scores import pack

if TYPE_CHECKING:
    from treadle.core.nodes.columns import Nodes
    from treadle.core.nodes.scores import Score
    from treadle.core.nodes.shapes import Shape

Entry = tuple[float, int, int]
"""``(score, row, version)``: smaller scores first, then the older row."""


class Candidates:
    """One shape's order of nodes; ``seen`` is the position in the log of improved nodes up to which it is current.

    ``packed`` is the row that the last pick gave, while the score is one under which a node that was taken only gets better.
    ``edits`` is how long the log of edited nodes was when the order was made: while it has not grown, no description need be read.
    """

    __slots__ = ("cursor", "edits", "order", "packed", "score", "seen", "side")

    def __init__(self, score: Score) -> None:
        self.order: list[Entry] = []
        self.cursor = 0
        self.side: list[Entry] = []
        self.seen = 0
        self.edits = 0
        self.packed = -1
        self.score = score


def pick(nodes: Nodes, shape: Shape, score: Score) -> int:
    """Return the row of the best node that can take one pod of this shape now, or -1. Nothing is taken."""
    found = shape.candidates
    if found is None or found.score is not score:
        found = shape.candidates = Candidates(score)
        _rank(nodes, shape, found)
    elif found.seen < len(nodes.improved):
        if len(nodes.improved) - found.seen > max(64, len(nodes) // 4):
            _rank(nodes, shape, found)
        else:
            _absorb(nodes, shape, found)
    demand, free = shape.demand, nodes.free
    packed = found.packed
    if packed >= 0 and found.edits == len(nodes.edited) and not shape.ports:
        room = free[packed]
        for position, value in demand:
            if room[position] < value:
                break
        else:
            return packed
    order, side, version = found.order, found.side, nodes.version
    ports = shape.ports
    edited = found.edits != len(nodes.edited)
    while True:
        cursor = found.cursor
        if side and (cursor >= len(order) or side[0] < order[cursor]):
            entry, aside = side[0], True
        elif cursor < len(order):
            entry, aside = order[cursor], False
        else:
            return -1
        _, row, then = entry
        room = free[row]
        usable = True
        for position, value in demand:
            if room[position] < value:
                usable = False
                break
        if usable and then != version[row]:
            if edited and not nodes.admits(row, shape.constraints):
                usable = False
            else:
                current = score(room[0], room[1], shape.memory, shape.cpu, nodes.per_memory[row], nodes.per_cpu[row])
                if current > entry[0]:
                    heappush(side, (current, row, version[row]))
                    usable = False
        if usable and ports and not host_ports.free(ports, nodes.ports[row]):
            usable = False
        if usable:
            found.packed = row if score is pack else -1
            return row
        if not aside:
            found.cursor += 1
        else:
            heappop(side)  # still the first: what was pushed meanwhile is worse


def _entry(nodes: Nodes, shape: Shape, score: Score, row: int) -> Entry:
    free = nodes.free[row]
    return (score(free[0], free[1], shape.memory, shape.cpu, nodes.per_memory[row], nodes.per_cpu[row]), row, nodes.version[row])


def _rank(nodes: Nodes, shape: Shape, found: Candidates) -> None:
    """Evaluate the shape over every node at once."""
    columns = nodes.columns()
    rows = np.flatnonzero(nodes.mask(shape.constraints) & fitting(columns[:, : len(nodes)], shape.demand))
    per_memory, per_cpu = nodes.per()
    scores = found.score(columns[0, rows], columns[1, rows], shape.memory, shape.cpu, per_memory[rows], per_cpu[rows])
    by_score = np.argsort(scores, kind="stable")
    version = nodes.version
    found.order = [
        (value, row, version[row]) for value, row in zip(scores[by_score].tolist(), rows[by_score].tolist(), strict=True)
    ]
    found.cursor = 0
    found.side = []
    found.packed = -1
    found.seen = len(nodes.improved)
    found.edits = len(nodes.edited)


def _absorb(nodes: Nodes, shape: Shape, found: Candidates) -> None:
    """Look at the nodes that improved since."""
    log = nodes.improved
    for row in set(log[found.seen :]):
        if fits(nodes.free[row], shape.demand) and nodes.admits(row, shape.constraints):
            heappush(found.side, _entry(nodes, shape, found.score, row))
    found.packed = -1
    found.seen = len(log)
