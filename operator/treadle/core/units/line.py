"""Pods that wait in a line: the first one is served, and any of them may leave.

An ``OrderedDict`` does the same, and takes several times as long to give up its first entry, which is done for every placement.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")


class Line(Generic[T]):
    """Records in the order in which they came; each is in it once.

    One that leaves from the middle stays in ``records`` until it comes to the front, or until half of the line are such: ``gone``
    says how often. Who comes back stands at the end, so of several entries of one record the first ones are those that left. The
    front is never one that left: ``records[0]`` is the first in line, and the line is empty when ``records`` is.
    """

    __slots__ = ("_absent", "gone", "records")

    def __init__(self) -> None:
        self.records: deque[T] = deque()
        self.gone: dict[T, int] = {}
        self._absent = 0

    def __len__(self) -> int:
        return len(self.records) - self._absent

    def __bool__(self) -> bool:
        return bool(self.records)

    def __iter__(self) -> Iterator[T]:
        left = dict(self.gone)
        for record in self.records:
            if left.get(record):
                left[record] -= 1
            else:
                yield record

    @property
    def first(self) -> T:
        """The first in line. Raises ``IndexError`` if there is none."""
        return self.records[0]

    def append(self, record: T) -> None:
        """Let a pod that is not in the line stand at its end."""
        self.records.append(record)

    def popleft(self) -> T:
        """Take the first out of the line. Raises ``IndexError`` if there is none."""
        record = self.records.popleft()
        if self.gone:
            self._drop_from_front()
        return record

    def let_first(self, records: Sequence[T]) -> None:
        """Let some of those in the line stand first, in this order; the others keep theirs."""
        if all(one is other for one, other in zip(records, self, strict=False)):
            return
        first = dict.fromkeys(records)
        self.records = deque([*records, *(record for record in self if record not in first)])
        self.gone.clear()
        self._absent = 0

    def remove(self, record: T) -> None:
        """Take a pod that is in the line out of it."""
        if self.records[0] is record:
            self.popleft()
            return
        self.gone[record] = self.gone.get(record, 0) + 1
        self._absent += 1
        if 2 * self._absent > len(self.records):
            self.records = deque(self)
            self.gone.clear()
            self._absent = 0

    def _drop_from_front(self) -> None:
        records, gone = self.records, self.gone
        while gone and (times := gone.get(records[0])):
            if times > 1:
                gone[records[0]] = times - 1
            else:
                del gone[records[0]]
            records.popleft()
            self._absent -= 1
