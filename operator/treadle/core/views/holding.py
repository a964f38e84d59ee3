"""What holds pods back, as data: the same reasons and words as ``explain`` has, with the queue, the numbers or the nodes that they are about, and what would have to change."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from treadle.core.effects import QUEUE_NOT_FOUND
from treadle.core.kernel.admission_checks import AT_ZERO, GANG_OVER, OVER_LARGEST, TOO_MANY, barred, oversized
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.assign import DENIED, asked_for
from treadle.core.kernel.cycle import AT_MAXIMUM, NO_NODE
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.near import meant
from treadle.core.kernel.tree.order import waiting_order
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.model import DEFAULT_QUEUE
from treadle.core.units.resources import in_words
from treadle.core.views.closest import change, closest
from treadle.core.views.explain import TURN, ahead, explain, gang_room, node_reasons, of_gang_at_once, waiting, whose_maximum
from treadle.core.views.pods import since

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask
    from treadle.core.views.closest import Closest
    from treadle.core.views.explain import GangRoom

MOST_AHEAD = 16
"""Applications ahead that are named."""
MOST_HELD = 32
"""Sets of pods that are alike and told of an application or a queue at the most."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A maximum that is in the way, of one resource, in one partition of nodes: ``missing`` is by how much."""

    queue: str
    resource: str
    used: int
    most: int
    wanted: int
    missing: int
    partition: str = ""


@dataclass(frozen=True, slots=True)
class NodesOut:
    """The nodes: how many there are, how many would take such a pod by now, and how many are out for which reason.

    ``closest`` is the node on which the least is in the way, None where there are none and where one would take the pod.
    """

    known: int
    roomy: int
    reasons: dict[str, int]
    closest: Closest | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Pods that are alike and wait, of one application: ``pod`` is the first of ``pods``, ``since`` when it began to wait, in seconds since 1970.

    ``ahead`` are how many pods of the queue are served before them, ``before`` the applications that are, the first ones. ``change`` says what has to change for them to start.
    """

    pod: str
    pods: int
    application: str
    queue: str
    reason: str
    message: str
    change: str
    since: float | None
    ahead: int
    before: tuple[str, ...]
    limit: Limit | None = None
    nodes: NodesOut | None = None


def of_pod(state: State, uid: str) -> Held | None:
    """Return what holds a pod back, None for one that is not known or has a node."""
    record = state.pods.get(uid)
    if record is None or record.node >= 0:
        return None
    if record.ask is not None and record.state is PodState.WAITING:
        return _of_ask(state, record.ask, f"{record.spec.namespace}/{record.spec.name}", 1, since(state, record))
    told = explain(state, uid)
    assert told is not None, uid
    needed = "whoever made the gates takes them away" if record.spec.gated else told.message
    return Held(
        told.pod,
        1,
        told.application or record.spec.application,
        told.queue,
        told.reason,
        told.message,
        needed,
        since(state, record),
        0,
        (),
    )


def of_application(state: State, identity: str) -> list[Held]:
    """Return what holds an application's pods back that wait, in the order in which they are served."""
    application = state.applications.get(identity)
    if application is None:
        return []
    asks = sorted(ask for ask in application.every_ask() if ask.pods)
    found = [_of_first(state, ask) for ask in islice(asks, MOST_HELD)]
    idle = [uid for uid, record in application.pods.items() if record.node < 0 and record.ask is None]
    for uid in islice(idle, MOST_HELD - len(found)):
        held = of_pod(state, uid)
        assert held is not None, uid
        found.append(held)
    return found


def of_queue(state: State, path: str) -> list[Held]:
    """Return what holds the pods back that wait first in each application of a queue and of those below it, in the order in which applications are served."""
    queue = state.tree.queues.get(path)
    if queue is None:
        return []
    leaves = [one for one in queue.walk() if one.applications]
    turns = [iter(sorted(one.applications.values(), key=one.rank)) for one in leaves]
    found: list[Held] = []
    while turns and len(found) < MOST_HELD:
        for turn in list(turns):
            application = next(turn, None)
            if application is None:
                turns.remove(turn)
            elif len(found) < MOST_HELD and (first := min((ask for ask in application.every_ask() if ask.pods), default=None)):
                found.append(_of_first(state, first))
    return found


def _of_first(state: State, ask: Ask) -> Held:
    record = ask.pods.first
    return _of_ask(state, ask, f"{record.spec.namespace}/{record.spec.name}", len(ask.pods), since(state, record))


def _of_ask(state: State, ask: Ask, pod: str, pods: int, began: float | None) -> Held:
    reason, message = waiting(state, ask)
    application = ask.application
    queue = application.queue
    limit, gang = _limit(state, ask, reason), None
    if reason == NO_NODE and ask.obstacle is not None and ask.obstacle.blocker:
        gang = gang_room(state, ask)
    shape = gang.missing if gang is not None and gang.missing is not None else ask.shape
    nodes = _nodes(state, shape) if reason == NO_NODE else None
    order = takewhile(lambda other: other is not application, waiting_order(queue)) if queue is not None else ()
    before = tuple(other.id for other in islice(order, MOST_AHEAD))
    path = "" if queue is None else queue.path
    found = nodes.closest if nodes is not None else None
    words = change(state, shape, found) if found is not None else ""
    if reason == GANG_OVER and ask.obstacle is not None:
        words = f"queue {ask.obstacle.blocker} may have enough for all of them at once, or the gang starts with fewer"
    if reason == QUEUE_NOT_FOUND:
        words = _of_missing(state, application)
    needed = _for_gang(gang, words) if gang is not None and not gang.alone else _change(reason, message, limit, words)
    return Held(pod, pods, application.id, path, reason, message, needed, began, ahead(ask), before, limit, nodes)


def _limit(state: State, ask: Ask, reason: str) -> Limit | None:
    application, charged = ask.application, ask.shape.charged
    demand, names = dict(charged), state.types.names
    if reason == AT_MAXIMUM:
        found = exceeded(application.limiting, charged)
        if found is None:
            demand = dict(of_gang_at_once(state, ask))
            found = exceeded(application.limiting, tuple(demand.items()))
        if found is None:
            return None
        queue, at = whose_maximum(*found)
        used, most = queue.usage[at], queue.maximum[at]
        return Limit(queue.path, names[at], used, most, demand[at], used + demand[at] - most, queue.partition)
    if reason == AT_ZERO and (barring := barred(application.chain, charged)) is not None:
        queue, at = barring
        return Limit(queue.path, names[at], queue.usage[at], 0, demand[at], demand[at], queue.partition)
    if reason == OVER_LARGEST and application.chain and (over := oversized(application.chain[0], charged)) is not None:
        leaf = application.chain[0]
        assert leaf.largest is not None
        return Limit(leaf.path, names[over], 0, leaf.largest[over], demand[over], demand[over] - leaf.largest[over])
    return None


def _nodes(state: State, shape: Shape) -> NodesOut:
    reasons, roomy = node_reasons(state, shape)
    told = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return NodesOut(state.nodes.known(), len(roomy), told, None if roomy else closest(state, shape))


def _change(reason: str, message: str, limit: Limit | None, of_nodes: str) -> str:
    """Say what has to change, as far as that is more than the message says."""
    if reason == TURN:
        return "nothing: it is looked at when those ahead have been"
    if limit is not None:
        name, missing = limit.resource, in_words(limit.resource, limit.missing)
        where = f" in partition {limit.partition}" if limit.partition else ""
        if reason == AT_MAXIMUM:
            return f"queue {limit.queue} lets go of {missing} of {name}{where}, or may have so much more"
        return f"the pod asks for {missing} of {name} less, or queue {limit.queue} allows it so much more{where}"
    return of_nodes or _OTHERS.get(reason, message)


def _of_missing(state: State, application: Application) -> str:
    """Say what has to change for an application whose queue does not exist."""
    path = asked_for(state, application, application.id.partition("/")[0])
    near = meant(path, filter(state.tree.is_defined, state.tree.queues)) if path else ""
    made = f"queue {path} is made, or another one is asked for" if path else "a queue is asked for"
    return f"{made}, or there is a default queue ({DEFAULT_QUEUE})" + (f"; did you mean {near}?" if near else "")


def _for_gang(gang: GangRoom, of_nodes: str) -> str:
    """Say what has to change for a gang to start."""
    more = gang.others - gang.fit
    where = f" in one {gang.within}" if gang.within else ""
    which = "that are there in place of those that the gang lost" if gang.begun else "with which the gang starts"
    words = f"room for {f'{more} more' if more else 'all'} of the pods {which} is there at once{where}"
    return f"{words}: {of_nodes}" if of_nodes else words


_OTHERS = {
    TOO_MANY: "another application of the queue ends, or it may run more at once",
    MASTER_SHARE: "masters of the queue end, or they may hold more of it",
    DENIED: "its user is allowed to submit there (submitAcl of the queue or of one above it), or another queue is asked for",
    USER_LIMIT: "pods of the same user end, or one user may have more of the queue",
}
