"""Who looks on while a driver gives a node's room away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offers.nodes import NodeManager


class Beside:
    """Is told before and after each decision on a node. This one does nothing with it."""

    def before(self, node: NodeManager) -> None:
        """One container's room of a node is about to be given away."""

    def after(self, node: NodeManager) -> None:
        """It was, or the node was held, or nothing came of it."""
