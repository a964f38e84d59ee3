"""A placement that came to nothing: what was counted is returned, and the pod waits for a while before it is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.pods.lifecycle import forget
from treadle.core.kernel.pods.states import PodState

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord

MOST_WORDS = 400
"""Characters that are kept of what the API server said."""


def failed(state: State, record: PodRecord, words: str) -> None:
    """Take a placement back; the pod is tried again after a time that doubles with each failure in a row."""
    forget(state, record)
    if record.spec.gang:
        state.gangs.failed[record.spec.application, record.spec.gang] = None
    record.failures += 1
    record.failure_words = words[:MOST_WORDS]
    state.reports.failing[record.spec.uid] = None
    state.pods.move(record, PodState.DELAYED)
    settings = state.settings
    state.wake_at(state.now + min(settings.retry_most, settings.retry_first * 2 ** min(record.failures - 1, 16)), record)
