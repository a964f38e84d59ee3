"""Pods that claim to be of a user whom they are not taken to be of: told by an event, and counted for whom they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import USER_IGNORED, RecordEvent
from treadle.core.kernel.pods.once import once

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec

MOST_NAME = 100


def claims_ignored(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and claim a user in vain: one for an application."""
    return once(state, state.reports.claiming, state.reports.claims_told, USER_IGNORED, _note)


def _note(spec: PodSpec, application: Application) -> str:
    claimed, user = spec.claimed[:MOST_NAME], application.user[:MOST_NAME]
    return f"its annotations claim the user {claimed!r}, which is not believed; it counts for {user!r}" if claimed else ""
