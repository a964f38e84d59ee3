"""Pods that claim to be of a user whom they are not taken to be of: told by an event, and counted for whom they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import USER_IGNORED, RecordEvent

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

MOST_NAME = 100


def claims_ignored(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and claim a user in vain: one for an application."""
    events: list[RecordEvent] = []
    reports = state.reports
    for uid in reports.claiming:
        record = state.pods.get(uid)
        if record is None or record.application is None or not record.spec.claimed:
            continue
        application, spec = record.application.whole, record.spec
        if application not in reports.claims_told:
            reports.claims_told.add(application)
            note = f"its annotations claim the user {spec.claimed[:MOST_NAME]!r}, which is not believed; it counts for {application.user[:MOST_NAME]!r}"
            events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, USER_IGNORED, note, record.cause))
    reports.claiming.clear()
    return events
