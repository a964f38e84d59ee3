"""Which node a shape goes to next: an order over all nodes made once, a cursor in it, and the nodes that changed since.

Ranking every node for every pod would cost a pass over the columns each time. Instead a shape's order is made once; later
picks walk it. An entry that is older than its node's last change is looked at again: a node that got worse for this shape (a
placement under Spread, say) moves to a heap at the side with its new score, one that no longer fits is dropped. Nodes that
improved are read from the log of ``Nodes`` and join the heap. The better of the cursor and the heap is the answer.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.nodes import pick_in_cells, pick_preferring
from treadle.core.kernel.nodes.orders import Candidates
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fits, fitting
from treadle.core.kernel.nodes.scores import pack

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.orders import Aside
    from treadle.core.kernel.nodes.scores import Score
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes

MOST_ASIDE = 1024
"""Entries at the side of an order, beyond as many as there are nodes: one whose best node always has room is never walked, and every pod that goes adds one."""


def pick(nodes: Nodes, shape: Shape, score: Score) -> int:
    """Return the row of the best node that can take one pod of this shape now, or -1. Nothing is taken."""
    if nodes.only >= 0:
        return nodes.only if takes(nodes, nodes.only, shape) else -1
    found = shape.candidates
    if found is None or found.score is not score:
        if shape.preferences is not None:
            return pick_preferring.pick(nodes, shape, shape.preferences, score)
        if shape.between is not None:
            return pick_in_cells.pick(nodes, shape, shape.between, score)
        found = shape.candidates = Candidates(score)
        _rank(nodes, shape, found)
    elif found.seen < nodes.improved.end:
        if nodes.improved.end - found.seen > max(64, len(nodes) // 4) or len(found.side) > MOST_ASIDE + len(nodes):
            _rank(nodes, shape, found)
        else:
            _absorb(nodes, shape, found)
    demand, free = shape.demand, nodes.free
    packed = found.packed
    if packed >= 0:
        room = free[packed]
        for position, value in demand:
            if room[position] < value:
                break
        else:
            return packed
    order, side, ports = found.order, found.side, shape.ports
    changed = nodes.freed if score is pack else nodes.version  # what is only taken looks better and better to Pack
    cursor = found.cursor
    while True:
        if cursor >= len(order):
            if found.taken < len(found.rows):
                order, cursor = found.go_on(), 0
            elif not side:
                found.cursor = cursor
                return -1
        if side and (cursor >= len(order) or side[0] < order[cursor]):
            ranked, row, then = side[0]
            aside = True
        else:
            ranked, row = order[cursor]
            then = found.made
            aside = False
        room = free[row]
        for position, value in demand:
            if room[position] < value:
                break
        else:
            if (changed[row] <= then or _stands(nodes, shape, found, row, ranked)) and (
                not ports or host_ports.free(ports, nodes.ports[row])
            ):
                found.cursor = cursor
                found.packed = row if score is pack and not ports else -1
                return row
        if aside:
            heappop(side)  # still the first: what was pushed meanwhile is worse
        else:
            cursor += 1


def takes(nodes: Nodes, row: int, shape: Shape) -> bool:
    """Whether a node can take one pod of a shape now."""
    ports = shape.ports
    return (
        fits(nodes.free[row], shape.demand)
        and nodes.admits(row, shape.constraints)
        and (not ports or host_ports.free(ports, nodes.ports[row]))
        and (shape.between is None or not shape.between.refusal(row))
    )


def _stands(nodes: Nodes, shape: Shape, found: Candidates, row: int, ranked: float) -> bool:
    """Whether a node that changed since it was ranked is as good as it was; one that got worse joins the heap at the side."""
    if found.edits != nodes.edited.end and not nodes.admits(row, shape.constraints):
        return False
    entry = _entry(nodes, shape, found.score, row)
    if entry[0] > ranked:
        heappush(found.side, entry)
        return False
    return True


def _entry(nodes: Nodes, shape: Shape, score: Score, row: int) -> Aside:
    free = nodes.free[row]
    return (score(free[0], free[1], shape.memory, shape.cpu, nodes.per_memory[row], nodes.per_cpu[row]), row, nodes.clock)


def _rank(nodes: Nodes, shape: Shape, found: Candidates) -> None:
    """Evaluate the shape over every node at once."""
    columns = nodes.columns()
    found.mask = nodes.mask(shape.constraints)
    rows = np.flatnonzero(found.mask & fitting(columns[:, : len(nodes)], shape.demand))
    per_memory, per_cpu = nodes.per()
    scores = found.score(columns[0, rows], columns[1, rows], shape.memory, shape.cpu, per_memory[rows], per_cpu[rows])
    by_score = np.argsort(scores, kind="stable")
    found.scores, found.rows = scores[by_score], rows[by_score].astype(np.int32)
    found.made = nodes.clock
    found.taken = 0
    found.go_on()
    found.side = []
    found.packed = -1
    found.seen = nodes.improved.end
    found.edits = nodes.edited.end
    nodes.orders.made(found)


def _absorb(nodes: Nodes, shape: Shape, found: Candidates) -> None:
    """Look at the nodes that improved since."""
    news = nodes.improved.since(found.seen)
    if news is None:
        _rank(nodes, shape, found)
        return
    demand, free, mask, unedited = shape.demand, nodes.free, found.mask, found.edits == nodes.edited.end
    for row in set(news) if len(news) > 1 else news:
        room = free[row]
        for position, value in demand:
            if room[position] < value:
                break
        else:
            if mask[row] if unedited else nodes.admits(row, shape.constraints):
                heappush(found.side, _entry(nodes, shape, found.score, row))
    found.packed = -1
    found.seen = nodes.improved.end
