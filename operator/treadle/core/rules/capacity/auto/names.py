"""The queues in force as mapping rules see them: those that exist, and where more may be made."""

from __future__ import annotations

from treadle.core.model.mapping import Known
from treadle.core.rules.capacity.tree import CapacityTree


class TreeNames:
    """The queues of a tree, looked up at the moment of asking."""

    def __init__(self, tree: CapacityTree) -> None:
        self.tree = tree

    def find(self, name: str) -> Known | None:
        """Return the queue of a full path, or the only one with this name of its own."""
        queue = self.tree.find(name)
        if queue is None:
            return None
        deep = queue.parental and (queue.dynamic or queue.spec.flexible.enabled)
        return Known(queue.path, leaf=not queue.parental, makes=deep or queue.entitlements is not None, deep=deep)

    def ambiguous(self, name: str) -> bool:
        """Whether several queues have this name of their own."""
        return self.tree.ambiguous(name)
