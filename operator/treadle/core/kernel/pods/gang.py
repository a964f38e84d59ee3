"""What a pod counts for in its gang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.gangs.known import gang_of
from treadle.core.kernel.gangs.memory import group_of

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord


def leave(state: State, record: PodRecord) -> None:
    """Take note that a pod leaves its node: its gang may not have its minimum any more."""
    if record.spec.gang:
        state.gangs.complete.pop((record.spec.application, record.spec.gang), None)


def note_unheeded(state: State, record: PodRecord) -> None:
    """Take note of what is not acted on of the PodGroup that a pod names, for an event."""
    spec, application, reports = record.spec, record.application, state.reports
    assert application is not None
    group = state.gangs.groups.get(group_of(spec))
    if group is not None and group.unheeded:
        words = f"these fields are not acted on: {', '.join(group.unheeded)}"
    elif group is None and state.gangs.served.get(spec.gang_source) is False and gang_of(state, spec) is None:
        words = "the API server has no such kind, so each of its pods is placed as soon as there is room for it, whether there is for the others or not"
    else:
        return
    if application.whole not in reports.ungrouped:
        reports.ungrouped[application.whole] = f"PodGroup {spec.namespace}/{spec.gang} of {spec.gang_source}: {words}"
        reports.ungrouped_news = True
