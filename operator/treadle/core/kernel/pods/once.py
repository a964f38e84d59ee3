"""Events about what pods say that is not acted on: one for an application, with the first of its pods that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import RecordEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec


def once(
    state: State, pods: dict[str, None], told: set[Application], reason: str, note_of: Callable[[PodSpec, Application], str]
) -> list[RecordEvent]:
    """Return the events about ``pods``, which are forgotten, but for applications that were ``told``; a note that is empty is none."""
    events: list[RecordEvent] = []
    for uid in pods:
        record = state.pods.get(uid)
        if record is None or record.application is None:
            continue
        application, spec = record.application.whole, record.spec
        note = "" if application in told else note_of(spec, application)
        if note:
            told.add(application)
            events.append(RecordEvent(spec.uid, spec.namespace, spec.name, application.id, reason, note, record.cause))
    pods.clear()
    return events
