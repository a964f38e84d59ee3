"""Pods on nodes change their execution type without a restart, by a resize of their requests (YARN's PROMOTE_EXECUTION_TYPE and DEMOTE_EXECUTION_TYPE).

A pod may wish to be promoted by itself: it is, when nothing that waits could be placed and there is room. That comes after all guaranteed work.

A promotion is asked for by the pod's owner and decided as a guaranteed ask for the node that the pod is on: its node has the room, and its queue and its user may
have it. It goes before new placements on that node (YARN-1011). A demotion needs nothing; the pod counts as guaranteed until the API shows that it requests nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import DEMOTED, EXECUTION_TYPE_IGNORED, PROMOTED, PROMOTION_WAITS, RESIZE_REFUSED, RecordEvent, Resize
from treadle.core.kernel.admission_checks import TOO_MANY, oversized
from treadle.core.kernel.opportunistic.turning import promoted
from treadle.core.kernel.pods import lifecycle
from treadle.core.kernel.pods.shaping import shape_of
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.limits import exceeded
from treadle.core.kernel.tree.partitions import part_of, partition_of
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.events import ResizeDone, ResizeFailed
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord

INTERVAL = 1.0
"""Seconds between two looks at who may be promoted, and who has to be told that it waits."""
LOOKS = 256
"""Pods that wish to be promoted and are looked at in one step."""
OVERDUE = 60.0
"""Seconds after which a change of requests of which nothing was heard is taken not to have been made."""
AGAIN = 30.0
"""Seconds after which a change that failed is tried again."""
REFUSED_AGAIN = 600.0
"""Seconds after which one is that the API server refused."""


def turn(state: State) -> list[Effect]:
    """Promote and demote the pods that ask for it, as far as that is possible, and tell the others what they wait for."""
    kept = state.opportunistic.turning
    for uid in [uid for uid, when in kept.until.items() if state.now >= when]:
        kept.go_on(uid)
        if uid in kept.promoting:
            _as_it_was(state, uid)
    when = next_turn(state)
    if not kept.asking or when is None or state.now < when:
        return []
    kept.looked = state.now
    effects: list[Effect] = []
    for uid, record in list(kept.asking.items()):
        spec = record.spec
        if uid in kept.until or record.state is not PodState.BOUND or spec.deleting or record.application is None:
            continue
        if spec.demotes:
            kept.wait(uid, state.now + OVERDUE, guaranteed=False)
            state.record(uid, "demoted", state.nodes.names[record.node])
            effects.append(Resize(uid, spec.namespace, spec.name, False, state.cause))
            continue
        why = _obstacle(state, record)
        if why:
            if kept.told.get(uid) != why:
                kept.told[uid] = why
                effects.append(_event(record, PROMOTION_WAITS, f"It stays opportunistic for now: {why}"))
            continue
        effects.append(_promote(state, record))
    return effects


def tell_unheeded(state: State) -> list[RecordEvent]:
    """Tell owners of pods on nodes what is not acted on of what they say of the execution type."""
    kept, effects = state.opportunistic.turning, []
    for uid, record in kept.untold.items():
        stays = "opportunistic" if uid in state.opportunistic.of else "guaranteed"
        effects.append(_event(record, EXECUTION_TYPE_IGNORED, f"It stays {stays}: {kept.unheeded[uid]}"))
    kept.untold.clear()
    return effects


def fulfil(state: State) -> list[Effect]:
    """Promote pods that wish it where there is room, when nobody else is left who could have it. At most so many are looked at in one step, in turn."""
    kept, nodes = state.opportunistic.turning, state.nodes
    if state.now < kept.wished + INTERVAL:
        return []
    kept.wished = state.now
    effects: list[Effect] = []
    for uid in list(kept.wishing)[:LOOKS]:
        record = kept.wishing.pop(uid)
        kept.wishing[uid] = record
        if uid in kept.until or uid in state.opportunistic.going or record.state is not PodState.BOUND:
            continue
        spec = record.spec
        if spec.deleting or record.application is None or record.node in nodes.withheld or _obstacle(state, record):
            continue
        effects.append(_promote(state, record))
    return effects


def next_wish(state: State) -> float | None:
    """Return when it is looked again whose wish can be fulfilled, None if nobody has one."""
    kept = state.opportunistic.turning
    return kept.wished + INTERVAL if kept.wishing else None


def _promote(state: State, record: PodRecord) -> Resize:
    """Count a pod as guaranteed from now on."""
    kept, spec = state.opportunistic.turning, record.spec
    kept.wait(spec.uid, state.now + OVERDUE, guaranteed=True)
    kept.told.pop(spec.uid, None)
    kept.wishing.pop(spec.uid, None)
    kept.promoting[spec.uid] = spec
    state.record(spec.uid, "promoted", state.nodes.names[record.node])
    lifecycle.see(state, spec)
    state.discipline.membership.pod_seen(spec.uid)
    return Resize(spec.uid, spec.namespace, spec.name, True, state.cause)


def next_turn(state: State) -> float | None:
    """Return when it is looked again who may be promoted or demoted, None if nobody asks."""
    kept = state.opportunistic.turning
    overdue = min((kept.until[uid] for uid in kept.promoting if uid in kept.until), default=None)
    if len(kept.asking) <= sum(uid in kept.until for uid in kept.asking):
        return min(kept.until.values(), default=overdue)
    look = kept.looked + INTERVAL
    return look if overdue is None else min(look, overdue)


def done(state: State, event: ResizeDone) -> list[RecordEvent]:
    """Take note that the API server took what a pod is to request, and return what its owner is told."""
    record = state.pods.get(event.uid)
    if record is None:
        return []
    if not event.guaranteed:
        return [_event(record, DEMOTED, "It is opportunistic from now on and requests nothing")]
    spec = record.spec  # the label may have been edited meanwhile, and then the pod does not count as promoted yet
    named = [one for one in (spec.promotes or spec.demand) if one[0] in {"cpu", "memory"}] or spec.opportunistic
    has = ", ".join(f"{name}={in_words(name, value)}" for name, value in named)
    return [_event(record, PROMOTED, f"It is guaranteed from now on and requests {has}")]


def failed(state: State, event: ResizeFailed) -> list[RecordEvent]:
    """Take note that the requests of a pod were not changed: it is what it was, and it is tried again after a while."""
    uid, kept = event.uid, state.opportunistic.turning
    record = state.pods.get(uid)
    state.record(uid, "not resized", event.message[:200])
    if uid in kept.promoting:
        _as_it_was(state, uid)
    if record is None:
        return []
    again = REFUSED_AGAIN if event.refused else AGAIN
    kept.wait(uid, state.now + again, guaranteed=not record.spec.demotes)
    if not event.refused:
        return []
    stays = "guaranteed" if record.spec.demotes else "opportunistic"
    return [_event(record, RESIZE_REFUSED, f"It stays {stays}: its requests cannot be changed: {event.message}")]


def _as_it_was(state: State, uid: str) -> None:
    spec = state.opportunistic.turning.promoting.pop(uid)
    lifecycle.see(state, spec)
    state.discipline.membership.pod_seen(uid)


def _obstacle(state: State, record: PodRecord) -> str:
    """Return why a pod cannot be promoted now, empty if it can."""
    whole, row = record.application, record.node
    assert whole is not None
    queue = whole.queue
    if queue is None:
        return "its application is in no queue"
    wait = whole.wait or whole.ended
    if wait is not None or not whole.busy:
        return wait.message if wait is not None else f"queue {queue.path} runs as many applications as it may ({TOO_MANY})"
    shape = shape_of(state, promoted(record.spec), record.kind)
    state.widen()
    part = part_of(state, whole, partition_of(state, row))
    leaf = part.chain[0]
    if (position := oversized(leaf, shape.charged)) is not None:
        return f"it asks for more {state.types.names[position]} than one pod may have in queue {leaf.path}"
    if (full := exceeded(part.limiting, shape.charged)) is not None:
        return f"queue {full[0].path} is at its maximum of {state.types.names[full[1]]}"
    if part.quota is not None and (part.quota.denied() or part.quota.exceeded()):
        return part.quota.denied() or f"user {whole.user} has as much as one may have in queue {leaf.path}"
    lacks = _lacks(state, record, shape)
    if lacks:
        return f"node {state.nodes.names[row]} has {lacks} that no pod requests"
    return ""


def _lacks(state: State, record: PodRecord, shape: Shape) -> str:
    """Return what a pod's node has left of what it lacks, empty if it lacks nothing."""
    have, free = dict(record.shape.demand), state.nodes.free[record.node]
    lacking = []
    for position, value in shape.demand:
        more, left = value - have.get(position, 0), free[position]
        if more > 0 and left < more:
            name = state.types.names[position]
            lacking.append(f"only {name}={in_words(name, max(left, 0))} of {in_words(name, more)}")
    return " and ".join(lacking)


def _event(record: PodRecord, reason: str, note: str) -> RecordEvent:
    spec = record.spec
    return RecordEvent(spec.uid, spec.namespace, spec.name, f"{spec.application}/{spec.name}", reason, note, record.cause)
