"""Pods that say no execution type have that of their Application object, as far as they request nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.model import ApplicationSpec, PodSpec

UNSAID = "it does not say any more what it is, neither by a label treadle.dev/execution-type nor by its application, and requests nothing; allowed are guaranteed and opportunistic"
"""Of a pod that was bound as an opportunistic one."""


def said(state: State, identity: str, application: ApplicationSpec | None) -> list[PodSpec]:
    """Take note of what an Application object says, None if it is gone, and return those of its pods that count otherwise from now on."""
    known = state.opportunistic.applications
    before, now = identity in known, application is not None and application.opportunistic
    if now:
        known[identity] = None
    else:
        known.pop(identity, None)
    if before == now or identity not in state.applications:
        return []
    untold = (record.spec for record in state.pods.values() if record.spec.application == identity and not record.spec.says_type)
    return [_undone(spec) for spec in untold]


def as_its_application_says(state: State, spec: PodSpec) -> PodSpec:
    """Return a pod as it counts. Its owner is told where it requests something and so is guaranteed, though its application is opportunistic."""
    if spec.says_type or spec.application not in state.opportunistic.applications:
        return spec
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
    return UNSAID if spec.stays else ""


def _undone(spec: PodSpec) -> PodSpec:
    """Return a pod as it is read, without the word of its application."""
    problem = "" if spec.problem == spec.unclear_if_opportunistic else spec.problem
    return replace(spec, opportunistic=spec.opportunistic if spec.stays else (), problem=problem)
