"""The asks of a shape that wait for a node, in the order in which the tree would serve them.

When a node has room for a shape again, all asks of the shape may compete, but only the first in the order is needed: the tree
chooses among the first ones of the shapes that have room as it would among all. By induction: of the children of a queue the best
is the best of those below which its shape waits, and so on down to the ask. So one ask stands for its shape, and when it was
placed or is kept back by something else the next one does.

A queue keeps a heap of its children below which asks wait, of whatever shape (``Rest``): the first one below which a shape waits
that has room is the one. Where too many come before it that wait for other shapes only, heaps of the children of each shape are
made (``Level``). Keys are the queue's own. A child whose usage changed has a new key, ``rest_key``, and its queue notes when
(``rekeyed``); the heap of a shape takes the notes over when it is asked for its first. An entry is valid while it is the child's
own ``rest_key``.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from heapq import heapify, heappop, heappush, heapreplace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.core.kernel.nodes.rules.resources import fits
from treadle.core.units.resources import CPU, MEMORY, PODS, UNBOUNDED, held

if TYPE_CHECKING:
    from collections.abc import Iterable, KeysView

    from numpy.typing import NDArray

    from treadle.core.rules.policies import Key
    from treadle.core.units.resources import Demand

ANYTHING = 1 << 100
"""More than any amount: what is not demanded fits where so much less than nothing is free."""
FEW = 128
"""Comparisons of a shape with a node up to which no columns are made for them."""
ENOUGH = 16
"""Looks for the first ask up to which it is not asked whether it would be cheaper to let all asks compete."""
FEW_ROWS = 4
"""Nodes that improved up to which no node is looked for before a shape is opened, and after each placement it is looked which shapes have no room any more."""
SKIPS = 8
"""Children of a queue that wait for other shapes only which are passed over before the heaps of the shapes are asked."""


class Rest:
    """The order of a queue's children below which asks wait for nodes.

    ``heap`` holds their keys, and such as are valid no more; ``count`` is how many children there are. ``rekeyed`` tells which of
    them got new keys, and when, counted by ``rekeys``, while there are ``levels`` with heaps of their own; ``renewed`` is when
    all did.
    """

    __slots__ = ("count", "heap", "levels", "rekeyed", "rekeys", "renewed")

    def __init__(self) -> None:
        self.heap: list[Key] = []
        self.count = self.levels = 0
        self.rekeyed: dict[Any, int] = {}
        self.rekeys = self.renewed = 0

    def enter(self, child: Any, key: Key) -> None:
        """Add a child."""
        self.count += 1
        child.rest_key = key
        heappush(self.heap, key)
        self._compact()

    def leave(self, child: Any) -> None:
        """Take a child out; its entry is dropped when it surfaces."""
        self.count -= 1
        child.rest_key = None
        self.rekeyed.pop(child, None)

    def renew(self, child: Any, key: Key) -> None:
        """Give a child a new key."""
        heap, before = self.heap, child.rest_key
        if key == before:
            return  # usage does not count in every order
        child.rest_key = key
        if heap[0] is before:
            heapreplace(heap, key)
        else:
            heappush(heap, key)
            self._compact()
        self.rekeys += 1
        if self.levels:
            self.rekeyed.pop(child, None)
            self.rekeyed[child] = self.rekeys

    def order(self, children: Iterable[Any]) -> None:
        """Make the order anew of all children of the queue, which have new keys."""
        self.heap = [child.rest_key for child in children if child.rest_key is not None]
        heapify(self.heap)
        self.rekeys += 1
        self.renewed = self.rekeys
        self.rekeyed.clear()

    def _compact(self) -> None:
        heap = self.heap
        if len(heap) > 64 and len(heap) > 4 * self.count:
            self.heap = [key for key in heap if key[-1].rest_key is key]
            heapify(self.heap)

    def first(self, shapes: KeysView[Any]) -> Any:
        """Return the first child below which an ask of one of the shapes waits, None if it is too far behind."""
        heap = self.heap
        passed: list[Key] = []
        found = None
        while heap:
            key = heap[0]
            child = key[-1]
            if child.rest_key is not key:
                heappop(heap)
            elif not shapes.isdisjoint(child.rests.keys()):
                found = child
                break
            elif len(passed) < SKIPS:
                passed.append(heappop(heap))
            else:
                break
        for key in passed:
            heappush(heap, key)
        return found


class Level:
    """The children of a queue below which asks of one shape wait. Their heap is made when it is asked for."""

    __slots__ = ("heap", "members", "queue", "seen")

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.heap: list[Key] | None = None
        self.members: dict[Any, None] = {}
        self.seen = 0

    def enter(self, child: Any) -> None:
        """Add a child, which has its key."""
        self.members[child] = None
        heap = self.heap
        if heap is None:
            return
        if self.seen < self.queue.rest.renewed:
            self.drop()  # keys of before may not be comparable with those of now
            return
        heappush(heap, child.rest_key)
        self._compact(heap)

    def drop(self) -> None:
        """Give up the heap."""
        if self.heap is not None:
            self.heap = None
            self.queue.rest.levels -= 1

    def first(self) -> Key:
        """Return the key of the child that the queue serves first; there is one."""
        rest, members, heap = self.queue.rest, self.members, self.heap
        if heap is None or self.seen < rest.renewed or rest.rekeys - self.seen > len(members):
            heap = self._order()
        elif self.seen != rest.rekeys:
            for child, when in reversed(rest.rekeyed.items()):
                if when <= self.seen:
                    break
                if child in members:
                    heappush(heap, child.rest_key)
            heap = self._compact(heap)
        self.seen = rest.rekeys
        while True:
            key = heap[0]
            child = key[-1]
            if child.rest_key is key and child in members:
                return heap[0]
            heappop(heap)

    def _compact(self, heap: list[Key]) -> list[Key]:
        return self._order() if len(heap) > 64 and len(heap) > 4 * len(self.members) else heap

    def _order(self) -> list[Key]:
        heap: list[Key] = [child.rest_key for child in self.members]
        heapify(heap)
        if self.heap is None:
            self.queue.rest.levels += 1
        self.heap = heap
        return heap


class Parked:
    """The asks of one shape that no node can take at present.

    ``asks`` says of each whether it stands in the order of the tree; ``loose`` counts those that do not, since what they wait for
    is not the same for all of the shape: they are all woken. While the shape is ``open`` a node may have room for it, and the
    first ask competes for all. ``quiet`` are asks whose owners need not be told anything before the shape has been looked at
    again, nor before the time.
    """

    __slots__ = ("_registry", "_shape", "asks", "loose", "needs", "quiet")

    def __init__(self, shape: Any, registry: Registry) -> None:
        self._shape, self._registry = shape, registry
        self.asks: dict[Any, bool] = {}
        self.loose = 0
        self.needs = _needs(shape)
        self.quiet: dict[Any, float] = {}

    @property
    def open(self) -> bool:
        """Whether a node may have room for the shape."""
        return self._shape in self._registry.open

    def add(self, ask: Any, *, ordered: bool) -> None:
        """Let an ask wait, if it does not yet."""
        if ask in self.asks:
            return
        shape, registry = self._shape, self._registry
        if not self.asks:
            registry.enter(shape)
        self.asks[ask] = ordered
        if not ordered:
            if not self.loose:
                registry.loose[shape] = None
            self.loose += 1
            return
        child = ask.application
        asks = child.rests.get(shape)
        if asks is not None:
            insort(asks, ask)
            return
        child.rests[shape] = [ask]
        queue = child.queue
        while queue is not None:
            if child.rest_key is None:
                queue.rest.enter(child, queue.rank(child))
                if child.limited:
                    registry.limited[child] = None
            level = queue.rests.get(shape)
            if level is not None:
                level.enter(child)
                break
            level = queue.rests[shape] = Level(queue)
            level.enter(child)
            child, queue = queue, queue.parent

    def discard(self, ask: Any) -> None:
        """Let an ask wait for a node no longer; its application is in the queue that it was in."""
        ordered = self.asks.pop(ask, None)
        if ordered is None:
            return
        self.quiet.pop(ask, None)
        if not ordered:
            self.loose -= 1
            if not self.loose:
                del self._registry.loose[self._shape]
        else:
            asks = ask.application.rests[self._shape]
            asks.remove(ask)
            if not asks:
                self._leave(ask.application)
        if not self.asks:
            self._registry.leave(self._shape)

    def _leave(self, application: Any) -> None:
        """Take an application out, and the queues above it below which no other ask of the shape waits."""
        shape = self._shape
        child, queue = application, application.queue
        while True:
            del child.rests[shape]
            if queue is None:
                return
            if not child.rests:
                queue.rest.leave(child)
                if child.limited:
                    self._registry.limited.pop(child, None)
            level = queue.rests[shape]
            del level.members[child]
            if level.members:
                return
            level.drop()
            child, queue = queue, queue.parent

    def below(self, queue: Any) -> list[Any]:
        """Return all asks in the order that wait below a queue."""
        there = queue.rests.get(self._shape)
        if there is None:
            return []
        return [ask for child in there.members for ask in self._asks(child)]

    def _asks(self, child: Any) -> list[Any]:
        there = child.rests[self._shape]
        return self.below(child) if type(there) is Level else there


class Registry:
    """The shapes that asks wait for, and which of them may suit what has got room.

    ``open`` are those that have room by now, ``seen`` is how far the log of improved nodes has been read, and ``limited`` are the
    queues with a maximum below which asks wait in the order. ``slots_seen`` is how far the log of slots has been read.
    """

    def __init__(self) -> None:
        self.shapes: dict[Any, None] = {}
        self.open: dict[Any, None] = {}
        self.loose: dict[Any, None] = {}
        """Those of the shapes of which asks wait that do not stand in the order."""
        self.limited: dict[Any, None] = {}
        self.ruled: dict[Any, Any] = {}
        """Those of the shapes that have rules between pods, with the version of the rules when they were last looked at."""
        self.several: dict[Any, None] = {}
        """Those of the shapes whose pods are placed several at once: they may lack slots where there are some."""
        self.seen = -1
        self.slots_seen = 0
        self.followed = False
        """Whether the last look was at few nodes that improved and nothing else: whether a shape has room is found out soon enough then, when the first of its asks has its turn."""
        self.improved: list[int] | None = None
        """The rows of the nodes that may have room for what is open: those that improved before the last look; None: it may be any."""
        self.calls = 0
        """How often the first ask was looked for since the last look."""
        self.all_called = False
        """Whether all asks of what is open compete, which is cheaper where many of few are placed."""
        self._enough = ENOUGH
        self._columns: tuple[list[Any], NDArray[np.int64]] | None = None
        self._width = 0

    def enter(self, shape: Any) -> None:
        """Take note of the first ask of a shape."""
        self.shapes[shape] = None
        self._columns = None
        if shape.between is not None:
            self.ruled[shape] = shape.between.version
        if _several(shape) is not None:
            self.several[shape] = None

    def leave(self, shape: Any) -> None:
        """Take note that no ask of a shape waits any more."""
        del self.shapes[shape]
        self.ruled.pop(shape, None)
        self.several.pop(shape, None)
        self.open.pop(shape, None)
        self._columns = None

    def limits_changed(self, queue: Any) -> None:
        """Take note of whether a queue below which asks may wait has a maximum now."""
        if queue.limited and queue.rest_key is not None:
            self.limited[queue] = None
        else:
            self.limited.pop(queue, None)

    def look_anew(self) -> None:
        """Let the next look be at every shape, whichever nodes improved."""
        self.seen = -1

    def suited(self, nodes: Any, *, every: bool) -> list[Any]:
        """Return the shapes that may have room now, in the order in which they were made: those that were open, and those that what improved since the last look could take."""
        news, before = nodes.improved.since(self.seen), self.seen
        slots = nodes.slots.since(self.slots_seen)
        self.seen, self.slots_seen = nodes.improved.end, nodes.slots.end
        rows = None if news is None else list(set(news))
        self.followed = rows is not None and not every and len(rows) <= FEW_ROWS and not self.open
        self.improved = None if self.open else rows
        self.calls, self.all_called, self._enough = 0, False, ENOUGH
        if every or rows is None:
            return sorted(self.shapes, key=_number)
        helped = [shape for shape, version in self.ruled.items() if shape.between.version != version] if self.ruled else []
        for shape in helped:
            self.ruled[shape] = shape.between.version
        if self.several and (slots is None or slots):
            helped = list(dict.fromkeys([*helped, *self._that_lacked(nodes, slots)]))
        if helped:
            self.improved, self.followed = None, False  # room was there before
        if not rows:
            return sorted({**self.open, **dict.fromkeys(helped)}, key=_number)
        found = self._that_fit([nodes.free[row] for row in rows])
        if helped:
            found = list(dict.fromkeys([*found, *helped]))
        for shape in found:
            order = shape.candidates
            if order is not None and order.seen < before and shape not in self.open:
                order.seen = before  # what had improved by the last look could not take the shape then
        if self.open:
            found = list({**dict.fromkeys(found), **self.open})
        found.sort(key=_number)
        return found

    def _that_lacked(self, nodes: Any, slots: list[int] | None) -> list[Any]:
        """Return the shapes of which more pods are placed at once than one of some nodes had slots before these came free; None: it may be any node."""
        least = 0 if slots is None else min(nodes.free[row][PODS] - count for row, count in Counter(slots).items())
        waiting = Counter[Any]()
        for shape in self.several:
            waiting[_several(shape)] += sum(len(ask.pods) for ask in shape.parked.asks)
        return [shape for shape in self.several if waiting[_several(shape)] > least]

    def full(self, nodes: Any) -> list[Any]:
        """Return the open shapes that no node has room for any more: looked up where few nodes are concerned."""
        rows = self.improved
        if rows is None or len(rows) > FEW_ROWS or len(rows) * len(self.open) > FEW:
            return []
        still = self._in([nodes.free[row] for row in rows], self.open)
        return [] if len(still) == len(self.open) else [shape for shape in self.open if shape not in still]

    def first(self, root: Any) -> Any:
        """Return the ask that the tree below a root serves first of those whose shapes are open, None if there is none in the order."""
        shapes, queue, found = self.open, root, None
        opened = shapes.keys()
        if opened.isdisjoint(root.rests.keys()):
            return None
        self.calls += 1
        while True:
            child = queue.rest.first(opened)
            if child is None:
                child = min(level.first() for level in map(queue.rests.get, shapes) if level is not None)[-1]
            rests = child.rests
            if type(next(iter(rests.values()))) is Level:
                queue = child
                continue
            for shape in shapes if len(shapes) < len(rests) else rests:
                if shape in rests and shape in shapes and (found is None or rests[shape][0] < found):
                    found = rests[shape][0]
            return found

    def calls_for_all(self) -> bool:
        """Whether looking for the first has cost as much as to let all compete."""
        if self.calls > self._enough:
            self._enough = 2 * self.calls  # counting takes as long as there are shapes
            self.all_called = self.calls > sum(len(shape.parked.asks) for shape in self.open)
        return self.all_called

    def _that_fit(self, free: list[list[int]]) -> list[Any]:
        """Return the shapes that asks wait for and that nodes with so much free may have room for."""
        if len(free) * len(self.shapes) <= FEW:
            return self._in(free, self.shapes)
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
        return [shapes[number] for number in np.flatnonzero(fit).tolist()]

    @staticmethod
    def _in(free: list[list[int]], shapes: Iterable[Any]) -> list[Any]:
        """Return those of some shapes that fit into what is free on one of some nodes; without a call for each, since it is run for every end of a pod."""
        found: dict[Any, None] = {}
        for room in free:
            memory_free, cpu_free, pods_free = room[MEMORY], room[CPU], room[PODS]
            there = [
                shape
                for shape in shapes
                for memory, cpu, pods, others in (shape.parked.needs,)
                if memory <= memory_free and cpu <= cpu_free and pods <= pods_free and (not others or fits(room, others))
            ]
            if len(free) == 1:
                return there
            found |= dict.fromkeys(there)
        return list(found)


def _needs(shape: Any) -> tuple[int, int, int, Demand]:
    """Return what a shape demands of the first three types, less than any node has free where it is nothing, and the rest."""
    amounts = dict(shape.demand)
    return (
        amounts.get(MEMORY, -ANYTHING),
        amounts.get(CPU, -ANYTHING),
        amounts.get(PODS, -ANYTHING),
        tuple((position, value) for position, value in shape.demand if position > PODS),
    )


def _several(shape: Any) -> tuple[str, str] | None:
    """Return what the pods that are placed at once with one of a shape have in common, None where it is placed by itself."""
    asked = shape.asked
    gang: tuple[str, str] | None = asked.gang
    return gang if gang is not None or asked.batch is None else asked.batch[:2]


_number = attrgetter("id")


def renew_all(queue: Any) -> None:
    """Give all children of a queue that asks wait below their keys of now."""
    children = queue.members()
    for child in children:
        if child.rest_key is not None:
            child.rest_key = queue.rank(child)
    queue.rest.order(children)
