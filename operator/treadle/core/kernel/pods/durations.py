"""Pods that say something of their run time that cannot be understood: told by an event, and scheduled like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import DURATION_IGNORED, RecordEvent

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


def untimed(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and whose run time cannot be understood: one for an application."""
    events: list[RecordEvent] = []
    reports = state.reports
    for uid in reports.mistimed:
        record = state.pods.get(uid)
        if record is None or record.application is None or not record.spec.unread_duration:
            continue
        application, spec = record.application.whole, record.spec
        if application not in reports.durations_told:
            reports.durations_told.add(application)
            note = f"{spec.unread_duration}. How long pods of application {application.id} run is not known by it; they are scheduled all the same"
            events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, DURATION_IGNORED, note, record.cause))
    reports.mistimed.clear()
    return events
