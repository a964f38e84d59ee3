"""Opportunistic pods that wait, those together that are alike: a pass looks at one of each kind, however many there are."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.pods.shaping import shape_of, stale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from treadle.core.kernel.gangs.memory import Gang
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, PodRecord

    _Key = tuple[Application | None, Shape, tuple[tuple[str, int], ...], int, bool]

LOOKS = 512
"""Pods of which one pass looks whether they have another shape by now, in turn, beside one of each kind."""


MANY = 2048
"""Kinds of which it is looked at once whether they have another shape by now."""


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
        self._to_look_at: deque[str] = deque()

    def enter(self, record: PodRecord) -> None:
        """Take up a pod that has come to wait."""
        self.leave(record.spec.uid)
        self._last += 1
        self._numbers[record.spec.uid] = self._last
        self._join(record)

    def leave(self, uid: str) -> None:
        """Forget a pod that does not wait any more, if it did."""
        if self._numbers.pop(uid, None) is not None:
            self._part(uid)

    def renew(self, state: State, record: PodRecord) -> bool:
        """Give a pod the shape that it has by now, and a place among others of its kind; returns whether that was another."""
        if not stale(state, record):
            return False
        shape = shape_of(state, record.spec, record.kind)
        partition = record.shape.asked.partition
        record.shape = shape if partition is None else state.shapes.within(shape, partition)
        uid = record.spec.uid
        if uid in self._numbers:
            self._part(uid)
            self._join(record)
            self.of[uid].mixed = True
        return True

    def look_anew(self, state: State) -> None:
        """Give shapes of now to those that have another by themselves, in turn, and to all of a kind of which one has another."""
        waiting = state.opportunistic.waiting
        if not self._to_look_at:
            self._to_look_at.extend(waiting)
        for _ in range(min(LOOKS, len(self._to_look_at))):
            record = waiting.get(self._to_look_at.popleft())
            if record is not None:
                self.renew(state, record)
        self.renew_kinds(state)

    def renew_kinds(self, state: State) -> None:
        """Give shapes of now to all of a kind of which the first has another; where there are very many kinds each is looked at when its turn comes."""
        if len(self.kinds) > MANY:
            return
        old = [kind for kind in self.kinds.values() if stale(state, kind.first)]
        for record in [record for kind in old for record in kind.pods.values()]:
            self.renew(state, record)
        if old:
            self.renew_kinds(state)  # of those that were not renewed another one may be the first

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
                number = numbers.get(following.spec.uid)
                if number is not None:
                    heappush(heads, (priority, number, at, kind, following, rest))
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
