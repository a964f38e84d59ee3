"""Pods with labels or annotations of ours that mean nothing, such as a slip of the pen: their owner is told, once for an application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.effects import LABEL_UNKNOWN, RecordEvent
from treadle.core.kernel.pods.once import once

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application
    from treadle.core.model import PodSpec


def labels_unknown(state: State) -> list[RecordEvent]:
    """Return the events about pods that wait and say something in vain: one for an application."""
    return once(state, state.reports.mislabelled, state.reports.labels_told, LABEL_UNKNOWN, _note)


def _note(spec: PodSpec, _: Application) -> str:
    return f"labels and annotations that mean nothing here, and are passed over: {spec.unknown}" if spec.unknown else ""
