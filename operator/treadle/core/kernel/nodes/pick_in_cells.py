"""Which node a shape with rules between pods goes to next: the best of the first ones of its cells (``cell_orders``).

It is the walk of ``candidates``, in each cell that the rules by topologies with few domains let in. Rules by topologies with many
domains, as host names, are asked of the node whose turn it is. One that is refused leaves the order, and comes back when the
rules tell that its domain may pass (``Between.since``).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.between.topologies import NOWHERE
from treadle.core.kernel.nodes.cell_orders import CellOrders
from treadle.core.kernel.nodes.cells import Cells
from treadle.core.kernel.nodes.orders import Candidates
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fits, fitting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from treadle.core.kernel.between.rules import Between
    from treadle.core.kernel.nodes.parts import Parts
    from treadle.core.kernel.nodes.scores import Score
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes

MOST_OUTDATED = 256
"""Entries that were worth less than when they were made up to which orders are gone on with, beyond a sixteenth of the nodes."""
MOST_TAKEN = 256
"""Changes of nodes after which a shape with orders of its own does not begin with those that were made for another."""


def pick(nodes: Nodes, shape: Shape, between: Between, score: Score) -> int:
    """Return the row of the best node that can take one pod of this shape now, or -1. Nothing is taken."""
    between.follow()
    cells = shape.cells
    if cells is None or not (_goes_on(cells.orders, nodes, score) and _absorb(cells, nodes, shape, between)):
        cells = shape.cells = _made(nodes, shape, between, score)
    orders = cells.orders
    best: tuple[float, int] | None = None
    for order, first in zip(orders.each, orders.parts.firsts, strict=True):
        for admits in cells.of_cells:
            if not admits(first):
                break
        else:
            entry = _first(nodes, shape, cells, order)
            if entry is not None and (best is None or entry < best):
                best = entry
    return -1 if best is None else best[1]


def _first(nodes: Nodes, shape: Shape, cells: Cells, found: Candidates) -> tuple[float, int] | None:
    """Return the score and the row of the best node of an order that can take a pod; those that cannot are dropped."""
    demand, free, version, side, ports = shape.demand, nodes.free, nodes.version, found.side, shape.ports
    of_nodes = cells.of_nodes
    while True:
        order, cursor = found.order, found.cursor
        if cursor >= len(order):
            if found.taken < len(found.rows):
                order, cursor = found.go_on(), 0
            elif not side:
                return None
        aside = bool(side) and (cursor >= len(order) or side[0] < order[cursor])
        if aside:
            ranked, row, then = side[0]
        else:
            ranked, row = order[cursor]
            then = found.made
        room = free[row]
        for position, value in demand:
            if room[position] < value:
                break
        else:
            now = ranked if version[row] <= then else _score(nodes, shape, found.score, row)
            if now > ranked:
                cells.orders.outdated += 1
                heappush(side, (now, row, nodes.clock))  # after what is dropped below, which was first
            elif not ports or host_ports.free(ports, nodes.ports[row]):
                for admits in of_nodes:
                    if not admits(row):
                        break
                else:
                    return now, row
        if aside:
            heappop(side)
        else:
            found.cursor += 1


def _goes_on(orders: CellOrders, nodes: Nodes, score: Score) -> bool:
    """Whether orders can be gone on with."""
    if (
        orders.score is not score
        or orders.edits != nodes.edited.end
        or nodes.improved.end - orders.seen > max(64, len(nodes) // 4)
        or orders.outdated > MOST_OUTDATED + len(nodes) // 16
    ):
        return False
    return all(order.score is score for order in orders.each)  # none is forgotten


def _made(nodes: Nodes, shape: Shape, between: Between, score: Score) -> Cells:
    """Return orders for a shape: those of shapes that are alike but for rules by topologies with few domains, or its own."""
    parts = nodes.parts(between.topologies)
    key = (shape.demand, shape.constraints, tuple(parts.coarse), between.place)
    shared = nodes.shared.get(key)
    if shared is not None and not (_goes_on(shared, nodes, score) and _follow(shared, nodes, shape)):
        shared = None
    own = any(check.topology not in parts.coarse for check in between.checks)
    if shared is None or (own and nodes.moves - shared.moves > MOST_TAKEN):
        shared = _ranked(nodes, shape, score, parts, between.where())
        nodes.shared.made(key, shared)
    if not own:
        return Cells(shared, between)
    orders = shared.copy([Candidates(score) for _ in shared.each])
    for order, other in zip(orders.each, shared.each, strict=True):
        order.side = list(other.side)
        nodes.orders.made(order)
    return Cells(orders, between)


def _ranked(nodes: Nodes, shape: Shape, score: Score, parts: Parts, where: NDArray[np.bool_] | None) -> CellOrders:
    """Evaluate the shape over every node at once, or those where it can be at all."""
    columns, mask = nodes.columns()[:, : len(nodes)], nodes.mask(shape.constraints)
    if where is not None:
        mask = mask & where
    rows = np.flatnonzero(mask & fitting(columns, shape.demand))
    per_memory, per_cpu = nodes.per()
    scores = score(columns[0, rows], columns[1, rows], shape.memory, shape.cpu, per_memory[rows], per_cpu[rows])
    by_score = np.argsort(scores, kind="stable")
    rows, scores = rows[by_score], scores[by_score]
    of, each = parts.of[rows], []
    for number in range(len(parts.firsts)):
        order, here = Candidates(score), of == number
        order.scores, order.rows = scores[here], rows[here].astype(np.int32)
        order.made = nodes.clock
        order.go_on()
        nodes.orders.made(order)
        each.append(order)
    return CellOrders(score, parts, each, nodes.improved.end, nodes.edited.end, nodes.moves)


def _follow(orders: CellOrders, nodes: Nodes, shape: Shape) -> bool:
    """Look at the nodes that improved since; returns whether that was possible."""
    if orders.seen < nodes.improved.end:
        news = nodes.improved.since(orders.seen)
        if news is None:
            return False
        _add(orders, nodes, shape, set(news))
        orders.outdated += len(news)
        orders.seen = nodes.improved.end
    return True


def _absorb(cells: Cells, nodes: Nodes, shape: Shape, between: Between) -> bool:
    """Look at the nodes that improved since, and at the domains that may pass by now; returns whether that was possible."""
    orders = cells.orders
    if not _follow(orders, nodes, shape):
        return False
    if cells.of_nodes and cells.news != between.news:
        if not between.remembers(cells.news):
            return False
        rows: set[int] = set()
        for topology, domain in between.since(cells.news):
            if topology not in orders.parts.coarse:
                if domain == NOWHERE:
                    return False
                rows.update(np.flatnonzero(topology.column(len(nodes)) == domain).tolist())
        _add(orders, nodes, shape, rows)
    cells.news = between.news
    return True


def _add(orders: CellOrders, nodes: Nodes, shape: Shape, rows: set[int]) -> None:
    of, known = orders.parts.of, len(orders.parts.of)
    for row in rows:
        # One that was never described is in no cell.
        if row < known and fits(nodes.free[row], shape.demand) and nodes.admits(row, shape.constraints):
            heappush(orders.each[int(of[row])].side, (_score(nodes, shape, orders.score, row), row, nodes.clock))


def _score(nodes: Nodes, shape: Shape, score: Score, row: int) -> float:
    free = nodes.free[row]
    found: float = score(free[0], free[1], shape.memory, shape.cpu, nodes.per_memory[row], nodes.per_cpu[row])
    return found
