"""What owners are told of pods whose binds fail again and again: rights that are missing, an admission policy that refuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import Effect, RecordEvent, ReportWaiting
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.members import PodRecord

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

BIND_FAILED = "BindFailed"
AGAIN = 2
"""With how many failures in a row there is something to tell: one is a moment of the API server's."""


def words_of(record: PodRecord) -> str:
    """Return what happened to a pod's binds, as its owner reads it."""
    times = f"{record.failures} time{'s' if record.failures > 1 else ''}"
    last = f"; the API server's last answer: {record.failure_words}" if record.failure_words else ""
    return f"binding the pod to a node failed {times} and is tried again{last}"


def tell(state: State) -> list[Effect]:
    """Return the reports and events about binds that failed again: a report for a pod and an event for an application, held down as all others are."""
    effects: list[Effect] = []
    settings = state.settings
    for uid in state.reports.failing:
        record = state.pods.get(uid)
        if record is None or record.state is not PodState.DELAYED or record.failures < AGAIN or record.application is None:
            continue
        spec, words, application = record.spec, words_of(record), record.application
        hold = settings.refresh_after if record.reported_reason == BIND_FAILED else settings.report_again
        if state.now >= record.reported_at + hold:
            record.reported_reason, record.reported_message, record.reported_at = BIND_FAILED, words, state.now
            effects.append(ReportWaiting(uid, spec.namespace, spec.name, BIND_FAILED, words, record.cause))
        if state.now >= application.told.get(BIND_FAILED, float("-inf")) + settings.refresh_after:
            application.told[BIND_FAILED] = state.now
            note = f"{BIND_FAILED}: {words}."
            effects.append(RecordEvent(uid, spec.namespace, spec.name, application.id, "FailedScheduling", note, record.cause))
    state.reports.failing.clear()
    return effects
