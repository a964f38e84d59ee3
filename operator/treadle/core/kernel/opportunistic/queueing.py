"""Queues at nodes, as YARN has them for opportunistic containers (``NodeQueueLoadMonitor``, ``ContainerScheduler``): who finds no room waits for that of some nodes.

A kubelet starts what is bound to it at once, so Kubernetes has no queue at a node and who waits is bound nowhere: it stands in the queues of several nodes here, and is bound to the first of them that has room for it, as Sparrow's
late binding has it. What a node has idle goes to the head of its queue; who stands behind it does not overtake it for being smaller. A node without a queue takes whoever comes, those that stand elsewhere too.
"""

from __future__ import annotations

from bisect import bisect_left, insort
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
    from collections.abc import Callable, Iterable, Iterator

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
LONGEST_WAIT = 1 << 53
"""Milliseconds."""


def may_stand(state: State, record: PodRecord) -> bool:
    """Whether a pod stands nowhere and may stand at nodes."""
    return record.spec.uid not in state.opportunistic.queues.of and _by_itself(state, record)


def _by_itself(state: State, record: PodRecord) -> bool:
    """Whether a pod finds its room by itself: gangs, and pods that are placed as a set, find theirs together."""
    shape = record.shape
    return shape.gang == NO_GANG and shape.asked.together is None and not is_of_set(state, record)


def _leave_what_is_not_theirs(state: State) -> None:
    """Let those leave their queues who do not wait any more or do not wait by themselves, and others the nodes that are more than a pod stands at: behind a head that waits they would count until their turn comes."""
    kept, settings = state.opportunistic, state.scheduler.opportunistic.node_queues
    for uid, nodes in list(kept.queues.of.items()):
        record = kept.waiting.get(uid)
        if record is None or not _by_itself(state, record):
            kept.queues.leave(uid)
        elif settings is not None:
            for name in list(nodes)[settings.nodes_per_pod :]:
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
        self._report()
        # Hadoop leaves out nodes that are full, so where all are the limit stays behind, and what came is sent away again.
        self._queues.limit.update([load.queued for load in self.loads.loads.values()])
        if self._shorten():
            self._report()
        self.open = sum(max(0, settings.most - load.queued) for load in self.loads.loads.values())
        """How many more may stand at some node."""
        self._largest: NDArray[np.int64] | None = None
        self._open: NDArray[np.bool_] | None = None
        self._none: dict[_Kind, bool] = {}

    def places(self) -> int:
        """Return how many more may come to stand at nodes in this pass."""
        return min(self._left, self.open)

    def any_for(self, record: PodRecord) -> bool:
        """Whether a pod may stand at any node, by its rules, its size and what stands there."""
        key = self._kind(record)
        found = self._none.get(key)
        if found is None:
            found = self._none[key] = not self._look(record, key[2])
        return not found

    def _kind(self, record: PodRecord) -> _Kind:
        away = self._state.opportunistic.back_off.nodes(record.spec.application, self._state.now)
        return record.shape, record.spec.opportunistic, tuple(away)

    def _look(self, record: PodRecord, away: Iterable[str]) -> bool:
        state, nodes = self._state, self._state.nodes
        if self._largest is None or self._open is None:
            rows, loads = range(len(nodes)), self.loads.loads
            sizes = [[0] * TYPES if nodes.specs[row] is None else largest(state, row) for row in rows]
            self._largest = np.array(sizes, dtype=np.int64).reshape(-1, TYPES)
            self._open = np.array([self._has_place(loads.get(nodes.names[row])) for row in rows], dtype=np.bool_)
        wants = np.array([min(amount, UNBOUNDED) for amount in vector(record.spec.opportunistic)], dtype=np.int64)
        there = nodes.mask(record.shape.constraints) & self._open & (self._largest >= wants).all(axis=1)
        if nodes.only >= 0:
            there &= np.arange(len(nodes)) == nodes.only
        there[[nodes.row[name] for name in away if name in nodes.row]] = False
        return bool(there.any())

    def _has_place(self, load: NodeLoad | None) -> bool:
        return load is not None and load.queued < self._settings.most

    def _shorten(self) -> bool:
        """Let the last ones of queues that are over the limit leave them, for shorter ones; returns whether there are any."""
        most, before = self._queues.limit.limit(), self._queues.shed
        for name, line in list(self._queues.at.items()):
            for uid in list(line)[most:]:
                self._queues.leave_node(uid, name)
                self._queues.shed += 1
        return self._queues.shed > before

    def stand(self, record: PodRecord) -> None:
        """Let a pod stand at as many nodes as it may, those with the shortest queues that its rules and its size allow."""
        queues, settings = self._queues, self._settings
        if self.places() <= 0 or not self.any_for(record):
            return
        best = []
        for place in self._suitable(record):
            best.append(place)
            if len(best) >= max(settings.candidates, settings.nodes_per_pod):
                break
        if not best:
            self._none[self._kind(record)] = True  # queues do not become shorter while pods come to them
            return
        self._left -= 1
        queues.turn += 1
        for at in range(min(settings.nodes_per_pod, len(best))):
            place = best[(queues.turn + at) % len(best)]
            self.open -= 1
            queues.enter(record.spec.uid, place.name)
            self._one_more(place)

    def _one_more(self, place: _Place) -> None:
        """Count one that has come to a node, and give the node its place among the others."""
        load = self.loads.loads[place.name]
        load.queued += 1  # by their wait nodes are not bounded in YARN; here they are either way
        load.wait = min(load.wait + self._each[place.name], LONGEST_WAIT)
        del self._line[bisect_left(self._line, place)]
        if self._has_place(load):
            insort(self._line, _Place(self._load(load), place.number, place.name))

    def _load(self, load: NodeLoad) -> int:
        return load.wait if self._settings.by_wait else load.queued

    def _suitable(self, record: PodRecord) -> Iterable[_Place]:
        state, wants = self._state, vector(record.spec.opportunistic)
        mask = state.nodes.mask(record.shape.constraints)
        away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
        only, row_of = state.nodes.only, state.nodes.row
        for place in self._line:
            row = row_of[place.name]
            if mask[row] and place.name not in away and only in {-1, row} and fits(wants, largest(state, row)):
                yield place

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
            if _gives_nothing(state, row):
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
        self._line = [_Place(self._load(loads.loads[name]), number, name) for number, name in enumerate(loads.sorted)]


def _gives_nothing(state: State, row: int) -> bool:
    """Whether a node takes no opportunistic pods at present, however little is used there: who stood there would wait for nothing."""
    if not state.scheduler.opportunistic.by_usage:
        return False
    one = state.opportunistic.usage.of.get(state.nodes.names[row])
    return one is None or one.usage.sample is None or one.usage.is_old(state.now) or shut(state, row, policy_of(state, row))
