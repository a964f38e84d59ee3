"""Pods and the claims that they name: looked at again when storage has changed, and bound when their claims are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Bind
from treadle.core.kernel.pods.failures import failed
from treadle.core.kernel.pods.lifecycle import enqueue, set_aside
from treadle.core.kernel.pods.shaping import stale
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

NEVER = float("inf")


def look_at_claims(state: State) -> list[Bind]:
    """Take over what storage has come to for the pods that name what changed; returns the binds of pods whose claims are all bound."""
    storage, claims = state.shapes.storage, state.claims
    concerned: dict[str, None] = {}
    while storage.marked:
        marked, storage.marked = storage.marked, {}
        for key in marked:
            concerned.update(storage.users.get(key, ()))
    binds = []
    for uid in concerned:
        record = state.pods[uid]
        if record.state is PodState.WAITING:
            if stale(state, record):
                set_aside(state, record)
                enqueue(state, record)
        elif uid in claims:
            problem = claims.standing(storage, record.spec, state.nodes.specs[record.node])
            if problem:
                failed(state, record, problem)
            elif problem == "":
                claims.end(storage, uid)
                binds.append(_bind(state, uid))
    return binds


def expire_claims(state: State) -> None:
    """Give up placements whose claims have not been bound in time, or whose node is gone."""
    if not state.claims:
        return
    for uid, entry in list(state.claims.items()):
        record = state.pods[uid]
        if state.nodes.specs[record.node] is None:
            failed(state, record, f"node {entry.node} is gone")
        elif state.now >= entry.until:
            failed(state, record, f"its volumes were not bound on node {entry.node} in time")


def next_claim(state: State) -> float | None:
    """Return when claims have taken too long at the earliest, None if none are being bound."""
    return min((entry.until for entry in state.claims.values()), default=None)


def _bind(state: State, uid: str) -> Bind:
    record = state.pods[uid]
    spec, application = record.spec, record.application
    assert application is not None
    record.since = state.now
    if state.expiry == NEVER:
        state.expiry = state.now + state.settings.expire_after
    queue = application.queue.path if application.queue is not None else ""
    return Bind(
        spec.uid, spec.namespace, spec.name, state.nodes.names[record.node], application.id, queue, record.cause, spec.version
    )
