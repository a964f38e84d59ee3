"""When the owners of waiting pods are told why, and when pods whose bind failed are tried again.

A status write for each waiting pod is the most common wasted write of a scheduler. Nothing is said before a pod has waited
for a while, nothing twice, and a reason that changes back and forth is held down.
"""

from __future__ import annotations

from heapq import heappop
from typing import TYPE_CHECKING

from treadle.core.effects import Effect, ReportWaiting
from treadle.core.explain import waiting
from treadle.core.lifecycle import enqueue
from treadle.core.pods import PodRecord, PodState

if TYPE_CHECKING:
    from treadle.core.state import State
    from treadle.core.tree.application import Ask


def due(state: State) -> list[Effect]:
    """Handle every timer that has run out."""
    effects: list[Effect] = []
    messages: dict[int, tuple[str, str]] = {}
    while state.timers and state.timers[0][0] <= state.now:
        what = heappop(state.timers)[2]
        if isinstance(what, PodRecord):
            if what.state is PodState.DELAYED and what.application is not None:
                state.waiting -= 1
                enqueue(state, what)
        else:
            what.report_armed = False
            _report(state, what, effects, messages)
    return effects


def _report(state: State, ask: Ask, effects: list[Effect], messages: dict[int, tuple[str, str]]) -> None:
    if ask.wait is None or not ask.pods:
        return
    shape = ask.shape
    if ask in shape.parked:
        found = messages.get(shape.id)
        if found is None:
            found = messages[shape.id] = waiting(state, ask)
    else:
        found = waiting(state, ask)
    reason, message = found
    soonest = float("inf")
    for record in ask.pods:
        if record.reported_reason == reason and record.reported_message == message:
            continue
        hold = state.settings.refresh_after if record.reported_reason == reason else state.settings.report_again
        if state.now < record.reported_at + hold:
            soonest = min(soonest, record.reported_at + hold)
            continue
        record.reported_reason, record.reported_message, record.reported_at = reason, message, state.now
        spec = record.spec
        effects.append(ReportWaiting(spec.uid, spec.namespace, spec.name, reason, message, record.cause))
    if soonest < float("inf"):
        ask.report_armed = True
        state.wake_at(soonest, ask)
