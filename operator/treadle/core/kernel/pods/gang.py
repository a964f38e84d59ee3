"""What a pod counts for in its gang."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord


def leave(state: State, record: PodRecord) -> None:
    """Take note that a pod leaves its node: its gang may not have its minimum any more."""
    if record.spec.gang:
        state.complete_gangs.pop((record.spec.application, record.spec.gang), None)
