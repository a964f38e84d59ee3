"""Pods whose PodGroup object has changed: they are asked for as it says now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import requeue
from treadle.core.kernel.pods.lifecycle import assign_queue, enqueue, set_aside
from treadle.core.kernel.pods.shaping import stale
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


def look_at_groups(state: State) -> None:
    """Take over what has changed of PodGroup objects for the pods that name them."""
    gangs = state.gangs
    if not gangs.marked:
        return
    marked, gangs.marked = gangs.marked, {}
    concerned: dict[Application, None] = {}
    for key in marked:
        for uid in gangs.users.get(key, ()):
            record = state.pods.get(uid)
            if record is None or record.application is None:
                continue
            concerned[record.application] = None
            if record.state is PodState.WAITING and stale(state, record):
                set_aside(state, record)
                enqueue(state, record)
    for application in concerned:
        _ask_for_queue(state, application)
        for gang in [gang for gang in gangs.complete if gang[0] == application.id]:
            del gangs.complete[gang]  # its minimum may be another
        for ask in application.every_ask():
            if ask.shape.gang[1]:
                requeue(state, ask)


def _ask_for_queue(state: State, application: Application) -> None:
    """Let an application whose pods name no queue follow the one that their PodGroup names."""
    specs = [record.spec for record in application.pods.values()]
    named = next((queue for spec in specs if (queue := state.gangs.queue_of(spec))), "")
    if named and named != application.wanted and not any(spec.queue for spec in specs):
        application.wanted = named
        assign_queue(state, application, application.id.partition("/")[0])
