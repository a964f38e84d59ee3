"""A guaranteed pod takes the room that opportunistic pods were given: those of a node that has not enough for both are asked to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Evict
from treadle.core.kernel.opportunistic.memory import TYPES, Given
from treadle.core.kernel.opportunistic.placing import held_by_queue, shares
from treadle.core.kernel.pods.states import PodState
from treadle.core.model.opportunistic import NEWEST
from treadle.core.rules.opportunistic.victims import Candidate, Costs, cheapest_first, newest_first, take
from treadle.core.units.amounts import beyond, plus

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.units.resources import Vector

PATIENCE = 15.0
"""Seconds for which a disruption budget is respected: then a pod is deleted, since the room is another's."""
FOR_REQUESTS = "Requests"
"""Why pods have to go: guaranteed pods request what they were given."""
AGAIN = 60.0
"""Seconds after which a pod that is still there is asked again."""


def remove(state: State) -> list[Evict]:
    """Ask as many opportunistic pods to go as nodes lack room for."""
    kept = state.opportunistic
    if not kept.on:
        return []
    if kept.going:
        kept.forget_the_gone(state.now)
    nodes = state.nodes
    found: list[tuple[dict[str, Given], Vector]] = []
    for row, given in kept.on_row.items():
        free = nodes.free[row]
        if (given[0] <= free[0] and given[1] <= free[1]) or nodes.specs[row] is None:
            continue
        staying: dict[str, Given] = {}
        stay = [0] * TYPES
        for uid, one in kept.on[row].items():
            if uid not in kept.going and not one.record.spec.deleting:
                stay = plus(stay, one.demand)
                if one.record.state is PodState.BOUND:
                    staying[uid] = one
        lacking = [max(0, have - max(left, 0)) for have, left in zip(stay, free, strict=False)]
        if any(lacking) and staying:
            found.append((staying, lacking))
    if not found:
        return []
    costs = _costs(state, [sum(column) for column in zip(*(lacking for _, lacking in found), strict=True)])
    return [effect for staying, lacking in found for effect in _of_row(state, staying, lacking, costs)]


def next_removal(state: State) -> float | None:
    """Return when somebody who was asked to go is asked again, None if nobody was."""
    return min(state.opportunistic.going.values(), default=None)


def _of_row(state: State, staying: dict[str, Given], lacking: Vector, costs: Costs) -> list[Evict]:
    settings, kept = state.scheduler.opportunistic, state.opportunistic
    candidates = [
        Candidate(uid, _queue(state, one), one.demand, one.demand, one.since, one.since, settings.minimum_run)
        for uid, one in staying.items()
    ]
    order = newest_first(candidates) if settings.order == NEWEST else cheapest_first(candidates, lacking, costs)
    effects = []
    for victim in take(order, lacking, lambda one: one.freed).victims:
        record = staying[victim.name].record
        spec = record.spec
        kept.going[spec.uid] = state.now + AGAIN
        kept.removed[FOR_REQUESTS] += 1
        node = state.nodes.names[record.node]
        why = f"opportunistic: guaranteed pods request what it was given on node {node}"
        state.record(spec.uid, "gives way", node)
        effects.append(Evict(spec.uid, spec.namespace, spec.name, victim.queue, why, PATIENCE, True, state.cause))
    return effects


def _costs(state: State, lacking: Vector) -> Costs:
    """Return what the order by cost goes by: queues are due their parts of what is left when nothing is lacking any more."""
    held = held_by_queue(state)
    total = [0] * TYPES
    for amounts in held.values():
        total = plus(total, amounts)
    have = [max(1, value) for value in state.cluster.total[:TYPES]]
    return Costs(state.now, held, shares(state, beyond(total, lacking), held), have)


def _queue(state: State, one: Given) -> str:
    application = state.applications.get(one.application)
    return application.queue.path if application is not None and application.queue is not None else ""
