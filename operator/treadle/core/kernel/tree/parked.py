"""The asks of a shape that wait for a node, in the order in which the tree would serve them.

When a node has room for a shape again, all asks of the shape may compete, but only the first in the order is needed: the tree
chooses among the first ones of the shapes that have room as it would among all. By induction: of the children of a queue the best
is the best of those below which its shape waits, and so on down to the ask. So one ask stands for its shape, and when it was
placed or is kept back by something else the next one does.

For each queue below which asks of a shape wait there is a heap of the children concerned (``Level``). Keys are the queue's own. A
child whose usage changed has a new key, ``rest_key``, and its queue notes when (``rekeyed``); a heap takes the notes over when it
is asked for its first. An entry is valid while it is the child's own ``rest_key``.
"""

from __future__ import annotations

from bisect import insort
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.core.units.resources import UNBOUNDED, held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from treadle.core.rules.policies import Key

FEW = 128
"""Comparisons of a shape with a node up to which no columns are made for them."""
ENOUGH = 16
"""Looks at orders of asks up to which it is not asked whether it would be cheaper to let all asks compete."""
FEW_ROWS = 4
"""Nodes that improved up to which it is looked whether one has room yet before the next ask is woken."""


class Level:
    """The children of a queue below which asks of a shape wait; of a leaf's applications the asks, the first one first."""

    __slots__ = ("heap", "members", "queue", "seen")

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.heap: list[Key] = []
        self.members: dict[Any, list[Any]] = {}
        self.seen: int = queue.rekeys

    def enter(self, child: Any) -> list[Any]:
        """Add a child; returns the list for its asks."""
        if self.seen < self.queue.renewed:
            self._order()  # keys of before may not be comparable with those of now
            self.seen = self.queue.rekeys
        asks = self.members[child] = []
        child.resting += 1
        if child.rest_key is None:
            child.rest_key = self.queue.rank(child)
        heappush(self.heap, child.rest_key)
        self._compact()
        return asks

    def leave(self, child: Any) -> None:
        """Take a child out; its entry is dropped when it surfaces."""
        del self.members[child]
        child.resting -= 1
        if not child.resting:
            child.rest_key = None
            self.queue.rekeyed.pop(child, None)

    def first(self) -> Key:
        """Return the key of the child that the queue serves first; there is one."""
        queue, members = self.queue, self.members
        if self.seen != queue.rekeys:
            if self.seen < queue.renewed or queue.rekeys - self.seen > len(members):
                self._order()
            else:
                for child, when in reversed(queue.rekeyed.items()):
                    if when <= self.seen:
                        break
                    if child in members:
                        heappush(self.heap, child.rest_key)
                self._compact()
            self.seen = queue.rekeys
        heap = self.heap
        while True:
            key = heap[0]
            child = key[-1]
            if child.rest_key is key and child in members:
                return heap[0]
            heappop(heap)

    def _compact(self) -> None:
        if len(self.heap) > 64 and len(self.heap) > 4 * len(self.members):
            self._order()

    def _order(self) -> None:
        self.heap = [child.rest_key for child in self.members]
        heapify(self.heap)


class Parked:
    """The asks of one shape that no node can take at present.

    ``asks`` says of each whether it stands in the order of the tree; ``loose`` counts those that do not, since what they wait for
    is not the same for all of the shape: they are all woken. While the shape is ``open`` a node may have room for it, and the
    first ask competes for all. ``quiet`` are asks whose owners need not be told anything before the shape has been looked at
    again, nor before the time.
    """

    __slots__ = ("_registry", "_shape", "asks", "levels", "loose", "open", "quiet")

    def __init__(self, shape: Any, registry: Registry) -> None:
        self._shape, self._registry = shape, registry
        self.asks: dict[Any, bool] = {}
        self.loose = 0
        self.levels: dict[Any, Level] = {}
        self.open = False
        self.quiet: dict[Any, float] = {}

    def add(self, ask: Any, *, ordered: bool) -> None:
        """Let an ask wait, if it does not yet."""
        if ask in self.asks:
            return
        if not self.asks:
            self._registry.enter(self._shape)
        self.asks[ask] = ordered
        if not ordered:
            self.loose += 1
            return
        application = ask.application
        queue = application.queue
        level = self._level(queue)
        asks = level.members.get(application)
        if asks is None:
            level.enter(application).append(ask)
        else:
            insort(asks, ask)

    def _level(self, queue: Any) -> Level:
        level = self.levels.get(queue)
        if level is None:
            level = self.levels[queue] = Level(queue)
            if queue.parent is not None:
                self._level(queue.parent).enter(queue)
                if queue.limited:
                    self._registry.limited[queue] = None
        return level

    def discard(self, ask: Any) -> None:
        """Let an ask wait for a node no longer; its application is in the queue that it was in."""
        ordered = self.asks.pop(ask, None)
        if ordered is None:
            return
        self.quiet.pop(ask, None)
        if not ordered:
            self.loose -= 1
        else:
            child, queue = ask.application, ask.application.queue
            level = self.levels[queue]
            asks = level.members[child]
            asks.remove(ask)
            while not asks:
                level.leave(child)
                if level.members:
                    break
                del self.levels[queue]
                child, queue = queue, queue.parent
                if queue is None:
                    break
                level = self.levels[queue]
                if child.resting == 1:
                    self._registry.limited.pop(child, None)
        if not self.asks:
            self._registry.leave(self._shape)
            self.open = False

    def open_up(self) -> None:
        """Take note that a node may have room for the shape."""
        self.open = True
        self._registry.open[self._shape] = None

    def close(self) -> None:
        """Take note that no node has room for the shape any more."""
        self.open = False
        self._registry.open.pop(self._shape, None)

    def below(self, queue: Any) -> list[Any]:
        """Return all asks in the order that wait below a queue."""
        level = self.levels.get(queue)
        if level is None:
            return []
        return [ask for child, asks in level.members.items() for ask in (asks or self.below(child))]


class Registry:
    """The shapes that asks wait for, and which of them may suit what has got room.

    ``open`` are those that have room by now, ``seen`` is how far the log of improved nodes has been read, and ``limited`` are the
    queues with a maximum below which asks wait in the order.
    """

    def __init__(self) -> None:
        self.shapes: dict[Any, None] = {}
        self.open: dict[Any, None] = {}
        self.limited: dict[Any, None] = {}
        self.seen = -1
        self.improved: list[int] | None = None
        """The rows of the nodes that may have room for what is open: those that improved before the last look; None: it may be any."""
        self.calls = 0
        """How many orders were asked for their first since the last look."""
        self.all_called = False
        """Whether all asks of what is open compete, which is cheaper where many of few are placed."""
        self._columns: tuple[list[Any], NDArray[np.int64]] | None = None
        self._width = 0

    def enter(self, shape: Any) -> None:
        """Take note of the first ask of a shape."""
        self.shapes[shape] = None
        self._columns = None

    def leave(self, shape: Any) -> None:
        """Take note that no ask of a shape waits any more."""
        del self.shapes[shape]
        self.open.pop(shape, None)
        self._columns = None

    def limits_changed(self, queue: Any) -> None:
        """Take note of whether a queue below which asks may wait has a maximum now."""
        if queue.limited and queue.resting:
            self.limited[queue] = None
        else:
            self.limited.pop(queue, None)

    def look_anew(self) -> None:
        """Let the next look be at every shape, whichever nodes improved."""
        self.seen = -1

    def suited(self, nodes: Any, *, every: bool) -> list[Any]:
        """Return the shapes that may have room now, in the order in which they were made: those that were open, and those that what improved since the last look could take."""
        news, before = nodes.improved.since(self.seen), self.seen
        self.seen = nodes.improved.end
        rows = None if news is None else list(set(news))
        self.improved = None if self.open else rows
        self.calls, self.all_called = 0, False
        if every or rows is None:
            found: Iterable[Any] = self.shapes
        elif not rows:
            found = self.open
        else:
            found = self._that_fit([nodes.free[row] for row in rows])
            for shape in found:
                order = shape.candidates
                if order is not None and order.seen < before and shape not in self.open:
                    order.seen = before  # what had improved by the last look could not take the shape then
            found.update(self.open)
        return sorted(found, key=_number)

    def sure(self, parked: Parked, crowded: list[Any]) -> bool:
        """Whether a shape that is suited may be opened before a node was looked for: where few nodes improved it is found out soon enough when the first of its asks has its turn."""
        rows = self.improved
        return rows is not None and len(rows) <= FEW_ROWS and not parked.loose and not crowded

    def full(self, nodes: Any) -> list[Any]:
        """Return the open shapes that no node has room for any more: looked up where few nodes are concerned."""
        rows = self.improved
        if rows is None or len(rows) > FEW_ROWS:
            return []
        found = []
        for shape in self.open:
            for row in rows:
                if _fits(nodes.free[row], shape.demand):
                    break
            else:
                found.append(shape)
        return found

    def first(self, root: Any) -> Any:
        """Return the ask that the tree below a root serves first of those whose shapes are open, None if there is none in the order."""
        queue = root
        levels = [(parked.levels[root], parked) for parked in [shape.parked for shape in self.open] if root in parked.levels]
        self.calls += len(levels)
        while levels:
            keys = [level.first() for level, _ in levels]
            child = min(keys)[-1]
            levels = [each for each, key in zip(levels, keys, strict=True) if key[-1] is child]
            first = [asks[0] for level, _ in levels if (asks := level.members[child])]
            if first:
                return min(first)
            queue = child
            levels = [(parked.levels[queue], parked) for _, parked in levels]
        return None

    def calls_for_all(self) -> bool:
        """Whether looking for the first has cost as much as to let all compete."""
        self.all_called = self.calls > ENOUGH and self.calls > sum(len(shape.parked.asks) for shape in self.open)
        return self.all_called

    def _that_fit(self, free: list[list[int]]) -> dict[Any, None]:
        if len(free) * len(self.shapes) <= FEW:
            return {shape: None for shape in self.shapes if any(_fits(room, shape.demand) for room in free)}
        most = held(map(max, zip(*free, strict=True))) if len(free) > 1 else held(free[0])
        if self._columns is None or self._width != len(most):
            demands = np.zeros((len(self.shapes), len(most)), dtype=np.int64)
            for number, shape in enumerate(self.shapes):
                for position, value in shape.demand:
                    demands[number, position] = min(value, UNBOUNDED)
            self._columns, self._width = (list(self.shapes), demands), len(most)
        shapes, demands = self._columns
        # What is not demanded fits where less than nothing is free.
        fit = ((demands <= np.array(most, dtype=np.int64)) | (demands == 0)).all(axis=1)
        return {shapes[number]: None for number in np.flatnonzero(fit).tolist()}


def _fits(room: list[int], demand: tuple[tuple[int, int], ...]) -> bool:
    for position, value in demand:  # noqa: SIM110 - without a generator it takes half the time
        if room[position] < value:
            return False
    return True


def _number(shape: Any) -> int:
    number: int = shape.id
    return number


def renew(queue: Any, child: Any) -> None:
    """Give a child that asks wait below its key of now; the one in the queue's own order is up to date, if it is there."""
    key = child.key
    child.rest_key = queue.rank(child) if key is None else key
    queue.rekeys += 1
    rekeyed = queue.rekeyed
    rekeyed.pop(child, None)
    rekeyed[child] = queue.rekeys


def renew_all(queue: Any) -> None:
    """Give all children of a queue that asks wait below their keys of now."""
    for child in queue.members():
        if child.rest_key is not None:
            child.rest_key = queue.rank(child)
    queue.rekeys += 1
    queue.renewed = queue.rekeys
    queue.rekeyed.clear()
