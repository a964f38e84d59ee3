"""When the owners of waiting pods are told why, and when pods whose bind failed are tried again.

A status write for each waiting pod is the most common wasted write of a scheduler. Nothing is said before a pod has waited
for a while, nothing twice, and a reason that changes back and forth is held down.
"""

from __future__ import annotations

from heapq import heappop
from itertools import islice
from typing import TYPE_CHECKING

from treadle.core.effects import Effect, ReportWaiting
from treadle.core.kernel.admission_checks import VOLUMES
from treadle.core.kernel.periodic import failed_binds
from treadle.core.kernel.periodic.failed_scheduling import misplaced, retell, tell, ungrouped, unheeded
from treadle.core.kernel.pods.claimed_users import claims_ignored
from treadle.core.kernel.pods.durations import untimed
from treadle.core.kernel.pods.lifecycle import enqueue
from treadle.core.kernel.pods.profile import unlike
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.pods.unknown_labels import labels_unknown
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.kernel.tree.order import arm_report

if TYPE_CHECKING:
    from treadle.core.kernel.periodic.failed_scheduling import Explainer
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Ask


MOST_LOOKED_AT = 1024
"""Pods that timers are about which are looked at in one pass: beside many thousands that wait a pass would take too long."""


def due(state: State, explainer: Explainer) -> list[Effect]:
    """Handle the timers that have run out; where they are about very many pods, the rest with the next pass, which is due at once."""
    effects: list[Effect] = []
    messages: dict[int, tuple[str, str]] = {}
    left = MOST_LOOKED_AT
    while left > 0 and state.timers and state.timers[0][0] <= state.now:
        what = heappop(state.timers)[2]
        if isinstance(what, PodRecord):
            left -= 1
            if what.state is PodState.DELAYED and what.application is not None:
                enqueue(state, what)
        else:
            what.report_armed = False
            left -= _report(state, explainer, what, effects, messages, left)
    if state.reports.failing:
        effects += failed_binds.tell(state)
    if state.reports.misnamed:
        effects += misplaced(state)
    if state.reports.unheeded_news:
        effects += unheeded(state)
    if state.reports.ungrouped_news:
        effects += ungrouped(state)
    if state.reports.profiled:
        effects += unlike(state)
    if state.reports.mistimed:
        effects += untimed(state)
    if state.reports.mislabelled:
        effects += labels_unknown(state)
    if state.reports.claiming:
        effects += claims_ignored(state)
    if state.reports.again:
        effects += retell(state, explainer)
    return effects


def report_lost(state: State, uid: str) -> None:
    """Let the owner of a pod be told again, if it still waits then: what was to be told was not written."""
    record = state.pods.get(uid)
    if record is None:
        return
    record.reported_reason, record.reported_message = record.spec.reported
    record.reported_at = float("-inf")
    if record.ask is not None and record.ask.wait is not None:
        arm_report(state, record.ask)


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


def _report(
    state: State, explainer: Explainer, ask: Ask, effects: list[Effect], messages: dict[int, tuple[str, str]], most: int
) -> int:
    """Tell the owners of at most so many of an ask's pods why they wait, the others with the next pass; returns how many pods were looked at."""
    partly = state.reports.partly.pop(ask, None)
    if ask.wait is None or not ask.pods:
        return 0
    shape, parked = ask.shape, ask.shape.parked
    if ask.obstacle is None:
        parked.quiet[ask] = state.now  # it is looked at again when no node has room any more
        return 0
    if ask in parked.asks and not explainer.limit_of_now(state, ask):
        found = messages.get(shape.id)
        if found is None:
            found = messages[shape.id] = explainer.waiting(state, ask)
    else:
        found = explainer.waiting(state, ask)
    reason, message = found
    count = len(ask.pods)
    start, soonest, oldest, before = partly or (0, float("inf"), float("inf"), count)
    now, settings = state.now, state.settings
    for record in islice(ask.pods, start, start + most):
        if record.reported_reason == reason and record.reported_message == message:
            oldest = min(oldest, record.reported_at)
            continue
        same = record.reported_reason == reason and reason != VOLUMES  # of these the words are the reason
        hold = settings.refresh_after if same else settings.report_again
        if now < record.reported_at + hold:
            soonest = min(soonest, record.reported_at + hold)
            continue
        record.reported_reason, record.reported_message, record.reported_at = reason, message, now
        oldest = min(oldest, now)
        spec = record.spec
        effects.append(ReportWaiting(spec.uid, spec.namespace, spec.name, reason, message, record.cause))
    if start + most < count:
        state.reports.partly[ask] = (start + most, soonest, oldest, before)
        ask.report_armed = True
        state.wake_at(now, ask)
        return most
    if count != before:  # who came to stand further ahead meanwhile was passed over
        soonest = min(soonest, now + settings.report_after)
    event, again = tell(state, ask, reason, message)
    if event is not None:
        effects.append(event)
    soonest = min(soonest, again)
    if soonest < float("inf"):
        ask.report_armed = True
        state.wake_at(soonest, ask)
    elif parked.asks.get(ask):
        parked.quiet[ask] = oldest + settings.report_again
    return max(1, count - start)
