"""Pods that say no execution type have that of their Application object, as far as they request nothing.

Those that were bound as opportunistic ones stay so until they request something, as those do that say it themselves: where the object says that they are guaranteed they ask to be promoted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.model import ApplicationSpec, PodSpec

UNSAID = "it does not say any more what it is, neither by a label treadle.dev/execution-type nor by its application, and requests nothing; allowed are guaranteed and opportunistic"
"""Of a pod that was bound as an opportunistic one."""
UNMEASURED = "its application is guaranteed (spec.executionType), and metadata.annotations[treadle.dev/demand] does not say what it is to request: it is not there, or comes to nothing; allowed is a list, parted by semicolons, of CONTAINER cpu=AMOUNT memory=AMOUNT"
"""Of one whose application is guaranteed by now."""


def said(state: State, identity: str, application: ApplicationSpec | None) -> list[PodSpec]:
    """Take note of what an Application object says, None if it is gone, and return those of its pods that count otherwise, or ask for something else, from now on."""
    kept = state.opportunistic
    before = identity in kept.applications, identity in kept.guaranteed
    now = (False, False) if application is None else (application.opportunistic, application.guaranteed)
    for known, says in zip((kept.applications, kept.guaranteed), now, strict=True):
        if says:
            known[identity] = None
        else:
            known.pop(identity, None)
    if before == now or identity not in state.applications:
        return []
    untold = (record.spec for record in state.pods.values() if record.spec.application == identity and not record.spec.says_type)
    return [_undone(kept.turning.promoting.get(spec.uid, spec)) for spec in untold]


def as_its_application_says(state: State, spec: PodSpec) -> PodSpec:
    """Return a pod as it counts. Its owner is told where it requests something and so is guaranteed, though its application is opportunistic."""
    if spec.says_type:
        return spec
    if spec.application not in state.opportunistic.applications:
        asks = spec.stays and spec.if_guaranteed and spec.application in state.opportunistic.guaranteed
        return replace(spec, promotes=spec.if_guaranteed) if asks else spec
    if spec.if_opportunistic:
        problem = spec.problem or ("" if spec.node else spec.unclear_if_opportunistic)
        return replace(spec, opportunistic=spec.if_opportunistic, problem=problem)
    if spec.scheduler in state.scheduler.names and not spec.finished and not spec.stays:
        state.opportunistic.unheeded[spec.uid] = None
    return spec


def unheeded(state: State, spec: PodSpec) -> str:
    """Return what is not acted on of what a pod on a node says of its execution type, empty for nothing."""
    if spec.says_type:
        return spec.unheeded
    if spec.application in state.opportunistic.applications:
        return spec.unheeded if spec.if_opportunistic else ""
    if spec.application in state.opportunistic.guaranteed and spec.stays:
        return "" if spec.if_guaranteed else UNMEASURED
    return UNSAID if spec.stays else ""


def _undone(spec: PodSpec) -> PodSpec:
    """Return a pod as it is read, without the word of its application."""
    problem = "" if spec.problem == spec.unclear_if_opportunistic else spec.problem
    return replace(spec, opportunistic=spec.opportunistic if spec.stays else (), promotes=(), problem=problem)
