"""Gangs: pods of an application of which a minimum starts together or none does.

When the first ask of a gang has its turn, as many pods as the minimum lacks are tried on nodes, all of the gang's asks in their order, and all is taken
back. If each found a node they are placed there for good, at once; else none is, and the gang waits as one. Whoever is beyond the
minimum is placed like any other pod. To the limit of a user, which lets one be over it by what is placed last, a gang's start is one placement.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from treadle.core.kernel.admission_checks import GANG_INCOMPLETE, GANG_OVER, asks_of, block
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.attempt import tried
from treadle.core.kernel.nodes.candidates import pick
from treadle.core.kernel.nodes.rules.resources import fitting
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.order import unpark
from treadle.core.model import Wait

if TYPE_CHECKING:
    from treadle.core.effects import Placed
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
    from treadle.core.units.resources import Demand


class Outcome(NamedTuple):
    """What came of a try: the placements, or why there are none: ``wait``, a queue that is ``full``, or no room."""

    placed: list[Placed]
    wait: Wait | None = None
    full: Queue | None = None


NO_ROOM = Outcome([])


def minimum(state: State, application: Application, gang: str) -> int | None:
    """Return how many pods of a gang start together: the word of the Application object, else the largest of its pods'; None if nobody says."""
    explicit = state.explicit.get(application.whole.id)
    for name, count in explicit.gangs if explicit is not None else ():
        if name == gang:
            return count
    said = [count for record in application.whole.pods.values() for name, count in record.spec.gang_minimums if name == gang]
    return max(said, default=None)


def placed_of(application: Application, gang: str) -> int:
    """Return how many pods of a gang are on nodes."""
    return sum(record.node >= 0 and record.spec.gang == gang for record in application.whole.pods.values())


def complete(state: State, ask: Ask) -> bool:
    """Whether the minimum of an ask's gang is on nodes, so that its pods are placed one by one."""
    gang = ask.shape.gang
    if gang in state.complete_gangs:
        return True
    least = minimum(state, ask.application, gang[1])
    if least is None or placed_of(ask.application, gang[1]) < least:
        return False
    state.complete_gangs[gang] = None
    return True


def start(state: State, ask: Ask) -> Outcome:
    """Place what the minimum of an ask's gang lacks, or nothing."""
    application, gang = ask.application, ask.shape.gang
    name = gang[1]
    least = minimum(state, application, name)
    asks = [one for one in asks_of(application, gang) if block(application, one.pods.first) is None]
    if least is None:
        words = f'nobody says how many pods of gang "{name}" start together: neither spec.gangs of the Application nor the pods'
        return Outcome([], Wait(GANG_INCOMPLETE, name, words))
    placed, there = placed_of(application, name), sum(len(one.pods) for one in asks)
    need = least - placed
    if there < need:
        words = f'gang "{name}" starts with {least} pods: {placed} are placed and {there} wait, the others are not there yet'
        return Outcome([], Wait(GANG_INCOMPLETE, name, words))
    share = _shared_out(asks, need)
    for one, _ in share:
        if one.master and not state.discipline.masters.may_start(one):
            leaf = application.chain[0]
            leaf.masters_blocked[ask] = None
            state.masters_waiting[leaf] = None
            return Outcome([], Wait(MASTER_SHARE, leaf.path, ""))
    total = _sum(share)
    for queue in application.limiting:
        if any(value > queue.maximum[position] for position, value in total):
            words = f'gang "{name}" asks for more at once than queue {queue.path} may ever have: {need} pods have to be placed together'
            return Outcome([], Wait(GANG_OVER, queue.path, words), queue)
    full = exceeded(application.limiting, total)
    if full is not None:
        return Outcome([], full=full[0])
    if any(room_for(state, one.shape) < count for one, count in share):
        return NO_ROOM
    with tried(state, application) as attempt:
        for one, record in _first(share):
            row = pick(state.nodes, one.shape, state.score)
            if row < 0:
                return NO_ROOM
            attempt.place(one, record, row)
    state.complete_gangs[gang] = None
    effects = attempt.commit()
    for one in asks_of(application, gang):
        if one.wait is not None and one.wait.blocker == name:
            unpark(one)
    return Outcome(effects)


def room_for(state: State, shape: Shape) -> int:
    """Return how many pods of a shape fit at the most, each node by itself."""
    nodes = state.nodes
    columns = nodes.columns()[:, : len(nodes)]
    usable = nodes.mask(shape.constraints) & fitting(columns, shape.demand)
    if shape.between is not None and not usable.any():
        return 0
    if shape.ports:
        return int(usable.sum())
    if not shape.demand:
        return len(nodes) * len(nodes) if usable.any() else 0
    fits = np.min([columns[position] // max(value, 1) for position, value in shape.demand], axis=0)
    return int(fits[usable].sum())


def _shared_out(asks: list[Ask], need: int) -> list[tuple[Ask, int]]:
    """Return how many pods of which ask make up a number, in the order of the asks."""
    found = []
    for one in asks:
        count = min(need, len(one.pods))
        if count:
            found.append((one, count))
        need -= count
    return found


def _first(share: list[tuple[Ask, int]]) -> list[tuple[Ask, PodRecord]]:
    """Return so many pods of each ask, the first ones."""
    return [(ask, record) for ask, count in share for record in islice(ask.pods, count)]


def _sum(share: list[tuple[Ask, int]]) -> Demand:
    total: dict[int, int] = {}
    for one, count in share:
        for position, value in one.shape.demand:
            total[position] = total.get(position, 0) + count * value
    return tuple(total.items())
