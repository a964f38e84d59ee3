"""What a shape with rules about other pods goes to nodes by: its orders (``cell_orders``), and its rules, parted by whether they hold for whole cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.between.rules import Between
    from treadle.core.kernel.nodes.cell_orders import CellOrders


class Cells:
    """The orders of one shape, and its rules: ``of_cells`` are asked once a cell, ``of_nodes`` of each node; ``news`` is how far theirs has been read."""

    __slots__ = ("news", "of_cells", "of_nodes", "orders")

    def __init__(self, orders: CellOrders, between: Between) -> None:
        self.orders = orders
        coarse = orders.parts.coarse
        self.of_cells = [check.admits for check in between.checks if check.topology in coarse]
        self.of_nodes = [check.admits for check in between.checks if check.topology not in coarse]
        self.news = between.news
