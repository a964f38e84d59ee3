"""Opportunistic pods that wait, those together that are alike: a pass looks at one of each kind, however many there are."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.shapes import NO_GANG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.tree.members import Application, PodRecord

    _Key = tuple[Application | None, Shape, tuple[tuple[str, int], ...], int, bool]


class Alike:
    """Pods of an application that are alike: in their shape, in what they will use, in priority, and in whether they are masters. What holds for one holds for all.

    ``pods`` are in the order in which they came, unless they are ``mixed``.
    """

    __slots__ = ("key", "mixed", "pods")

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.pods: dict[str, PodRecord] = {}
        self.mixed = False

    @property
    def first(self) -> PodRecord:
        """One of them, who stands for all."""
        return next(iter(self.pods.values()))


class Lines:
    """Those that wait, by kind. Each has a number, by which those of several kinds are in the order in which they came."""

    def __init__(self) -> None:
        self.kinds: dict[_Key, Alike] = {}
        self.of: dict[str, Alike] = {}
        """The kind of each, by uid."""
        self._numbers: dict[str, int] = {}
        self._last = 0
        self.to_look_at: deque[str] = deque()
        """Those of which it is not looked yet in this turn whether they have another shape by now."""

    def enter(self, record: PodRecord) -> None:
        """Take up a pod that has come to wait, or waits again since it was edited: then it keeps its number."""
        uid = record.spec.uid
        self.leave(uid)
        known = uid in self._numbers
        if not known:
            self._last += 1
            self._numbers[uid] = self._last
        self._join(record)
        self.of[uid].mixed |= known

    def leave(self, uid: str) -> None:
        """Take out a pod that does not wait at present, if it did; its number is kept until ``forget``."""
        if uid in self.of:
            self._part(uid)

    def forget(self, uid: str) -> None:
        """Forget the number of a pod that was placed, or is gone."""
        self.leave(uid)
        self._numbers.pop(uid, None)

    def rejoin(self, record: PodRecord) -> None:
        """Give a pod whose shape is another by now a place among others of its kind, if it waits."""
        uid = record.spec.uid
        if uid in self.of:
            self._part(uid)
            self._join(record)
            self.of[uid].mixed = True

    def by_gang(self) -> dict[Gang, list[PodRecord]]:
        """Return those of gangs, in the order in which they came."""
        found: dict[Gang, list[PodRecord]] = {}
        for kind in self.kinds.values():
            gang = kind.key[1].gang
            if gang != NO_GANG:
                found.setdefault(gang, []).extend(kind.pods.values())
        for pods in found.values():
            pods.sort(key=lambda one: self._numbers[one.spec.uid])
        return found

    def in_order(self, kinds: Iterable[Alike], over: Callable[[Alike], bool]) -> Iterator[tuple[Alike, PodRecord]]:
        """Yield the pods of some kinds, those with the highest priority first, and of one priority in the order in which they came; none any more of a kind that is ``over``."""
        numbers = self._numbers
        heads: list[tuple[int, int, int, Alike, PodRecord, Iterator[PodRecord]]] = []
        for at, kind in enumerate(kind for kind in kinds if not over(kind)):
            pods = list(kind.pods.values())
            if kind.mixed:
                pods.sort(key=lambda one: numbers[one.spec.uid])
            rest = iter(pods)
            first = next(rest)
            heads.append((-first.spec.priority, numbers[first.spec.uid], at, kind, first, rest))
        heapify(heads)
        while heads:
            priority, _, at, kind, record, rest = heappop(heads)
            if over(kind):
                continue
            yield kind, record
            for following in rest:
                if following.spec.uid in self.of:
                    heappush(heads, (priority, numbers[following.spec.uid], at, kind, following, rest))
                    break

    def _join(self, record: PodRecord) -> None:
        spec = record.spec
        key = (record.application, record.shape, spec.opportunistic, spec.priority, spec.role == "master")
        kind = self.kinds.get(key)
        if kind is None:
            kind = self.kinds[key] = Alike(key)
        kind.pods[spec.uid] = record
        self.of[spec.uid] = kind

    def _part(self, uid: str) -> None:
        kind = self.of.pop(uid)
        del kind.pods[uid]
        if not kind.pods:
            del self.kinds[kind.key]
