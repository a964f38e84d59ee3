"""One cycle: serve the cluster at once. Order, limits and shares choose the next ask, constraints and scores its node.

An ask that cannot be placed is parked under what blocks it (a queue's maximum, or its shape for want of a node) and woken only
when that changes, so that what waits costs nothing. The reason it was parked with is what users read. Of the asks of a shape for
which a node has room again only the first in the order is woken, and the next one when that was placed or waits for something
else (``kernel.tree.parked``).
"""

from __future__ import annotations

from heapq import heappop, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, Any

from treadle.core.kernel import am_share, locality
from treadle.core.kernel.admission_checks import AT_ZERO, OVER_LARGEST, barred, oversized
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.gangs.known import complete
from treadle.core.kernel.gangs.partial import note_partial
from treadle.core.kernel.gangs.start import next_node, start
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.pods.lifecycle import assume
from treadle.core.kernel.reservations import in_front
from treadle.core.kernel.seam import Choice
from treadle.core.kernel.together.placing import place_together
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.members import Application
from treadle.core.kernel.tree.order import activate, arm_report_at, park, placed, rekey, unpark
from treadle.core.model import Wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from treadle.core.effects import Placed
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.reservations.in_front import Kept
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.core.kernel.tree.parked import Registry

NO_NODE = "Unschedulable"
"""The reason that autoscalers act on: used for a real lack of capacity only."""
AT_MAXIMUM = "QueueMaximum"
MOST_ARMED = 16
"""Asks of a shape whose owners may be told anew after a look at the shape: looking up what many are told takes time, and the next look follows soon where it matters."""
FOR_A_NODE = Wait(NO_NODE, "", "")


def wake(state: State) -> None:
    """Let what waited for something that changed compete again."""
    for queue in state.relieved:
        for ask in list(queue.blocked):
            if exceeded((queue,), ask.shape.charged) is None and not _too_large(ask):
                unpark(ask)
    state.relieved.clear()
    if state.contended:
        state.discipline.turns.wake()
    if state.masters_relieved:
        am_share.wake(state)
    if state.locality.until or state.locality.timers:
        locality.wake(state)
    for queue in state.left:
        rekey(queue)
    state.left.clear()
    for application in state.dirty:
        rekey(application)
    state.dirty.clear()
    if state.plans.held:
        in_front.wake(state)
    if state.shapes.waiting.shapes:
        _wake_shapes(state)


def _wake_shapes(state: State) -> None:
    """Let those compete again for whose shape a node has got room, or may be lent."""
    waiting = state.shapes.waiting
    lending = state.discipline.turns.lending()
    suited = waiting.suited(state.nodes, every=lending)
    if suited:
        crowded = _crowded(state)
        # Where a shape has no room that is found out soon enough, when the first of its asks has its turn.
        surely = waiting.followed and not crowded
        roomy = suited
        if waiting.loose or lending or not surely:
            roomy = [shape for shape in suited if _has_room(state, shape, surely=surely, lending=lending)]
        call(waiting, roomy, crowded)
    if waiting.open:
        for root in (*state.tree.roots.values(), state.tree.root):
            _call_first(state, root)


def _has_room(state: State, shape: Shape, *, surely: bool, lending: bool) -> bool:
    """Whether a shape may be opened; all of it compete at once if it may be lent room."""
    parked = shape.parked
    if lending and state.discipline.turns.can_lend(shape):
        for ask in list(parked.asks):
            unpark(ask)
        return False
    return (
        (surely and not parked.loose)
        or parked.open
        or pick(state.nodes, shape, state.score) >= 0
        or (shape.asked.batch is not None and state.scheduler.together.solver)  # beside others of its set, perhaps
    )


def call_first(waiting: Registry, shapes: list[Shape], crowded: list[Queue]) -> None:
    """Open shapes that a node has room for.

    All asks that are not in the order compete, and all that wait below a queue that may be found full.
    """
    opened = waiting.open
    if not waiting.loose and not crowded:
        opened |= dict.fromkeys(shapes)
        return
    for shape in shapes:
        parked = shape.parked
        if parked.loose:
            for ask in [ask for ask, ordered in parked.asks.items() if not ordered]:
                if ask.wait is not None and ask.wait.reason != AT_MAXIMUM:
                    unpark(ask)
        for queue in crowded:
            for ask in parked.below(queue):
                unpark(ask)
        if len(parked.asks) > parked.loose:
            opened[shape] = None


def call_all(waiting: Registry, shapes: list[Shape], crowded: list[Queue]) -> None:  # noqa: ARG001 - the same signature
    """Let all asks compete of shapes that a node has room for: what ``call_first`` comes to, at the cost of looking at each of them."""
    for shape in shapes:
        for ask in list(shape.parked.asks):
            if ask.wait is not None and ask.wait.reason != AT_MAXIMUM:
                unpark(ask)


call = call_first
"""How the asks of shapes are woken; tests compare the two."""


def _call_first(state: State, root: Queue) -> None:
    """Let the first of all asks below a root compete whose shapes are open; all of them, if looking for the first has cost as much as that."""
    waiting = state.shapes.waiting
    if waiting.all_called:
        return
    ask = waiting.first(root)
    if waiting.calls_for_all():
        for shape in waiting.open:
            for each, ordered in shape.parked.asks.items():
                if ordered:
                    activate(each)
    elif ask is not None and not ask.active:
        activate(ask)


def _close(state: State, shapes: Iterable[Shape]) -> None:
    """Take note that no node has room for some shapes any more: those who wait were looked at again, and their owners are told in a while."""
    opened = state.shapes.waiting.open
    for shape in shapes:
        opened.pop(shape, None)
        quiet = shape.parked.quiet
        if quiet:
            for ask in list(islice(quiet, MOST_ARMED)):
                arm_report_at(state, ask, quiet.pop(ask))


def _crowded(state: State) -> list[Queue]:
    """Return the queues below which an ask might be found that ends the queue's turn in this pass, or has ended it (``Turns.block_queue``).

    What is placed meanwhile counts: no more than has got room, or than is free if anything competes that was not parked for want
    of it.
    """
    waiting, nodes = state.shapes.waiting, state.nodes
    if not state.discipline.turns.full_queues_block or not waiting.limited:
        return []
    busy = waiting.open or state.contended or any(root.active for root in (*state.tree.roots.values(), state.tree.root))
    columns = nodes.columns()[:, : len(nodes)]
    if not busy and waiting.improved is not None:
        columns = columns[:, waiting.improved]
    room = columns.clip(0).sum(axis=1).tolist()
    for (_, kind), count in state.device_charges.stock.there.items():
        room[state.types.index[kind]] += count
    found = []
    for queue in waiting.limited:
        most = state.shapes.largest_within(queue.maximum)
        if queue.blocked_by is not None or any(
            used + more + wanted > limit for used, more, wanted, limit in zip(queue.usage, room, most, queue.maximum, strict=True)
        ):
            found.append(queue)
    return found


def _too_large(ask: Ask) -> bool:
    return (
        ask.wait is not None
        and ask.wait.reason == OVER_LARGEST
        and oversized(ask.application.chain[0], ask.shape.charged) is not None
    )


def cycle(state: State, budget: int) -> list[Placed]:
    """Decide up to ``budget`` placements in the order that the policies give."""
    wake(state)
    effects: list[Placed] = []
    kept = in_front.kept(state)
    for root in (*state.tree.roots.values(), state.tree.root):
        if root.active:
            _serve(state, root, budget - len(effects), effects, kept)
    if kept is not None:
        kept.finish(effects)
    opened = state.shapes.waiting.open
    if opened and len(effects) < budget:  # else the next pass goes on
        _close(state, list(opened))
    state.decided(effects)
    return effects


def _serve(state: State, root: Queue, budget: int, effects: list[Placed], kept: Kept | None) -> None:
    """Decide placements in one partition, in the order of its part of the tree."""
    nodes, score, waiting, turns = state.nodes, state.score, state.shapes.waiting, state.discipline.turns
    while budget > 0 and root.active:
        heap = root.heap
        while True:
            key = heap[0]
            child: Application | Queue = key[-1]
            if type(child) is Application:
                application = child
                if application.key is key:
                    break
            else:
                queue: Any = child  # a queue; it is not narrowed, and a cast would be a call at every step
                if queue.key is key:
                    heap = queue.heap
                    continue
            heappop(heap)
        ask = application.order[0]
        if not ask.active:
            ask = application.next_ask()
        quota = application.quota
        if quota is not None:
            used = quota.used
            for at, most in quota.lower_bound:
                if used[at] > most:
                    break
            else:
                at = -1
            if at >= 0 and quota.exceeded():
                if not turns.unreserve(ask):
                    ask.shape.parked.discard(ask)
                    turns.at_quota(ask)
                    if waiting.open:
                        _call_first(state, root)
                continue
        if application.limiting and (full := exceeded(application.limiting, ask.shape.charged)) is not None:
            if turns.unreserve(ask):
                continue
            lent = None if quota is None else turns.lend(ask)
            if lent is None:
                ask.shape.parked.discard(ask)
                _at_maximum(state, ask, full[0])
                if waiting.open:
                    _call_first(state, root)
            else:
                _place_lent(state, ask, lent, effects)
                budget -= 1
                _advance(application)
                _follow(state, root, ask, more=budget > 0)
            if quota is not None:
                turns.quota_grew(application)
            continue
        if kept is not None and (held_back := kept.holds_back(ask, effects)) is not None:
            _set_aside(state, root, ask, held_back)
            continue
        if ask.plain:
            row = pick(nodes, ask.shape, score)
        elif ask.shape.gang[1] and not complete(state, ask):
            budget -= _gang(state, root, ask, effects)
            if quota is not None:
                turns.quota_grew(application)
            continue
        elif ask.batched:
            budget -= _together(state, root, ask, effects)
            if quota is not None:
                turns.quota_grew(application)
            continue
        else:
            row, wait = _particular(state, ask)
            if wait is not None:
                _set_aside(state, root, ask, wait)
                continue
        if row < 0:
            lent = None if quota is None else turns.lend(ask)
            if lent is None:
                _no_room(state, root, ask)
                if quota is not None:
                    turns.quota_grew(application)
                continue
            _place_lent(state, ask, lent, effects)
        else:
            effects.append(assume(state, ask, row))
        budget -= 1
        _advance(application)
        if waiting.shapes:
            _follow(state, root, ask, more=budget > 0)
        if quota is not None and application.chain[0].users_blocked:
            turns.quota_grew(application)


def _set_aside(state: State, root: Queue, ask: Ask, wait: Wait) -> None:
    """Park an ask whose turn it is and that waits for something else than room on a node."""
    ask.shape.parked.discard(ask)
    park(state, ask, wait)
    if state.shapes.waiting.open:
        _call_first(state, root)
    if ask.application.quota is not None:
        state.discipline.turns.quota_grew(ask.application)


def _gang(state: State, root: Queue, ask: Ask, effects: list[Placed]) -> int:
    """Place what the minimum of a gang lacks, or park the ask whose turn it is; returns how many pods were placed."""
    outcome, waiting = start(state, ask), state.shapes.waiting
    if outcome.placed:
        effects += outcome.placed
        if waiting.shapes:
            _follow(state, root, ask, more=True)
        return len(outcome.placed)
    note_partial(state, ask.application, ask.shape.gang)
    if outcome.wait is None and outcome.full is None:
        state.gangs.stuck.setdefault(ask.shape.gang, state.now)
        _no_room(state, root, ask, Wait(NO_NODE, ask.shape.gang[1], ""))
        return 0
    ask.shape.parked.discard(ask)
    if outcome.wait is not None:
        if outcome.full is not None:
            outcome.full.blocked[ask] = None
        park(state, ask, outcome.wait)
    elif outcome.full is not None:
        _at_maximum(state, ask, outcome.full)
    if waiting.open:
        _call_first(state, root)
    return 0


def _together(state: State, root: Queue, ask: Ask, effects: list[Placed]) -> int:
    """Place what waits of an application that is placed together, and park what is left; returns how many pods were placed."""
    outcome, waiting = place_together(state, ask), state.shapes.waiting
    effects += outcome.placed
    for one, full in outcome.full.items():
        one.shape.parked.discard(one)
        _at_maximum(state, one, full)
    for one, wait in outcome.refused.items():
        _no_room(state, root, one, wait)
    if outcome.placed and waiting.shapes:
        _follow(state, root, ask, more=True)
    elif waiting.open:
        _call_first(state, root)
    return len(outcome.placed)


def _no_room(state: State, root: Queue, ask: Ask, wait: Wait = FOR_A_NODE) -> None:
    """Park an ask that no node has room for."""
    shape, waiting = ask.shape, state.shapes.waiting
    if ask not in shape.parked.asks:
        if not waiting.shapes:
            waiting.seen, waiting.slots_seen = state.nodes.improved.end, state.nodes.slots.end  # none was looked for before
        lendable = ask.application.quota is not None and state.discipline.turns.may_be_lent(shape)
        shape.parked.add(ask, ordered=shape.near is None and not lendable)
    park(state, ask, wait)
    if shape.parked.open:
        _close(state, (shape,))
        if waiting.open:
            _call_first(state, root)


def _follow(state: State, root: Queue, ask: Ask, *, more: bool) -> None:
    """Bring the orders of what waits for nodes up to date after a placement of an ask, and if there is to be another let the first compete."""
    application = ask.application
    placed(application)
    waiting = state.shapes.waiting
    if not waiting.open or not more:
        return
    closed = waiting.full(state.nodes)
    if closed:
        _close(state, closed)
        if ask.active and ask.plain and not application.limiting and ask.shape in closed and ask.shape.parked.asks.get(ask):
            park(state, ask, FOR_A_NODE)
    if waiting.open:
        _call_first(state, root)


def _at_maximum(state: State, ask: Ask, full: Queue) -> None:
    """Park an ask that would put a queue over its maximum."""
    never = barred(ask.application.limiting, ask.shape.charged)
    queue = full if never is None else never[0]
    queue.blocked[ask] = None
    park(state, ask, Wait(AT_MAXIMUM if never is None else AT_ZERO, queue.path, ""))
    if ask.application.quota is None or never is not None:
        return
    turns = state.discipline.turns
    if turns.may_be_lent(ask.shape):
        ask.shape.parked.add(ask, ordered=False)
    else:
        turns.block_queue(queue, ask)


def _place_lent(state: State, ask: Ask, lent: tuple[int, Application], effects: list[Placed]) -> None:
    row, part = lent
    effects.append(assume(state, ask, row, part))
    state.dirty[part] = None


def _particular(state: State, ask: Ask) -> Choice:
    """Return the node for a master, or for pods that would like to be somewhere, or why there is none yet."""
    if ask.master and not state.discipline.masters.may_start(ask):
        leaf = ask.application.chain[0]
        leaf.masters_blocked[ask] = None
        state.masters_waiting[leaf] = None
        return Choice(-1, Wait(MASTER_SHARE, leaf.path, ""))
    near = ask.shape.near
    if near is None:
        return Choice(next_node(state, ask) if ask.shape.gang[1] else pick(state.nodes, ask.shape, state.score))
    near.follow(state.nodes)
    return state.discipline.turns.near(ask, near)


def _advance(application: Application) -> None:
    """Re-key the chosen chain: its entries are on top of their heaps, so each is replaced in place.

    An application's step is written apart from that of queues, since the interpreter specializes code that meets one type only.
    """
    leaf = application.queue
    assert leaf is not None
    if application.active:
        key = application.key = leaf.rank(application)
        heapreplace(leaf.heap, key)
    else:
        heappop(leaf.heap)
        application.key = None
        leaf.active -= 1
    child, parent = leaf, leaf.parent
    while parent is not None:
        if child.active:
            key = child.key = parent.rank(child)
            heapreplace(parent.heap, key)
        else:
            heappop(parent.heap)
            child.key = None
            parent.active -= 1
        child, parent = parent, parent.parent
