"""Whose an application is, and how urgent: what its object says, else its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.assign import asker_of
from treadle.core.kernel.tree import admission
from treadle.core.rules.placement.access import bound_of

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec


def asks_priority(state: State, application: Application) -> None:
    """Take note of the priority that an application asks for: what its object says, or else the highest of its pods'."""
    explicit = state.explicit.get(application.id)
    if explicit is not None and explicit.priority is not None:
        application.asked_priority = explicit.priority
    else:
        application.asked_priority = max((record.spec.priority for record in application.pods.values()), default=0)


def more_urgent(state: State, application: Application, spec: PodSpec) -> None:
    """Let an application that no object gives a priority to ask for that of a pod of its own; it stays when the pod goes, so that its place does not come and go."""
    explicit = state.explicit.get(application.id)
    if spec.priority > application.asked_priority and (explicit is None or explicit.priority is None):
        application.asked_priority = spec.priority
        prioritize(state, application)


def prioritize(state: State, application: Application) -> None:
    """Give an application the priority that it asks for, as far as its queue allows it, or the one for who asks for none."""
    priority = application.asked_priority
    if state.tree.bounded and application.queue is not None:
        bound = bound_of(application.queue, asker_of(state, application))
        if bound is not None:
            most, default = bound
            priority = min(most, priority if priority or default is None or _says(state, application) else default)
    if priority != application.priority:
        for part in application.everywhere():
            part.priority = priority
            state.dirty[part] = None


def _says(state: State, application: Application) -> bool:
    explicit = state.explicit.get(application.id)
    return explicit is not None and explicit.priority is not None


def settled_anew(state: State, application: Application, gone: PodSpec, *, first: bool) -> bool:
    """Settle anew whose an application is and what it asks for, when a pod has gone on which that rested; return whether either is another now.

    Only where it waits for a queue: one that a stranger's pod, or a priority that nobody may ask for, kept out comes in when that pod is deleted. What is in a queue stays as it is.
    """
    if application.queue is not None or not application.pods:
        return False
    user, groups, asked = application.user, state.assignment.groups.get(application.id), application.asked_priority
    if first:
        identify(state, application)
    if 0 < asked == gone.priority and not any(record.spec.priority == asked for record in application.pods.values()):
        asks_priority(state, application)
    found = (application.user, state.assignment.groups.get(application.id), application.asked_priority)
    return found != (user, groups, asked)


def only_namer(application: Application, spec: PodSpec) -> bool:
    """Whether a pod is the only one of its application that names a queue itself."""
    return not any(record.spec.queue for uid, record in application.pods.items() if uid != spec.uid)


def identify(state: State, application: Application) -> None:
    """Settle whose application it is: its object's word, else that of its first pod, whose namespace stands in where it says nothing."""
    explicit = state.explicit.get(application.id)
    if explicit is not None and explicit.user:
        user, groups = explicit.user, explicit.groups
    else:
        spec = next(iter(application.pods.values())).spec
        user, groups = spec.user or spec.namespace, spec.groups
    if application.queue is None:
        application.user = user
    else:
        membership = state.discipline.membership
        for part in application.everywhere():
            membership.leaving(part)
        admission.rename(state, application, user)
        for part in application.everywhere():
            part.user = user
            membership.entered(part)
    if groups:
        state.assignment.groups[application.id] = groups
    else:
        state.assignment.groups.pop(application.id, None)
