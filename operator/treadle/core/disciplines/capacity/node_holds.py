"""Nodes kept for large pods under the capacity discipline: what YARN calls reservations, with bounds that a cluster of pods needs.

Where pods come and go small ones take every gap, and a large one might wait for ever. An application whose pod has found no node
for a while has the one kept that lacks least for it; what becomes free there adds up. As in YARN (``RegularContainerAllocator``,
``LeafQueue.assignContainers``) the queue and the user must be within their limits with the pod counted, what is kept counts as
used, those who are first in order come first, and the pod may still be placed elsewhere. No pod is asked to go; ``preemption``
may help as if nothing was kept.

YARN lets any application reserve any node. A kept node is idle in part, so here only two may have one: a leaf that has less of
the partition than it is guaranteed there, since room is owed to it; and one beside which no other waits for a node in the
partition, since no other is kept waiting by it. When an application comes to wait that is owed room, those that have no such
right give back what is kept for them. At most ``reservableNodes`` of a partition's nodes are kept (the fair discipline's
setting), each for ``holdTimeout`` at the most, and as long as it was kept in vain a node is left alone after that.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from typing import TYPE_CHECKING, Any

from treadle.core.disciplines.capacity.quota import quota_of
from treadle.core.kernel.cycle import NO_NODE
from treadle.core.kernel.preemption.feasible import FeasibleNodes
from treadle.core.kernel.preemption.holds import PATIENCE, count, of_gang, place, release
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.model import Constraints

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue

INTERVAL = 3.0
"""Seconds between two looks."""
MOST_AT_ONCE = 16
"""Nodes that one look may keep in a partition."""
MOST_KEPT = 128
"""Nodes that are kept in a partition at most, however large it is."""


def due(state: State) -> bool:
    """Whether it is time to look: nodes may be kept, something waits, and the interval has passed."""
    when = next_run(state)
    return when is not None and state.now >= when


def next_run(state: State) -> float | None:
    """Return when it is time to look next, None while no ask waits or no node may be kept."""
    if not state.waiting or state.scheduler.capacity.reservable_nodes <= 0:
        return None
    return state.preemption.reserved + INTERVAL


def keep_nodes(state: State, budget: int) -> list[Effect]:  # noqa: ARG001 - one signature for all rounds
    """Keep nodes for those who have waited long enough and may have one, in each partition; nothing is to be done for it."""
    preemption = state.preemption
    preemption.reserved = state.now
    preemption.left_alone = {row: until for row, until in preemption.left_alone.items() if until > state.now}
    waiting = {
        root: {leaf: asks for leaf, asks in leaves.items() if len(leaves) == 1 or _owed(leaf)}
        for root, leaves in _who_waits(state).items()
    }
    _note_patience(state, waiting)
    feasible: FeasibleNodes | None = None
    for root, leaves in waiting.items():
        without_victims: dict[Queue, set[Application]] = {
            leaf: {ask.application for ask in asks if state.now >= preemption.waits[ask][1] + PATIENCE}
            for leaf, asks in leaves.items()
        }
        without_victims = {leaf: applications for leaf, applications in without_victims.items() if applications}
        room = _may_be_kept(state, root.partition) if without_victims else 0
        if room > 0:
            feasible = feasible or FeasibleNodes(state.nodes)
            for application in root.in_order(one for found in without_victims.values() for one in found):
                room -= _keep(state, application, feasible)
                if room <= 0:
                    break
    return []


def _who_waits(state: State) -> dict[Queue, dict[Queue, list[Ask]]]:
    """Return the asks that wait for a node, by the root of their partition and their leaf."""
    by_leaf: dict[Queue, list[Ask]] = {}
    for shape in state.shapes.parked():
        for ask in shape.parked.asks:
            wait = ask.obstacle  # ``waits_for_a_node`` without a call: these may be many thousands
            if wait is not None and wait.reason == NO_NODE and not wait.blocker:
                leaf = ask.application.chain[0]
                asks = by_leaf.get(leaf)
                if asks is None:
                    asks = by_leaf[leaf] = []
                asks.append(ask)
    found: dict[Queue, dict[Queue, list[Ask]]] = defaultdict(dict)
    for leaf, asks in by_leaf.items():
        found[leaf.chain[-1]][leaf] = asks
    return found


def _note_patience(state: State, waiting: dict[Queue, dict[Queue, list[Ask]]]) -> None:
    """Note since when the first pod of each ask waits for a node, and a node may be kept for it."""
    before, now = state.preemption.waits, state.now
    state.preemption.waits = waits = {}
    for leaves in waiting.values():
        for asks in leaves.values():
            for ask in asks:
                first, known = ask.pods.first.spec.uid, before.get(ask)
                waits[ask] = known if known is not None and known[0] == first else (first, now)


def _owed(leaf: Queue) -> bool:
    """Whether a leaf has less than it is guaranteed, by the type of which it has the largest part."""
    queue_rank: Any = leaf.queue_rank
    if queue_rank is None or queue_rank.group[1]:
        return False
    return bool(max((leaf.usage[at] / total for at, total in queue_rank.totals), default=0.0) < queue_rank.due)


def owed(state: State, application: Application) -> bool:
    """Whether nodes may be kept for an application: its leaf has less than it is guaranteed, or it is the only one that waits for a node."""
    leaf, root = application.chain[0], application.chain[-1]
    return _owed(leaf) or all(
        ask.application.chain[0] is leaf
        for shape in state.shapes.parked()
        for ask in shape.parked.asks
        if ask.application.chain[-1] is root and ask.wait is not None and ask.wait.reason == NO_NODE
    )


def take_back(state: State) -> None:
    """End what is kept for those to whom no room is owed where others wait to whom it is, if it is time to look; call it before placements are decided."""
    kept = [hold for hold in state.preemption.holds if hold.counted and hold.application.queue is not None]
    if not kept or not due(state):
        return
    waiting = _who_waits(state)
    for hold in kept:
        if hold not in state.preemption.holds:
            continue
        leaf = hold.application.chain[0]
        others = [other for other in waiting.get(hold.application.chain[-1], ()) if other is not leaf and _owed(other)]
        if not others:
            continue
        count(hold, -1)
        owed = _owed(leaf)
        count(hold, 1)
        if not owed:
            for each in of_gang(state, hold.gang) if hold.gang[1] else [hold]:
                release(state, each, f"room is owed to queue {others[0].path}")


def _may_be_kept(state: State, partition: str) -> int:
    """Return how many more nodes of a partition may be kept now."""
    nodes = state.nodes
    own = nodes.mask(Constraints(partition=(state.scheduler.partition_label, partition)))
    most = min(MOST_KEPT, ceil(int(own.sum()) * state.scheduler.capacity.reservable_nodes))
    return min(MOST_AT_ONCE, most - sum(hold.counted and bool(own[hold.row]) for hold in state.preemption.holds))


def _keep(state: State, application: Application, feasible: FeasibleNodes) -> bool:
    """Keep a node for the first ask of an application that may have one; returns whether one is."""
    preemption, quota = state.preemption, quota_of(application)
    if quota is None or quota.exceeded():
        return False
    for ask in sorted(application.asks.values()):
        since = preemption.waits.get(ask)
        if since is None or state.now < since[1] + PATIENCE:
            continue
        held = sum(hold.application is application and hold.key == ask.key for hold in preemption.holds)
        if held >= len(ask.pods) or exceeded(application.limiting, ask.shape.charged) is not None:
            continue
        row = feasible.for_one_of(ask.shape, {*preemption.left_alone, *(hold.row for hold in preemption.holds)})
        if row >= 0:
            until = state.now + state.scheduler.capacity.preemption.hold_timeout
            place(state, Hold(application, ask.shape, ask.key, row, set(), state.now, until, without_victims=True, counted=True))
            return True
    return False
