"""Queues at nodes, as YARN has them for opportunistic containers (``NodeQueueLoadMonitor``, ``ContainerScheduler``): who finds no room waits for that of some nodes.

A kubelet starts what is bound to it at once, so Kubernetes has no queue at a node and who waits is bound nowhere: it stands in the queues of several nodes here, and is bound to the first of them that has room for it, as Sparrow's
late binding has it. What a node has idle goes to the head of its queue; who stands behind it does not overtake it for being smaller. A node without a queue takes whoever comes, those that stand elsewhere too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.nodes.shapes import NO_GANG
from treadle.core.kernel.opportunistic.memory import vector
from treadle.core.kernel.opportunistic.room import largest
from treadle.core.kernel.opportunistic.sets import is_of_set
from treadle.core.kernel.opportunistic.usage import policy_of, shut
from treadle.core.rules.opportunistic.node_loads import LoadOrder, NodeLoads, Report
from treadle.core.rules.opportunistic.queue_limits import QueueBounds
from treadle.core.units.amounts import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from treadle.core.kernel.opportunistic.room import Room
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model.opportunistic import NodeQueueSettings

MILLISECONDS = 1000
MOST_A_PASS = 256
"""Pods that come to stand at nodes in one pass at the most."""
PART = 16
"""The part of the nodes, as its denominator, that pods come to before the nodes are put in order anew."""


def may_stand(state: State, record: PodRecord) -> bool:
    """Whether a pod that stands nowhere may stand at nodes: gangs, and pods that are placed as a set, find their room together."""
    shape = record.shape
    stands = record.spec.uid in state.opportunistic.queues.of
    return not stands and shape.gang == NO_GANG and shape.asked.together is None and not is_of_set(state, record)


def serve(
    state: State, room: Room, ready: Callable[[PodRecord], bool], closed: dict[int, None]
) -> Iterator[tuple[PodRecord, int]]:
    """Yield who stands in queues and may go to its node now, with the row; it has to be placed there before the next one is asked for.

    ``ready`` says whether a pod may be placed at all; who may not leaves its queues. ``closed`` gets the rows of nodes whose room is kept for somebody who waits for more of it.
    """
    kept = state.opportunistic
    queues, nodes = kept.queues, state.nodes
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
        self._report()
        # Hadoop leaves out nodes that are full, so where all are the limit stays behind, and what came is sent away again.
        self._queues.limit.update([load.queued for load in self.loads.loads.values()])
        if self._shorten():
            self._report()
        self.open = sum(max(0, settings.most - load.queued) for load in self.loads.loads.values())
        """How many more may stand at some node."""

    def places(self) -> int:
        """Return how many more may come to stand at nodes in this pass."""
        return min(self._left, self.open)

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
        if self.places() <= 0:
            return
        self._left -= 1
        best = []
        for name in self._suitable(record):
            best.append(name)
            if len(best) >= settings.candidates:
                break
        queues.turn += 1
        if queues.turn % max(settings.candidates, len(self.loads.sorted) // PART) == 0:
            self.loads.sort()
        for at in range(min(settings.nodes_per_pod, len(best))):
            name = best[(queues.turn + at) % len(best)]
            self.loads.loads[name].queued += 1  # by their wait nodes are not bounded in YARN; here they are either way
            self.open -= 1
            queues.enter(record.spec.uid, name)

    def _suitable(self, record: PodRecord) -> Iterable[str]:
        state, wants = self._state, vector(record.spec.opportunistic)
        mask = state.nodes.mask(record.shape.constraints)
        away = state.opportunistic.back_off.nodes(record.spec.application, state.now)
        only, row_of = state.nodes.only, state.nodes.row
        for name in self.loads.sorted:
            row = row_of[name]
            there = mask[row] and name not in away and only in {-1, row} and self.loads.loads[name].queued < self._settings.most
            if there and fits(wants, largest(state, row)):
                yield name

    def _report(self) -> None:
        """Look at all nodes and put them in order."""
        state, kept, loads, most = self._state, self._state.opportunistic, self.loads, self._settings.most
        ages = {row: [state.now - one.since for one in there.values()] for row, there in kept.on.items()}
        every = [age for there in ages.values() for age in there]
        usual = sum(every) / len(every) if every else 0.0
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
            wait = (queued + 1) * (sum(there) / len(there) ** 2 if there else usual)
            loads.add(name, "")
            loads.take_report(name, Report(queued, most, min(int(wait * MILLISECONDS), 1 << 53)), state.now)
        loads.sort()


def _gives_nothing(state: State, row: int) -> bool:
    """Whether a node takes no opportunistic pods at present, however little is used there: who stood there would wait for nothing."""
    if not state.scheduler.opportunistic.by_usage:
        return False
    one = state.opportunistic.usage.of.get(state.nodes.names[row])
    return one is None or one.usage.sample is None or one.usage.is_old(state.now) or shut(state, row, policy_of(state, row))
