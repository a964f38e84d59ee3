"""Placements that are assumed and of which nothing is heard (YARN's ``ContainerAllocationExpirer``): the API server is asked.

YARN gives up a container that its application does not fetch in time. A bind has another owner, the API server, so its word is
needed: a pod that is bound stays counted, one that is not returns what was counted for it. Nothing is kept for each bind but
when it was made; about once in the time that a bind has, all pods are looked through for those that are overdue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Verify
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

NEVER = float("inf")


def expired(state: State) -> list[Verify]:
    """Return the questions about binds that are overdue; they are asked again as long as there is no answer."""
    if state.now < state.expiry:
        return []
    questions: list[Verify] = []
    nodes, after, oldest = state.nodes.names, state.settings.expire_after, NEVER
    for record in state.pods.values() if state.assumed else ():
        if record.state is not PodState.ASSUMED or record.spec.uid in state.claims or record.spec.uid in state.reservations:
            continue
        if state.now >= record.since + after:
            spec, record.since = record.spec, state.now
            state.record(spec.uid, "overdue", nodes[record.node])
            questions.append(Verify(spec.uid, spec.namespace, spec.name, nodes[record.node], record.cause))
        oldest = min(oldest, record.since)
    state.expiry = oldest + after
    return questions


def next_expiry(state: State) -> float | None:
    """Return when a bind may be overdue, None if none is under way."""
    return state.expiry if state.assumed and state.expiry < NEVER else None
