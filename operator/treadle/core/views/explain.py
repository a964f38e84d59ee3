"""Why a pod waits, in words: the reason it was parked with, completed with numbers when it is read.

There is no second opinion here. A parked ask was parked by the cycle; this page only spells out what blocked it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from treadle.core.kernel.admission_checks import AT_ZERO, OVER_LARGEST, TOO_MANY, asks_of, barred, oversized
from treadle.core.kernel.am_share import MASTER_SHARE
from treadle.core.kernel.cycle import AT_MAXIMUM, NO_NODE
from treadle.core.kernel.gangs import domains
from treadle.core.kernel.gangs.ever import never_placed
from treadle.core.kernel.gangs.known import minimum, placed, topology_of
from treadle.core.kernel.gangs.provisioning import told_as
from treadle.core.kernel.gangs.start import Lacking, lacks
from treadle.core.kernel.nodes.rules import host_ports
from treadle.core.kernel.nodes.rules.resources import fitting, shortages
from treadle.core.kernel.opportunistic import telling as opportunistic
from treadle.core.kernel.periodic.failed_binds import BIND_FAILED, words_of
from treadle.core.kernel.pods import delays
from treadle.core.kernel.pods.shaping import asked_beside
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.preemption.holds import of_gang
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.order import waiting_order
from treadle.core.kernel.tree.quota import USER_LIMIT
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.nodes.table import Nodes
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask, Queue
    from treadle.core.model import Constraints
    from treadle.core.units.resources import Demand


TURN, GATED = "WaitingForTurn", "SchedulingGated"
MOST_TAINTS = 3
"""Taints that are named in a message."""
LONGEST = 1024
"""Characters of a message, as in conditions and events."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of one pod: ``reason`` is CamelCase, ``ahead`` how many waiting pods of its queue are served before it."""

    pod: str
    state: str
    reason: str
    message: str
    queue: str = ""
    application: str = ""
    node: str = ""
    ahead: int = 0


def explain(state: State, uid: str) -> Explanation | None:
    """Explain one pod by its uid; None if it is not known."""
    record = state.pods.get(uid)
    if record is None:
        return None
    spec = record.spec
    name = f"{spec.namespace}/{spec.name}"
    application = record.application
    queue = application.queue.path if application is not None and application.queue is not None else ""
    identity = application.id if application is not None else ""
    if record.state in {PodState.ASSUMED, PodState.BOUND}:
        node = state.nodes.names[record.node]
        words = "is bound" if record.state is PodState.BOUND else "is being bound"
        return Explanation(name, record.state.value, "Placed", f"the pod {words} to node {node}", queue, identity, node)
    if record.ask is not None and record.state is PodState.WAITING:
        reason, message = waiting(state, record.ask)
        return Explanation(name, record.state.value, reason, message, queue, identity, ahead=ahead(record.ask))
    if uid in state.opportunistic.waiting:
        reason, message = opportunistic.waiting(state, record)
        return Explanation(name, record.state.value, reason, message, queue, identity)
    if record.state is PodState.DELAYED:
        return Explanation(name, record.state.value, BIND_FAILED, words_of(record), queue, identity)
    reason, message = (
        (GATED, "the pod has scheduling gates")
        if spec.gated
        else ("NotPlaced", "the pod is being deleted or its bind was refused")
    )
    return Explanation(name, record.state.value, reason, message, queue, identity)


def waiting(state: State, ask: Ask) -> tuple[str, str]:
    """Return (reason, message) of an ask that waits. Names that people chose may be long, so the message is cut."""
    reason, message = _waiting(state, ask)
    return reason, message if len(message) <= LONGEST else message[: LONGEST - 1] + "…"


def _waiting(state: State, ask: Ask) -> tuple[str, str]:
    wait = ask.obstacle
    if wait is None:
        return (
            TURN,
            f"{ahead(ask)} pods of queue {ask.application.queue.path if ask.application.queue else '-'} are ahead",
        )
    reason = limit_of_now(state, ask) or _in_place_of(ask, wait.reason)
    if reason == NO_NODE and wait.blocker:
        return told_as(state, ask, no_node_for_gang(state, ask) + _coming_for_gang(state, ask))
    if reason == NO_NODE:
        return NO_NODE, no_node(state, ask.shape, among_others=bool(wait.message)) + _coming(state, ask) + _delayed(
            state, ask
        ) + wait.message
    words = _LIMITS.get(reason)
    return reason, words(state, ask) if words is not None else wait.message


def reason(state: State, ask: Ask) -> str:
    """Return the reason of ``waiting`` without its words, which take much longer."""
    wait = ask.obstacle
    if wait is None:
        return TURN
    found = limit_of_now(state, ask) or _in_place_of(ask, wait.reason)
    return told_as(state, ask, "")[0] if found == NO_NODE and wait.blocker else found


def limit_of_now(state: State, ask: Ask) -> str:
    """Return the limit that would hold an ask back by now if a node had room for it, empty if none would.

    While no node has room only the first of a shape's asks is looked at, so a limit that was reached since it was parked is found
    here: by the checks of the cycle, in their order.
    """
    application, demand = ask.application, ask.shape.charged
    if not ask.shape.parked.asks.get(ask):
        return ""
    if application.quota is not None and application.quota.exceeded():
        return USER_LIMIT
    if exceeded(application.limiting, demand) is not None:
        return AT_MAXIMUM if barred(application.limiting, demand) is None else AT_ZERO
    if ask.master and state.discipline.words.masters_short(ask):
        return MASTER_SHARE
    return ""


def _in_place_of(ask: Ask, reason: str) -> str:
    """Return a limit, or that which holds an ask back in its place since it was raised: an ask that its queue could never take is not looked at again for that."""
    chain, limiting, demand = ask.application.chain, ask.application.limiting, ask.shape.charged
    raised = (reason == OVER_LARGEST and oversized(chain[0], demand) is None) or (
        reason == AT_ZERO and barred(chain, demand) is None
    )
    if not raised or exceeded(limiting, demand) is None:
        return reason
    return AT_MAXIMUM if barred(limiting, demand) is None else AT_ZERO


def ahead(ask: Ask) -> int:
    """Return how many waiting pods of the same queue are served before this ask's, by the present order."""
    application = ask.application
    own = sum(len(other.pods) for other in application.asks.values() if other.rank < ask.rank)
    order = waiting_order(application.queue) if application.queue is not None else []
    return own + sum(other.pending for other in takewhile(lambda other: other is not application, order))


def whose_maximum(queue: Queue, position: int) -> tuple[Queue, int]:
    """Return the queue whose maximum a queue is at: one above it, where it may have no less than its parent, as a queue without a maximum of its own may under the capacity discipline."""
    while queue.parent is not None and queue.parent.maximum and queue.parent.maximum[position] <= queue.maximum[position]:
        queue = queue.parent
    return queue, position


def at_maximum(state: State, ask: Ask) -> str:
    """Return which queue is full of what, with the numbers of now."""
    full = exceeded(ask.application.limiting, ask.shape.charged)
    together = exceeded(ask.application.limiting, of_gang_at_once(state, ask)) if full is None and ask.shape.gang[1] else None
    if full is None and together is None:
        return f"queue {ask.wait.blocker if ask.wait is not None else '-'} was at its maximum and has room again; the pod is next looked at with the next pass"
    if full is not None:
        queue, position = whose_maximum(*full)
        demand = dict(ask.shape.charged)[position]
        words = f"queue {queue.path} is at its maximum"
    else:
        assert together is not None
        queue, position = whose_maximum(*together)
        demand = dict(of_gang_at_once(state, ask))[position]
        words = f'queue {queue.path} has no room below its maximum for all pods with which gang "{ask.shape.gang[1]}" starts'
    name = state.types.names[position]
    used, most = in_words(name, queue.usage[position]), in_words(name, queue.maximum[position])
    wanted, missing = in_words(name, demand), in_words(name, queue.usage[position] + demand - queue.maximum[position])
    where = f" of partition {queue.partition}" if queue.partition else ""
    return f"{words}{where} ({state.discipline.words.maximum}): {name} {used} used of {most}, {wanted} wanted, {missing} missing"


def of_gang_at_once(state: State, ask: Ask) -> Demand:
    """Return what the pods count for in their queues with which a gang starts, of a pod alone what it does."""
    found = lacks(state, ask.application, ask.shape.gang) if ask.shape.gang[1] else None
    return found.demand if isinstance(found, Lacking) else ask.shape.charged


def too_many(state: State, ask: Ask) -> str:
    """Return which limit on running applications holds an application back."""
    application = ask.application
    if application.queue is None:
        return ""
    why = state.admission.running.obstacle(application.queue, application.user)
    return (
        f"application {application.id} may not run yet: {why}"
        if why
        else f"application {application.id} is let in with the next pass"
    )


def over_largest(state: State, ask: Ask) -> str:
    """Return of what a pod asks more than one pod may have in its queue."""
    leaf = ask.application.chain[0]
    at = oversized(leaf, ask.shape.charged)
    if at is None or leaf.largest is None:
        return "the limit has been raised; the pod is next looked at with the next pass"
    name = state.types.names[at]
    owner = next((queue for queue in leaf.chain if queue.spec.max_container), leaf)
    wanted, most = in_words(name, dict(ask.shape.charged)[at]), in_words(name, leaf.largest[at])
    return f"{name}: {wanted} is asked for, and a pod may have at most {most} ({state.discipline.words.largest} of queue {owner.path})"


def at_zero(state: State, ask: Ask) -> str:
    """Return of what a queue may have nothing at all."""
    found = barred(ask.application.chain, ask.shape.charged)
    if found is None:
        return "the maximum has been raised; the pod is next looked at with the next pass"
    name = state.types.names[found[1]]
    wanted = in_words(name, dict(ask.shape.charged)[found[1]])
    queue = found[0]
    why = f"{state.discipline.words.maximum} is 0"
    where = f" of partition {queue.partition}" if queue.partition else ""
    return f"{name}: {wanted} is asked for, and queue {queue.path} may have none of it{where} ({why})"


_LIMITS: dict[str, Callable[[State, Ask], str]] = {
    AT_MAXIMUM: at_maximum,
    TOO_MANY: too_many,
    MASTER_SHARE: lambda state, ask: state.discipline.words.master_share(ask),
    OVER_LARGEST: over_largest,
    AT_ZERO: at_zero,
    USER_LIMIT: lambda state, ask: state.discipline.words.at_quota(ask),
}


def _coming(state: State, ask: Ask) -> str:
    """Say what is held for an ask already."""
    mine = [hold for hold in state.preemption.holds if hold.application is ask.application and hold.key == ask.key]
    kept = [state.nodes.names[hold.row] for hold in mine if hold.without_victims]
    held = len(mine) - len(kept)
    words = f" Room for {held} of these pods is held on nodes that others are leaving." if held else ""
    if kept:
        words += f" Kept for these pods until enough is free: {', '.join(sorted(kept)[:3])}{', …' if len(kept) > 3 else ''}."
    return words


def _delayed(state: State, ask: Ask) -> str:
    """Say which of its placement constraints will do later, of the first pod of an ask."""
    if not state.delays.since:
        return ""
    spec = ask.pods.first.spec
    own = spec.constraints.pods.placement if spec.constraints.pods is not None else ()
    return delays.words(state, spec, own + asked_beside(state, spec))


def _coming_for_gang(state: State, ask: Ask) -> str:
    """Say what is held for a gang already."""
    mine = of_gang(state, ask.shape.gang)
    if not mine:
        return ""
    rows = len({hold.row for hold in mine})
    how = "is kept until it has come" if all(hold.without_victims for hold in mine) else "is held until others have left"
    return f". Room for all {len(mine)} of them {how}, on {rows} node{'s' if rows > 1 else ''}"


@dataclass(frozen=True, slots=True)
class GangRoom:
    """What a gang waits for: it starts with ``least`` pods, of which ``there`` are placed, and of ``others`` that have to be placed at once at most ``fit`` fit now, ``within`` one domain of that label if it names one.

    One that has ``begun`` and lost pods goes on with those that are there, so that the others may be fewer than it lacks.
    ``missing`` is the shape of the first of its pods for which there is not room enough, with how many fit; ``alone`` whether the gang starts without the pods that were asked about.
    """

    least: int
    there: int
    others: int
    fit: int
    within: str
    missing: Shape | None
    roomy: int
    alone: bool = False
    begun: bool = False


def gang_room(state: State, ask: Ask) -> GangRoom:
    """Return how much of a gang would fit now."""
    application, gang = ask.application, ask.shape.gang
    least, there = minimum(state, application, gang[1]) or 0, len(placed(application, gang[1]))
    share = [(one, len(one.pods)) for one in asks_of(application, gang)]
    others, waits, begun = max(0, least - there), sum(count for _, count in share), gang in state.gangs.begun
    others = min(others, waits) if begun else others
    never = never_placed(state, (one for one, _ in share)) if len(share) > 1 else []
    rest = [(one, count) for one, count in share if one not in never]
    if never and sum(count for _, count in rest) >= others:
        if ask in never:
            return GangRoom(least, there, others, 0, "", ask.shape, 0, alone=True)
        share = rest
    topology, required = topology_of(state, ask.pods.first.spec)
    within = topology if required else ""
    rooms = [(one, count, domains.most_now(state, one.shape, within)) for one, count in share]
    fit = min(sum(min(count, most) for _, count, most in rooms), others)
    missing, roomy = next(((one.shape, most) for one, count, most in rooms if most < count), (None, 0))
    return GangRoom(least, there, others, fit, within, missing, roomy, begun=begun)


def no_node_for_gang(state: State, ask: Ask) -> str:
    """Return how many pods of a gang have to be placed at once, and how many would fit now."""
    name, found = ask.shape.gang[1], gang_room(state, ask)
    if found.alone:
        return f'{no_node(state, ask.shape)}; no node could have it, so its gang "{name}" starts without it'
    where = f" in one {found.within}" if found.within else ""
    others = f"{found.others} that are there in place of those it lost" if found.begun else f"{found.others} others"
    words = f'gang "{name}" starts with {found.least} pods: {found.there} are placed, and of the {others} at most {found.fit} fit now{where}'
    return words if found.missing is None or found.roomy else f"{words}: {no_node(state, found.missing)}"


def no_node(state: State, shape: Shape, *, among_others: bool = False) -> str:
    """Return kube-scheduler's sentence: how many nodes there are, and how many are out for which reason.

    A node that has got room since the pod was last looked at is out for none; then that is said. ``among_others``: it was looked at with others of its set, beside which
    a node may be out that would take it alone.
    """
    nodes = state.nodes
    reasons, roomy = node_reasons(state, shape)
    known = nodes.known()
    if roomy and among_others:
        return f"{len(roomy)} of {known} nodes would take the pod alone, but not beside the others of its set"
    if roomy:
        return f"{len(roomy)} of {known} nodes have got room since the pod was last looked at; it is looked at again with the next pass"
    parts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    return f"0/{known} nodes are available" + (f": {parts}." if parts else ".") + _untolerated(nodes, shape.constraints)


def node_reasons(state: State, shape: Shape) -> tuple[Counter[str], list[int]]:
    """Return how many nodes are out for which reason, and the rows of those that would take a pod now."""
    nodes, names = state.nodes, state.types.names
    reasons = Counter(nodes.refusals(shape.constraints))
    mask = nodes.mask(shape.constraints)
    columns = nodes.columns()[:, : len(nodes)]
    for reason, short in shortages(columns, shape.demand, names).items():
        if count := int((short & mask).sum()):
            reasons[reason] = count
    roomy: list[int] = np.flatnonzero(mask & fitting(columns, shape.demand)).tolist()
    if shape.ports:
        free = [row for row in roomy if host_ports.free(shape.ports, nodes.ports[row])]
        if len(free) < len(roomy):
            reasons[host_ports.REASON] = len(roomy) - len(free)
        roomy = free
    if shape.between is not None:
        among = np.zeros(len(nodes), dtype=np.bool_)
        among[roomy] = True
        reasons += shape.between.refusals(among)  # a node may be out for several reasons
        roomy = np.flatnonzero(among & shape.between.mask()).tolist()
    return reasons, roomy


def _untolerated(nodes: Nodes, constraints: Constraints) -> str:
    """Name the taints, which kube-scheduler's sentence only counts."""
    found = nodes.untolerated(constraints).most_common(MOST_TAINTS + 1)
    if not found:
        return ""
    named = ", ".join(f"{{{taint.key}: {taint.value}}} on {count}" for taint, count in found[:MOST_TAINTS])
    return f" Not tolerated: {named}{', …' if len(found) > MOST_TAINTS else ''}."
