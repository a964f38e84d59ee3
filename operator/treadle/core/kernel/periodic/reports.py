"""When the owners of waiting pods are told why, and when pods whose bind failed are tried again.

A status write for each waiting pod is the most common wasted write of a scheduler. Nothing is said before a pod has waited
for a while, nothing twice, and a reason that changes back and forth is held down.
"""

from __future__ import annotations

from heapq import heappop
from typing import TYPE_CHECKING

from treadle.core.effects import Effect, ReportWaiting
from treadle.core.kernel.periodic import failed_binds
from treadle.core.kernel.periodic.failed_scheduling import misplaced, retell, tell
from treadle.core.kernel.pods.lifecycle import enqueue
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.kernel.tree.order import arm_report

if TYPE_CHECKING:
    from treadle.core.kernel.periodic.failed_scheduling import Explainer
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask


def due(state: State, explainer: Explainer) -> list[Effect]:
    """Handle every timer that has run out."""
    effects: list[Effect] = []
    messages: dict[int, tuple[str, str]] = {}
    while state.timers and state.timers[0][0] <= state.now:
        what = heappop(state.timers)[2]
        if isinstance(what, PodRecord):
            if what.state is PodState.DELAYED and what.application is not None:
                enqueue(state, what)
        else:
            what.report_armed = False
            _report(state, explainer, what, effects, messages)
    if state.reports.failing:
        effects += failed_binds.tell(state)
    if state.reports.misnamed:
        effects += misplaced(state)
    if state.reports.again:
        effects += retell(state, explainer)
    return effects


def forget_reports(state: State) -> None:
    """Let everything be told anew: what was to be told was perhaps not written, as another instance leads."""
    for record in state.pods.values():
        record.reported_reason, record.reported_message = record.spec.reported
        record.reported_at = float("-inf")
    for application in state.applications.values():
        application.told.clear()
        for ask in application.every_ask():
            if ask.wait is not None:
                arm_report(state, ask)


def _report(state: State, explainer: Explainer, ask: Ask, effects: list[Effect], messages: dict[int, tuple[str, str]]) -> None:
    if ask.wait is None or not ask.pods:
        return
    shape, parked = ask.shape, ask.shape.parked
    if ask.obstacle is None:
        parked.quiet[ask] = state.now  # it is looked at again when no node has room any more
        return
    if ask in parked.asks and not explainer.limit_of_now(state, ask):
        found = messages.get(shape.id)
        if found is None:
            found = messages[shape.id] = explainer.waiting(state, ask)
    else:
        found = explainer.waiting(state, ask)
    reason, message = found
    soonest = oldest = float("inf")
    for record in ask.pods:
        if record.reported_reason == reason and record.reported_message == message:
            oldest = min(oldest, record.reported_at)
            continue
        hold = state.settings.refresh_after if record.reported_reason == reason else state.settings.report_again
        if state.now < record.reported_at + hold:
            soonest = min(soonest, record.reported_at + hold)
            continue
        record.reported_reason, record.reported_message, record.reported_at = reason, message, state.now
        oldest = min(oldest, state.now)
        spec = record.spec
        effects.append(ReportWaiting(spec.uid, spec.namespace, spec.name, reason, message, record.cause))
    event, again = tell(state, ask, reason, message)
    if event is not None:
        effects.append(event)
    soonest = min(soonest, again)
    if soonest < float("inf"):
        ask.report_armed = True
        state.wake_at(soonest, ask)
    elif parked.asks.get(ask):
        parked.quiet[ask] = oldest + state.settings.report_again
