"""The known pods: where each stands, by which steps that changes, and how many stand where."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from treadle.core.model import PodSpec

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.tree.application import Application, Ask


class PodState(Enum):
    """Where a pod stands.

    IDLE: not to be placed now (gated, being deleted, refused by the server until the watch says more).
    WAITING: in an ask. DELAYED: a bind failed and it is tried again at a later time. ASSUMED: placed and counted, bind under way.
    BOUND: the API says that it is on a node (ours or foreign).
    """

    IDLE = "idle"
    WAITING = "waiting"
    DELAYED = "delayed"
    ASSUMED = "assumed"
    BOUND = "bound"


ASSUMED = PodState.ASSUMED
"""For where it is named at every placement: an enumeration looks its members up slowly."""


IDLE, WAITING, DELAYED, BOUND = PodState.IDLE, PodState.WAITING, PodState.DELAYED, PodState.BOUND


class PodRecord:
    """A pod as last seen, and what is counted for it: ``shape`` at ``node`` (a row of the node columns, -1 for none).

    ``part`` is what of the application it is counted in while it is placed, by the partition of its node. ``master``: it is counted among the masters of its queue. ``since`` is when it was last assumed.
    """

    __slots__ = (
        "application",
        "ask",
        "cause",
        "failure_words",
        "failures",
        "master",
        "node",
        "part",
        "reported_at",
        "reported_message",
        "reported_reason",
        "shape",
        "since",
        "spec",
        "state",
    )

    def __init__(self, spec: PodSpec, shape: Shape) -> None:
        self.spec = spec
        self.shape = shape
        self.state = PodState.IDLE
        self.application: Application | None = None
        self.part: Application | None = None
        self.ask: Ask | None = None
        self.node = -1
        self.cause = 0
        self.failures = 0
        self.failure_words = ""
        """What the API server said when a bind of it failed last."""
        self.master = False
        self.since = 0.0
        self.reported_reason, self.reported_message = spec.reported
        self.reported_at = float("-inf")


class PodTable(dict[str, PodRecord]):
    """The known pods by uid. ``waiting`` counts those that wait or are delayed, ``assumed`` and ``bound`` those in these states.

    States change by ``move`` and by nothing else, but that ``assume``, which is run for every placement, sets ASSUMED itself: ``decided`` is told how often.
    """

    TRANSITIONS: ClassVar[frozenset[tuple[PodState, PodState]]] = frozenset(
        {
            (IDLE, WAITING),  # enqueue: it is ours and may be placed
            (IDLE, DELAYED),  # a bind failed and was taken back; it is tried again later
            (IDLE, BOUND),  # it was seen on a node
            (WAITING, WAITING),  # it goes to the ask of another partition
            (WAITING, ASSUMED),  # assume: a node was decided
            (WAITING, IDLE),  # withdraw, or set aside
            (DELAYED, WAITING),  # its time has come
            (DELAYED, IDLE),  # withdraw
            (ASSUMED, BOUND),  # the watch confirms it
            (ASSUMED, IDLE),  # forget, or withdraw
            (BOUND, ASSUMED),  # what another core had decided and not heard of is counted like what is bound, and then assumed
            (BOUND, IDLE),  # withdraw
        }
    )
    _COUNTED: ClassVar[dict[PodState, str]] = {WAITING: "waiting", DELAYED: "waiting", ASSUMED: "assumed", BOUND: "bound"}

    def __init__(self) -> None:
        super().__init__()
        self.waiting = self.assumed = self.bound = 0

    def move(self, record: PodRecord, to: PodState) -> None:
        """Let a pod stand elsewhere, and count it there. ``AssertionError`` if there is no such step."""
        before = record.state
        assert (before, to) in self.TRANSITIONS, f"pod {record.spec.uid}: no step from {before.value} to {to.value}"
        record.state = to
        for state, change in ((before, -1), (to, 1)):
            counted = self._COUNTED.get(state)
            if counted is not None:
                setattr(self, counted, getattr(self, counted) + change)

    def decided(self, count: int) -> None:
        """Count so many pods that waited as assumed."""
        self.waiting -= count
        self.assumed += count
