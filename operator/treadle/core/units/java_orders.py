"""Orders that survive a comparison which is not transitive: a sorted tree and a binary heap as Java's collections keep them.

With positive weights every comparison here is a total order and any sort gives the same result. A weight of zero makes shares NaN
or infinite, and "equal" is then no longer transitive; what Hadoop decides depends on how ``TreeSet`` and ``PriorityQueue`` walk.
Both are described by their algorithms: red-black insertion, and sifting in an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
Compare = Callable[[T, T], int]


class _Branch(Generic[T]):
    __slots__ = ("item", "left", "parent", "red", "right")

    def __init__(self, item: T, parent: _Branch[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.left: _Branch[T] | None = None
        self.right: _Branch[T] | None = None
        self.red = True


def tree_order(items: Iterable[T], compare: Compare[T]) -> list[T]:
    """Return the items in the order of a red-black tree that they were put into one after the other; equals are dropped."""
    tree = _Tree(compare)
    for item in items:
        tree.add(item)
    return tree.items()


class _Tree(Generic[T]):
    def __init__(self, compare: Compare[T]) -> None:
        self.compare = compare
        self.root: _Branch[T] | None = None

    def add(self, item: T) -> None:
        parent, at, side = None, self.root, 0
        while at is not None:
            side = self.compare(item, at.item)
            if side == 0:
                return
            parent, at = at, at.left if side < 0 else at.right
        new = _Branch(item, parent)
        if parent is None:
            self.root = new
        elif side < 0:
            parent.left = new
        else:
            parent.right = new
        self._balance(new)

    def _balance(self, new: _Branch[T]) -> None:
        at = new
        while (parent := at.parent) is not None and parent.red:
            above = parent.parent
            assert above is not None
            left = parent is above.left
            uncle = above.right if left else above.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                above.red = True
                at = above
                continue
            if at is (parent.right if left else parent.left):
                at = parent
                self._rotate(at, left=left)
                parent = at.parent
                assert parent is not None
            parent.red, above.red = False, True
            self._rotate(above, left=not left)
        assert self.root is not None
        self.root.red = False

    def _rotate(self, low: _Branch[T], *, left: bool) -> None:
        high = low.right if left else low.left
        assert high is not None
        inner = high.left if left else high.right
        if left:
            low.right = inner
        else:
            low.left = inner
        if inner is not None:
            inner.parent = low
        high.parent = above = low.parent
        if above is None:
            self.root = high
        elif above.left is low:
            above.left = high
        else:
            above.right = high
        if left:
            high.left = low
        else:
            high.right = low
        low.parent = high

    def items(self) -> list[T]:
        found: list[T] = []
        stack: list[_Branch[T]] = []
        at = self.root
        while stack or at is not None:
            while at is not None:
                stack.append(at)
                at = at.left
            branch = stack.pop()
            found.append(branch.item)
            at = branch.right
        return found


class Heap(Generic[T]):
    """A binary heap in an array; what is equal, or was changed since it came in, surfaces as in Java's ``PriorityQueue``."""

    def __init__(self, compare: Compare[T]) -> None:
        self.compare = compare
        self.items: list[T] = []

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, item: T) -> bool:
        return item in self.items

    def push(self, item: T) -> None:
        """Put an item in."""
        items = self.items
        items.append(item)
        at = len(items) - 1
        while at > 0:
            above = (at - 1) // 2
            if self.compare(item, items[above]) >= 0:
                break
            items[at] = items[above]
            at = above
        items[at] = item

    def pop(self) -> T:
        """Take the first item out. Raises ``IndexError`` if there is none."""
        items = self.items
        first, last = items[0], items.pop()
        if not items:
            return first
        at, size = 0, len(items)
        while at < size // 2:
            below = 2 * at + 1
            if below + 1 < size and self.compare(items[below], items[below + 1]) > 0:
                below += 1
            if self.compare(last, items[below]) <= 0:
                break
            items[at] = items[below]
            at = below
        items[at] = last
        return first
