"""The start of a gang: a minimum of its pods is placed at once or none is.

When the first ask of a gang has its turn, as many pods as the minimum lacks are tried on nodes, all of the gang's asks in their order, and all is taken
back. If each found a node they are placed there for good, at once; else none is, and the gang waits as one. Pods
beyond the minimum are placed like any others. To the limit of a user, which lets one be over it by what is placed last, a gang's start is one placement.

A gang that has begun and lost pods is completed by those that have come in their place, though they be fewer than it lacks: others
may have done their work.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from treadle.core.kernel.admission_checks import GANG_INCOMPLETE, GANG_OVER, asks_of, block
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.attempt import Attempt, tried
from treadle.core.kernel.gangs import domains
from treadle.core.kernel.gangs.ever import never_placed
from treadle.core.kernel.gangs.known import completed, members, minimum, placed, unsaid
from treadle.core.kernel.nodes.candidates import pick, takes
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.order import unpark
from treadle.core.model import Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.effects import Placed
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, PodRecord, Queue
    from treadle.core.units.resources import Demand


class Room(Protocol):
    """Room on a node, a ``row``, for a pod of the ask with this key."""

    key: tuple[int, int, bool]
    row: int


class Outcome(NamedTuple):
    """What came of a try: the placements, or why there are none: ``wait``, a queue that is ``full``, or no room."""

    placed: list[Placed]
    wait: Wait | None = None
    full: Queue | None = None


class Lacking(NamedTuple):
    """What the minimum of a gang lacks: how many pods of which ask are to be placed together."""

    share: list[tuple[Ask, int]]
    least: int
    """How many pods the gang starts with."""
    never: tuple[int, ...] | None = None
    """The shapes of its pods that no node could have, where it has pods to spare; None where it has not."""

    @property
    def demand(self) -> Demand:
        """The sum of what they would count for in their queues; a claim for devices that several have counts once."""
        total: dict[int, int] = {}
        shared: dict[str, Demand] = {}
        for one, count in self.share:
            for position, value in one.shape.charged:
                total[position] = total.get(position, 0) + count * value
            for position, value in one.shape.once:
                total[position] -= count * value
            shared.update(one.shape.shared)
        for counts in shared.values():
            for position, value in counts:
                total[position] += value
        return tuple(total.items())

    @property
    def pods(self) -> list[tuple[Ask, PodRecord]]:
        """The pods, each with its ask: the first ones of each."""
        return [(ask, record) for ask, count in self.share for record in islice(ask.pods, count)]


NO_ROOM = Outcome([])
LED = (
    ". It cannot start as it is: JobSet makes the other pods of a job with exclusive-topology when the first one is on a node, and that waits for them; "
    "let the gang start with the first pods alone, or take the pods out of it"
)


def start(state: State, ask: Ask, rooms: Sequence[Room] = ()) -> Outcome:
    """Place what the minimum of an ask's gang lacks, or nothing; ``rooms`` are tried first, each for a pod of its ask."""
    application, gang = ask.application, ask.shape.gang
    lacking = lacks(state, application, gang)
    if isinstance(lacking, Wait):
        return Outcome([], lacking)
    if lacking.never is not None:
        state.gangs.spare[gang] = lacking.never
    for one, _ in lacking.share:
        if one.master and not state.discipline.masters.may_start(one):
            leaf = application.chain[0]
            leaf.masters_blocked[ask] = None
            state.masters_waiting[leaf] = None
            return Outcome([], Wait(MASTER_SHARE, leaf.path, ""))
    total, count = lacking.demand, sum(count for _, count in lacking.share)
    for queue in application.limiting:
        if any(value > queue.maximum[position] for position, value in total):
            words = f'gang "{gang[1]}" asks for more at once than queue {queue.path} may ever have: {count} pods have to be placed together'
            return Outcome([], Wait(GANG_OVER, queue.path, words), queue)
    full = exceeded(application.limiting, total)
    if full is not None:
        return Outcome([], full=full[0])
    attempt = (_in_rooms(state, application, lacking, rooms) if rooms else None) or _tried(state, application, lacking)
    if attempt is None:
        return NO_ROOM
    completed(state, gang)
    effects = attempt.commit()
    for one in asks_of(application, gang):
        if one.wait is not None and one.wait.blocker == gang[1]:
            unpark(one)
    return Outcome(effects)


def lacks(state: State, application: Application, gang: tuple[str, str]) -> Lacking | Wait:
    """Return which pods make up the minimum of a gang, or why it has to wait for more."""
    name = gang[1]
    least = minimum(state, application, name)
    if least is None:
        return Wait(GANG_INCOMPLETE, name, unsaid(state, application, name))
    asks = [one for one in asks_of(application, gang) if block(application, one.pods.first) is None]
    on_nodes, there = len(placed(application, name)), sum(len(one.pods) for one in asks)
    need = least - on_nodes
    coming = _coming(application, name)
    if there + coming < need and gang in state.gangs.begun:
        need = there + coming
    if there < need:
        if there + coming >= need:
            words = f'gang "{name}" starts with {least} pods: binds of {coming} have failed and are tried again soon, together with the others'
            return Wait(GANG_INCOMPLETE, name, words)
        words = f'gang "{name}" starts with {least} pods: {on_nodes} are placed and {there} wait, the others are not there yet'
        if any(one.leads and not one.node for one in members(application, name)):
            words += LED
        return Wait(GANG_INCOMPLETE, name, words)
    if there <= need or len(asks) < 2:
        return Lacking(_shared_out(asks, need), least)
    never = never_placed(state, asks)
    in_order = [*(one for one in asks if one not in never), *never]
    return Lacking(_shared_out(in_order, need), least, tuple(one.shape.id for one in never))


def _coming(application: Application, gang: str) -> int:
    """Return how many pods of a gang wait for a moment since their binds have failed."""
    return sum(record.state is PodState.DELAYED and record.spec.gang == gang for record in application.whole.pods.values())


def next_node(state: State, ask: Ask) -> int:
    """Return the row for one more pod of a gang that has its minimum, or -1: in the topology domain that it prefers, if that has room."""
    together = ask.shape.together
    if together is not None and together is not ask.shape:
        row = pick(state.nodes, together, state.score)
        if row >= 0:
            return row
    return pick(state.nodes, ask.shape, state.score)


def _tried(state: State, application: Application, lacking: Lacking) -> Attempt | None:
    """Try all pods on nodes, in one domain after the other where one is asked for; returns an attempt that can be committed, None without room."""
    first = lacking.share[0][0].shape
    share = [(one.shape, count) for one, count in lacking.share]
    if first.asked.together is not None:
        topology, required = first.asked.together
        begun = bool(placed(application, first.gang[1]))
        places = [domains.ANY] if begun else domains.best_first(state, topology, share)
        for place in places:
            found = _in_place(state, application, lacking, topology, place)
            if found is not None:
                return found
        if required:
            return None
    if any(domains.room_for(state, shape) < count for shape, count in share):
        return None
    return _in_place(state, application, lacking)


def _in_place(state: State, application: Application, lacking: Lacking, topology: str = "", domain: int = -1) -> Attempt | None:
    """Try all pods on nodes: with a topology in one domain of it, which is that of the others of the gang, or for its first pod the one that is given."""
    with tried(state, application) as attempt:
        for one, record in lacking.pods:
            shape = one.shape if not topology or one.shape.together is None else one.shape.together
            if domain != domains.ANY:
                row, domain = domains.pick_in(state, shape, topology, domain), domains.ANY
            else:
                row = attempt.pick(shape)
            if row < 0:
                return None
            attempt.place(one, record, row)
    return attempt


def _in_rooms(state: State, application: Application, lacking: Lacking, rooms: Sequence[Room]) -> Attempt | None:
    """Try each pod in a room of its own."""
    left = list(rooms)
    with tried(state, application) as attempt:
        for one, record in lacking.pods:
            room = next((room for room in left if room.key == one.key and takes(state.nodes, room.row, one.shape)), None)
            if room is None:
                return None
            left.remove(room)
            attempt.place(one, record, room.row)
    return attempt


def _shared_out(asks: list[Ask], need: int) -> list[tuple[Ask, int]]:
    """Return how many pods of which ask make up a number, in the order of the asks."""
    found = []
    for one in asks:
        count = min(need, len(one.pods))
        if count:
            found.append((one, count))
        need -= count
    return found
