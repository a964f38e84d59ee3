"""The known pods, and how many stand where."""

from __future__ import annotations

from typing import ClassVar

from treadle.core.kernel.pods.states import ASSUMED, BOUND, DELAYED, TRANSITIONS, WAITING, PodState
from treadle.core.kernel.tree.members import PodRecord


class PodTable(dict[str, PodRecord]):
    """The known pods by uid. ``waiting`` counts those that wait or are delayed, ``assumed`` and ``bound`` those in these states.

    States change by ``move`` and by nothing else, but that ``assume``, which is run for every placement, sets ASSUMED itself:
    ``decided`` is told how often.
    """

    _COUNTED: ClassVar[dict[PodState, str]] = {WAITING: "waiting", DELAYED: "waiting", ASSUMED: "assumed", BOUND: "bound"}

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.assumed = self.bound = 0

    def move(self, record: PodRecord, to: PodState) -> None:
        """Let a pod stand elsewhere, and count it there. ``AssertionError`` if there is no such step."""
        before = record.state
        assert (before, to) in TRANSITIONS, f"pod {record.spec.uid}: no step from {before.value} to {to.value}"
        record.state = to
        for state, change in ((before, -1), (to, 1)):
            counted = self._COUNTED.get(state)
            if counted is not None:
                setattr(self, counted, getattr(self, counted) + change)

    def decided(self, count: int) -> None:
        """Count so many pods that waited as assumed."""
        self.waiting -= count
        self.assumed += count
