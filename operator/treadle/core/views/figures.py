"""What there is of queues, applications and pods at one moment, as plain data for those who show it.

Amounts are by the names of resource types, cpu in milli-units and others in base units, without those that are zero. Shares and
demands are as the core last computed them (``Core.refresh_shares``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.order import waiting_order
from treadle.core.kernel.tree.partitions import pending_everywhere, used_everywhere
from treadle.core.units.resources import UNBOUNDED
from treadle.core.views.explain import waiting
from treadle.core.views.opportunistic import of_application

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.model import PodSpec, Wait
    from treadle.core.units.resources import Vector

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    """What a queue has in one partition of nodes.

    ``maximum`` names the resource types that have one, also those of which it is zero.
    """

    used: Amounts
    pending: Amounts
    guaranteed: Amounts
    maximum: Amounts


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """A queue in force.

    ``here`` is what it has in the default partition, ``partitions`` in each of the others, ``used`` and ``pending`` in all
    together.

    ``held`` is the room that is kept for its applications on nodes, None while nothing is kept for any queue. ``used_capacity``
    is used over guaranteed, None where the discipline has no such number; ``shows_shares``: fair shares mean something under it.
    ``dynamic_below`` are the queues that placement rules or plans made below it, without those that are below another one's object.
    """

    path: str
    state: str
    leaf: bool
    dynamic: bool
    weight: float
    policy: str
    here: PartitionFigures
    used: Amounts
    pending: Amounts
    partitions: dict[str, PartitionFigures]
    held: Amounts | None
    fair_share: Amounts
    steady_share: Amounts
    shows_shares: bool
    used_capacity: float | None
    running: int
    accepted: int
    waiting_pods: int
    dynamic_below: list[str]


@dataclass(frozen=True, slots=True)
class ApplicationFigures:
    """An application. ``phase`` is YARN's word; ``headroom`` is None where the discipline has no such number.

    ``waiting`` is (reason, message) of its first ask that waits, None if none does; ``ended`` and ``obstacle`` say why nothing of
    it starts.
    """

    id: str
    phase: str
    user: str
    queue: str
    bound_pods: int
    waiting_pods: int
    used: Amounts
    pending: Amounts
    headroom: Amounts | None
    waiting: tuple[str, str] | None
    obstacle: Wait | None


@dataclass(frozen=True, slots=True)
class PodFigures:
    """A pod: its application and queue, and its node, empty while it has none."""

    spec: PodSpec
    application: str
    queue: str
    node: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How many there are.

    ``decisions`` is how many placements were ever decided, ``holds`` how many nodes are kept for pods, ``backfilled`` how many pods were ever placed in such room, and ``backfilled_evicted`` how many of them were asked to go.
    ``reprovisioned`` is how many occurrences of reservations were ever promised more since their runs lag, ``without_room`` for how many there was nothing to promise.
    """

    waiting: int
    assumed: int
    bound: int
    pods: int
    nodes: int
    decisions: int
    holds: int
    backfilled: int
    backfilled_evicted: int
    reprovisioned: int
    without_room: int


def queue_figures(state: State, queue: Queue, kept: Mapping[Queue, Vector]) -> QueueFigures:
    """Return the figures of a queue in force. ``kept`` is what is held for queues (``holds.kept_by_queue``)."""
    named, words = state.types.named, state.discipline.words
    return QueueFigures(
        path=queue.path,
        state=queue.state,
        leaf=queue.leaf,
        dynamic=queue.dynamic,
        weight=queue.spec.weight,
        policy=queue.policy.name,
        here=_partition(state, queue),
        used=named(used_everywhere(queue)),
        pending=named(pending_everywhere(queue)),
        partitions={name: _partition(state, part) for name, part in sorted(queue.parts.items())},
        held=named(kept.get(queue, ())) if state.preemption.holds else None,
        fair_share=named(queue.fair_share),
        steady_share=named(queue.steady_share),
        shows_shares=words.fair_shares,
        used_capacity=words.used_capacity(queue),
        running=queue.running,
        accepted=queue.accepted,
        waiting_pods=queue.waiting_pods,
        dynamic_below=_dynamic(queue, state.tree.planned.specs),
    )


def _partition(state: State, part: Queue) -> PartitionFigures:
    named = state.types.named
    return PartitionFigures(named(part.usage), named(part.pending), named(part.minimum or []), maximum(state, part))


def maximum(state: State, part: Queue) -> Amounts:
    """Return what a queue may hold at most, by the names of the resource types that have a maximum."""
    return {name: most for name, most in zip(state.types.names, part.maximum, strict=False) if most < UNBOUNDED}


def _dynamic(queue: Queue, planned: Container[str]) -> list[str]:
    """Return the paths of the queues below one that no object defines: placement rules made them, or a plan wants them."""
    found = [child for child in queue.children.values() if child.dynamic or child.path in planned]
    for one in found:
        found.extend(child for child in one.children.values() if child.dynamic)
    return sorted(one.path for one in found)


def application_figures(state: State, application: Application) -> ApplicationFigures:
    """Return the figures of an application."""
    named = state.types.named
    room = state.discipline.words.room(application)
    ask = min(application.every_ask(), default=None)
    idle, why = of_application(state, application)
    return ApplicationFigures(
        id=application.id,
        phase=_phase(application),
        user=application.user,
        queue=application.queue.path if application.queue is not None else "",
        bound_pods=sum(record.state is PodState.BOUND for record in application.pods.values()),
        waiting_pods=application.pending + idle,
        used=named(used_everywhere(application)),
        pending=named(application.pending_demand(state.types.width)),
        headroom=None if room is None else named(room),
        waiting=why if ask is None else waiting(state, ask),
        obstacle=application.ended or application.wait,
    )


def _phase(application: Application) -> str:
    if application.ended is not None:
        return "Killed"
    return "Running" if application.allocated else "Accepted" if application.queue is not None else "Submitted"


def applications_in_order(queue: Queue) -> list[str]:
    """Return the ids of a leaf's applications that wait, the first one to be served first."""
    return [application.id for application in waiting_order(queue)]


def counts(state: State) -> Counts:
    """Return how many there are of everything."""
    return Counts(
        waiting=state.waiting,
        assumed=state.assumed,
        bound=state.bound,
        pods=len(state.pods),
        nodes=state.nodes.known(),
        decisions=state.decisions,
        holds=len(state.preemption.holds),
        backfilled=state.backfill.placed,
        backfilled_evicted=state.backfill.evicted,
        reprovisioned=state.plans.reprovisioned,
        without_room=state.plans.without_room,
    )
