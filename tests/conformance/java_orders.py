"""The orders of Java's hash tables, which Hadoop follows where its rules leave an order open. A replay passes them to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def string_hash(text: str) -> int:
    value = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return value


def node_hash(name: str, port: int = 1234) -> int:
    return (493217 * (493217 * 8501 + string_hash(name)) + port) & 0xFFFFFFFF


def key_hash(priority: int, allocation: int) -> int:
    first = (517861 * 9511 + priority) & 0xFFFFFFFF
    low = (allocation ^ ((allocation & 0xFFFFFFFFFFFFFFFF) >> 32)) & 0xFFFFFFFF
    return (31 * ((31 * first + low) & 0xFFFFFFFF)) & 0xFFFFFFFF


def table_order(items: Iterable[T], hashed: Callable[[T], int], *, peak: int = 0, concurrent: bool = False) -> list[T]:
    """The items as a HashMap (or ConcurrentHashMap) walks them that once held ``peak`` and got them in this order."""
    items = list(items)
    size = 16
    most = max(peak, len(items))
    while most >= 0.75 * size if concurrent else most > 0.75 * size:
        size *= 2

    def slot(item: T) -> int:
        value = hashed(item) & 0xFFFFFFFF
        return (value ^ (value >> 16)) & (size - 1)

    return sorted(items, key=slot)


def configured(paths: Sequence[str]) -> list[str]:
    """The paths of a HashSet of configured queues."""
    return table_order(paths, string_hash)
