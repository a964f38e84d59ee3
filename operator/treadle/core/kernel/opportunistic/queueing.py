"""Queues at nodes, as YARN has them for opportunistic containers (``NodeQueueLoadMonitor``, ``ContainerScheduler``): who finds no room waits for that of some nodes.

A kubelet starts what is bound to it at once, so Kubernetes has no queue at a node and who waits is bound nowhere: it stands in the queues of several nodes here, and is bound to the first of them that has room for it, as Sparrow's
late binding has it. What a node has idle goes to the head of its queue; who stands behind it does not overtake it for being smaller. A node without a queue takes whoever comes, those that stand elsewhere too.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.room import largest
from treadle.core.kernel.opportunistic.sets import is_of_set
from treadle.core.kernel.opportunistic.usage import policy_of, shut
from treadle.core.rules.opportunistic.node_loads import LoadOrder, NodeLoad, NodeLoads, Report
from treadle.core.rules.opportunistic.queue_limits import QueueBounds
from treadle.core.units.amounts import fits
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.opportunistic.room import Room
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model.opportunistic import NodeQueueSettings

    _Kind = tuple[Shape, tuple[tuple[str, int], ...], tuple[str, ...]]

MILLISECONDS = 1000
MOST_A_PASS = 256
"""Pods that come to stand at nodes in one pass at the most."""
FEW = 64
"""Nodes that are put in order anew, where no more suit a pod: more than that are looked for in the order of all."""
LONGEST_WAIT = 1 << 53
"""Milliseconds."""


def may_stand(state: State, record: PodRecord) -> bool:
    """Whether a pod stands nowhere and may stand at nodes."""
    return record.spec.uid not in state.opportunistic.queues.of and may_come(state, record)


def may_come(state: State, record: PodRecord) -> bool:
    """Whether a pod finds its room by itself: gangs, and pods that are placed as a set, find theirs together."""
    shape = record.shape
    return shape.gang == NO_GANG and shape.asked.together is None and not is_of_set(state, record)


def _leave_what_is_not_theirs(state: State) -> None:
    """Let those leave their queues who do not wait any more or do not wait by themselves, and others the nodes that are more than a pod stands at: behind a head that waits they would count until their turn comes."""
    kept, settings = state.opportunistic, state.scheduler.opportunistic.node_queues
    for uid, nodes in list(kept.queues.of.items()):
        record = kept.waiting.get(uid)
        if record is None or not may_come(state, record):
            kept.queues.leave(uid)
        elif settings is not None:
            for name in list(nodes)[settings.nodes_per_pod :]:
                kept.queues.leave_node(uid, name)
    _leave_what_does_not_admit_them(state)


def _leave_what_does_not_admit_them(state: State) -> None:
    """Let those leave nodes that were edited and do not admit them any more, also behind a head that waits."""
    kept, nodes = state.opportunistic, state.nodes
    if kept.queues.edits == nodes.edited.end:
        return
    kept.queues.edits = nodes.edited.end
    masks: dict[Shape, NDArray[np.bool_]] = {}
    for uid, there in list(kept.queues.of.items()):
        shape = kept.waiting[uid].shape
        mask = masks.get(shape)
        if mask is None:
            mask = masks[shape] = nodes.mask(shape.constraints)
        for name in list(there):
            row = nodes.row.get(name)
            if row is None or not mask[row]:
                kept.queues.leave_node(uid, name)


def serve(
    state: State, room: Room, ready: Callable[[PodRecord], bool], closed: dict[int, None]
) -> Iterator[tuple[PodRecord, int]]:
    """Yield who stands in queues and may go to its node now, with the row; it has to be placed there before the next one is asked for.

    ``ready`` says whether a pod may be placed at all; who may not leaves its queues. ``closed`` gets the rows of nodes whose room is kept for somebody who waits for more of it.
    """
    kept = state.opportunistic
    queues, nodes = kept.queues, state.nodes
    _leave_what_is_not_theirs(state)
    for name in list(queues.at):
        row = nodes.row.get(name)
        if row is None or nodes.specs[row] is None:
            queues.close(name)
            continue
        for uid in list(queues.at.get(name, ())):
            record = kept.waiting.get(uid)
            if record is None or not ready(record):
                queues.leave(uid)
            elif not room.may_be_on(row, record) or not fits(vector(record.spec.opportunistic), largest(state, row)):
                queues.leave_node(uid, name)
            elif not room.has(row, vector(record.spec.opportunistic)):
                closed[row] = None
                break
            elif room.takes(row, record):
                yield record, row


class _Place(NamedTuple):
    """A node among the others: by its load, then by the number that it had when they were put in order."""

    load: int
    number: int
    name: str


class Queueing:
    """Lets pods stand at nodes: knows how long their queues are, or how long one would wait there, as of now."""

    def __init__(self, state: State, settings: NodeQueueSettings) -> None:
        self._state, self._settings = state, settings
        self._queues = state.opportunistic.queues
        bounds = QueueBounds(settings.deviations, settings.least, settings.most)
        if self._queues.limit.bounds != bounds:
            self._queues.limit.bounds = bounds
        self.loads = NodeLoads(LoadOrder.QUEUE_WAIT_TIME if settings.by_wait else LoadOrder.QUEUE_LENGTH, settings.candidates)
        self._left = MOST_A_PASS
        self._each: dict[str, int] = {}
        """After how many milliseconds a pod ends at nodes, by their names, as it is guessed."""
        self._line: list[_Place] = []
        """The nodes that take one more, the best first; kept in order while pods come to them."""
        self._numbers: dict[str, int] = {}
        self._report()
        # Hadoop leaves out nodes that are full, so where all are the limit stays behind, and what came is sent away again.
        self._queues.limit.update([load.queued for load in self.loads.loads.values()])
        if self._shorten():
            self._report()
        self._limit = self._queues.limit.limit()
        self.open = sum(max(0, settings.most - load.queued) for load in self.loads.loads.values())
        """How many more may stand at some node."""
        self._lengths: NDArray[np.int64] | None = None
        self._sizes: NDArray[np.int64] | None = None
        self._suited: dict[_Kind, NDArray[np.bool_]] = {}
        self._none: dict[_Kind, bool] = {}
        self._most: dict[tuple[_Kind, bool], int] = {}

    def places(self) -> int:
        """Return how many more may come to stand at nodes in this pass."""
        return min(self._left, self.open)

    def any_for(self, record: PodRecord) -> bool:
        """Whether a pod that did not have to leave a queue may stand at any node, by its rules, its size and what stands there."""
        key = _kind(self._state, record)
        found = self._none.get(key)
        if found is None:
            found = self._none[key] = not (self._suits(record, key) & (self._length() < self._settings.most)).any()
        return not found

    def _length(self) -> NDArray[np.int64]:
        """Return how many stand at each node, by row; very many where nobody may."""
        if self._lengths is None:
            names, loads = self._state.nodes.names, self.loads.loads
            found = (loads.get(name) for name in names)
            self._lengths = np.array([LONGEST_WAIT if load is None else load.queued for load in found], dtype=np.int64)
        return self._lengths

    def _suits(self, record: PodRecord, key: _Kind) -> NDArray[np.bool_]:
        """Return which nodes suit a pod by its rules and its size, by row."""
        found = self._suited.get(key)
        if found is None:
            if self._sizes is None:
                self._sizes = sizes_of(self._state)
            found = self._suited[key] = suiting(self._state, record, self._sizes)
        return found

    def _free(self, record: PodRecord, key: _Kind) -> NDArray[np.bool_]:
        """Return at which nodes, by row, a pod may come to stand now. One that had to leave queues comes to those alone that are shorter than the limit, and where it was already no longer than the least limit."""
        there, lengths, rows = self._suits(record, key), self._length(), self._state.nodes.row
        uid, shed = record.spec.uid, self._queues.shed_from.get(record.spec.uid)
        there = there & (lengths < (self._settings.most if shed is None else self._limit))
        for name in shed or ():
            if (row := rows.get(name, -1)) >= 0:
                there[row] &= lengths[row] < self._settings.least
        for name in self._queues.of.get(uid, ()):
            there[rows[name]] = False
        return there

    def _has_place(self, load: NodeLoad) -> bool:
        return load.queued < self._settings.most

    def _shorten(self) -> bool:
        """Let the last ones of queues that are over the limit leave them, for shorter ones; returns whether there are any."""
        most, before = self._queues.limit.limit(), self._queues.shed
        for name in [name for name, line in self._queues.at.items() if len(line) > most]:
            self._queues.shorten(name, most)
        return self._queues.shed > before

    def stand(self, record: PodRecord) -> None:
        """Let a pod stand at as many nodes as it may, those with the shortest queues that its rules and its size allow, beside those at which it stands."""
        queues, settings, uid = self._queues, self._settings, record.spec.uid
        if self.places() <= 0 or not self.any_for(record):
            return
        key = _kind(self._state, record)
        best = self._best(self._free(record, key))
        if not best:
            if uid not in queues.shed_from and uid not in queues.of:
                self._none[key] = True  # queues do not become shorter while pods come to them
            return
        self._left -= 1
        queues.turn += 1
        more = settings.nodes_per_pod - len(queues.of.get(uid, ()))
        for at in range(min(more, len(best))):
            place = best[(queues.turn + at) % len(best)]
            self.open -= 1
            queues.enter(uid, place.name)
            self._one_more(place)

    def stand_at_more(self, may: Callable[[PodRecord], bool]) -> None:
        """Let those stand at more nodes that stand at fewer than they may, since there were no more when they came."""
        settings, waiting = self._settings, self._state.opportunistic.waiting
        for uid, there in list(self._queues.of.items()):
            if self.places() <= 0:
                return
            record = waiting.get(uid)
            if record is not None and len(there) < settings.nodes_per_pod and self._more_than(record, there) and may(record):
                self.stand(record)

    def _more_than(self, record: PodRecord, there: dict[str, None]) -> bool:
        """Whether a pod may find nodes beside some at which it stands: those that have places for its kind were counted once."""
        key, shed = _kind(self._state, record), record.spec.uid in self._queues.shed_from
        suits, lengths, rows = self._suits(record, key), self._length(), self._state.nodes.row
        limit = self._limit if shed else self._settings.most
        most = self._most.get((key, shed))
        if most is None:
            most = self._most[key, shed] = int((suits & (lengths < limit)).sum())
        return most > 0 and most > sum(bool(suits[rows[name]] and lengths[rows[name]] < limit) for name in there)

    def _best(self, free: NDArray[np.bool_]) -> list[_Place]:
        """Return the best of some nodes, as many as are candidates."""
        count, rows = max(self._settings.candidates, self._settings.nodes_per_pod), self._state.nodes.row
        some = np.flatnonzero(free)
        if len(some) <= FEW:
            names = [self._state.nodes.names[row] for row in some.tolist()]
            places = [_Place(self._load(self.loads.loads[name]), self._numbers[name], name) for name in names]
            return sorted(places)[:count]
        return list(islice((place for place in self._line if free[rows[place.name]]), count))

    def _one_more(self, place: _Place) -> None:
        """Count one that has come to a node, and give the node its place among the others."""
        load = self.loads.loads[place.name]
        load.queued += 1  # by their wait nodes are not bounded in YARN; here they are either way
        self._length()[self._state.nodes.row[place.name]] += 1
        load.wait = min(load.wait + self._each[place.name], LONGEST_WAIT)
        del self._line[bisect_left(self._line, place)]
        if self._has_place(load):
            insort(self._line, _Place(self._load(load), place.number, place.name))

    def _load(self, load: NodeLoad) -> int:
        return load.wait if self._settings.by_wait else load.queued

    def _report(self) -> None:
        """Look at all nodes and put them in order."""
        state, kept, loads, most = self._state, self._state.opportunistic, self.loads, self._settings.most
        ages = {row: [state.now - one.since for one in there.values()] for row, there in kept.on.items()}
        every = [age for there in ages.values() for age in there]
        usual = sum(every) / len(every) if every else 0.0
        self._each.clear()
        for row, spec in enumerate(state.nodes.specs):
            if spec is None:
                continue
            name = state.nodes.names[row]
            if gives_nothing(state, row):
                self._queues.close(name)
                loads.remove(name)
                continue
            queued = len(self._queues.at.get(name, ()))
            # How long those that run have yet to run is not known: as long again as they have run, in the mean.
            there = ages.get(row)
            each = max(0, int((sum(there) / len(there) ** 2 if there else usual) * MILLISECONDS))
            self._each[name] = each
            loads.add(name, "")
            loads.take_report(name, Report(queued, most, min((queued + 1) * each, LONGEST_WAIT)), state.now)
        loads.sort()
        self._numbers = {name: number for number, name in enumerate(loads.sorted)}
        self._line = [_Place(self._load(loads.loads[name]), number, name) for name, number in self._numbers.items()]


def _kind(state: State, record: PodRecord) -> _Kind:
    away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
    return record.shape, record.spec.opportunistic, tuple(away)


def sizes_of(state: State) -> NDArray[np.int64]:
    """Return what one opportunistic pod may be given of each node at the most, by row and type."""
    sizes = [[0] * TYPES if spec is None else largest(state, row) for row, spec in enumerate(state.nodes.specs)]
    return np.array(sizes, dtype=np.int64).reshape(-1, TYPES)


def large_enough(record: PodRecord, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of some nodes, by what they may give one pod at the most, could give one its room."""
    wants = np.array([min(amount, UNBOUNDED) for amount in vector(record.spec.opportunistic)], dtype=np.int64)
    enough: NDArray[np.bool_] = np.logical_and.reduce(sizes >= wants, axis=1)
    return enough


def suiting(state: State, record: PodRecord, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which nodes, by row, could ever give a pod its room, and admit it."""
    nodes = state.nodes
    found: NDArray[np.bool_] = nodes.mask(record.shape.constraints) & large_enough(record, sizes)
    if nodes.only >= 0:
        found[np.arange(len(nodes)) != nodes.only] = False
    away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
    found[[nodes.row[name] for name in away if name in nodes.row]] = False
    return found


def gives_nothing(state: State, row: int) -> bool:
    """Whether a node takes no opportunistic pods at present, however little is used there: who stood there would wait for nothing."""
    if not state.scheduler.opportunistic.by_usage:
        return False
    one = state.opportunistic.usage.of.get(state.nodes.names[row])
    return one is None or one.usage.sample is None or one.usage.is_old(state.now) or shut(state, row, policy_of(state, row))
