"""Pods that say something of their run time that cannot be understood: told by an event, and scheduled like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import DURATION_IGNORED, RecordEvent
from treadle.core.kernel.pods.once import once

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec


def untimed(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and whose run time cannot be understood: one for an application."""
    return once(state, state.reports.mistimed, state.reports.durations_told, DURATION_IGNORED, _note)


def _note(spec: PodSpec, application: Application) -> str:
    why = spec.unread_duration
    return (
        f"{why}. How long pods of application {application.id} run is not known by it; they are scheduled all the same"
        if why
        else ""
    )
