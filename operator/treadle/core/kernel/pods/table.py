"""What the core remembers of one pod."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

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
