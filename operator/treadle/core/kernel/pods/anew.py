"""Pods that wait are asked for anew where what the core adds to what they ask is something else by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.admission_checks import requeue
from treadle.core.kernel.pods import between
from treadle.core.kernel.pods.delays import due
from treadle.core.kernel.pods.lifecycle import enqueue, set_aside
from treadle.core.kernel.pods.shaping import stale
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


def constraints_changed(state: State, application: Application) -> None:
    """Let the pods of an application that wait be asked for by its placement constraints and gangs of now."""
    for record in list(application.pods.values()):
        if record.state is PodState.WAITING and stale(state, record):
            set_aside(state, record)
            enqueue(state, record)
    for one in [one for one in state.gangs.complete if one[0] == application.id]:
        del state.gangs.complete[one]  # its minimum may be another
    for ask in application.every_ask():
        if ask.shape.gang[1]:
            requeue(state, ask)


def look_between(state: State) -> None:
    """Bring up to date what is known of the pods around pods: count those that rules have come up for, and ask anew for those that others avoid by now."""
    if state.shapes.weighed != state.nodes.weighed:
        reweigh(state)
    kinds = state.shapes.kinds
    if kinds.uncounted:
        between.count_up(state)
    if kinds.avoiding:
        avoiding, kinds.avoiding = kinds.avoiding, {}
        for record in list(state.pods.values()):
            if record.kind in avoiding and record.state is PodState.WAITING:
                set_aside(state, record)
                enqueue(state, record)


def reweigh(state: State) -> None:
    """Let pods that wait be asked for by what counts for them by now."""
    state.shapes.weigh_anew()
    for record in list(state.pods.values()):
        if record.state is PodState.WAITING and stale(state, record):
            set_aside(state, record)
            enqueue(state, record)


def look_at_delays(state: State) -> None:
    """Let pods that wait be asked for by the parts of their placement constraints that have come into force."""
    for uid in due(state):
        record = state.pods.get(uid)
        if record is not None and record.state is PodState.WAITING and stale(state, record):
            set_aside(state, record)
            enqueue(state, record)
