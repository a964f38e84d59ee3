"""Holds without victims: a node is kept for a large pod that is owed room but never finds enough of it at once.

What YARN calls a reservation (``FSAppAttempt.reserve``). Where pods come and go, room is taken by small ones as soon as it is
there, and a large one would wait for ever. An application below its fair share may have a few nodes kept, each for one pod; on
those nodes what becomes free adds up until the pod fits. No pod is asked to go. Under the capacity discipline
``disciplines.capacity.node_holds`` has the rule.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.update_pass import update_pass
from treadle.core.kernel.preemption.feasible import FeasibleNodes
from treadle.core.kernel.preemption.holds import PATIENCE, held_for, place
from treadle.core.kernel.preemption.memory import Hold
from treadle.core.kernel.preemption.search import waits_for_a_node
from treadle.core.rules.fair.starvation import below_share
from treadle.core.units.amounts import fits, plus

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask


def next_run(state: State) -> float | None:
    """Return when to look for nodes to keep, None where none are kept or no ask waits."""
    if not state.scheduler.fair.keep_nodes or not state.waiting:
        return None
    return state.preemption.reserved + state.settings.update_interval


def keep_nodes(state: State, budget: int) -> list[Effect]:  # noqa: ARG001 - one signature for all rounds
    """Keep a node for each application that is below its share, waits for a node and may have one more kept; nothing is to be done for it."""
    preemption = state.preemption
    preemption.reserved = state.now
    if state.updates.demands_at != state.now:
        update_pass(state)
    most = ceil(state.nodes.known() * state.scheduler.fair.reservable_nodes)
    kept = {hold.row for hold in preemption.holds}
    feasible = FeasibleNodes(state.nodes)
    for queue in state.tree.queues.values():
        for application in sorted(queue.applications.values(), key=queue.rank):
            mine = sum(hold.application is application and hold.without_victims for hold in preemption.holds)
            if mine >= most or not _owed(state, application):
                continue
            for ask in sorted(application.asks.values()):
                row = feasible.for_one_of(ask.shape, kept) if _waits(state, ask) else -1
                if row >= 0:
                    until = state.now + state.scheduler.fair.hold_timeout
                    place(state, Hold(application, ask.shape, ask.key, row, set(), state.now, until, without_victims=True))
                    kept.add(row)
                    break
    return []


def owed(state: State, application: Application) -> bool:
    """Whether an application that may run is below its fair share, with what is held for it; shares are brought up to date."""
    if state.updates.demands_at != state.now:
        update_pass(state)
    return _owed(state, application)


def _owed(state: State, application: Application) -> bool:
    queue = application.queue
    if queue is None or not application.busy or not application.asks:
        return False
    had = plus(application.usage, held_for(state, application))
    return below_share(queue.policy, state.cluster, had, application.instant_share)


def _waits(state: State, ask: Ask) -> bool:
    if not waits_for_a_node(ask) or state.now < ask.waiting_since + PATIENCE:
        return False
    held = sum(hold.application is ask.application and hold.key == ask.key for hold in state.preemption.holds)
    demand = [0] * state.types.width
    for position, value in ask.shape.charged:
        demand[position] = value * (held + 1)
    return len(ask.pods) > held and all(fits(plus(queue.usage, demand), queue.maximum) for queue in ask.application.limiting)
