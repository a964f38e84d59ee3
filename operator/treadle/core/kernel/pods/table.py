"""The known pods, and how many stand where."""

from __future__ import annotations

from treadle.core.kernel.pods.states import ASSUMED, BOUND, DELAYED, IDLE, TRANSITIONS, WAITING, PodState
from treadle.core.kernel.tree.members import PodRecord


class PodTable(dict[str, PodRecord]):
    """The known pods by uid. ``waiting`` counts those that wait or are delayed, ``assumed`` and ``bound`` those in these states.

    States change by ``move`` and by nothing else, but that ``assume``, which is run for every placement, sets ASSUMED itself:
    ``decided`` is told how often.
    """

    def __init__(self) -> None:
        super().__init__()
        self._count = dict.fromkeys(PodState, 0)

    @property
    def waiting(self) -> int:
        """How many pods wait, or will again."""
        return self._count[WAITING] + self._count[DELAYED]

    @property
    def delayed(self) -> int:
        """How many of them are tried again at a later time, since a bind failed."""
        return self._count[DELAYED]

    @property
    def idle(self) -> int:
        """How many pods are not to be placed now."""
        return self._count[IDLE]

    @property
    def assumed(self) -> int:
        """How many pods have a node that the API server has not confirmed."""
        return self._count[ASSUMED]

    @property
    def bound(self) -> int:
        """How many pods are on nodes."""
        return self._count[BOUND]

    def move(self, record: PodRecord, to: PodState) -> None:
        """Let a pod stand elsewhere, and count it there. ``AssertionError`` if there is no such step."""
        before = record.state
        assert (before, to) in TRANSITIONS, f"pod {record.spec.uid}: no step from {before.value} to {to.value}"
        record.state = to
        self._count[before] -= 1
        self._count[to] += 1

    def decided(self, count: int) -> None:
        """Count so many pods that waited as assumed."""
        self._count[WAITING] -= count
        self._count[ASSUMED] += count
