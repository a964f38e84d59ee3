"""What preemption remembers between rounds: the holds, and who was asked to go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.core.kernel.nodes.shapes import Shape
    from treadle.core.kernel.tree.members import Application, Ask


@dataclass(eq=False, slots=True)
class Hold:
    """Room for one pod of ``application`` that is like ``shape``; ``key`` is that of the ask.

    ``victims`` are the uids of those who were asked to go for it; none where pods leave the node anyway.
    """

    application: Application
    shape: Shape
    key: tuple[int, int, bool]
    row: int
    victims: set[str]
    placed_at: float
    until: float
    without_victims: bool = False
    """No pod was asked to go for it, and what is owed is still owed: room is only kept as it comes."""
    gang: tuple[str, str] = ("", "")
    """The application and its gang if it is one of the holds for all that the gang starts with: they are fulfilled together or not at all."""
    looked_at: int = -1
    """Where the log of edited nodes ended when its node was found to admit the pod."""
    counted: bool = False
    """It is charged to the application and its queues as if the pod ran there."""


@dataclass(slots=True)
class Preemption:
    """What the preemption of a cluster remembers.

    ``marked`` says for which hold a victim goes. ``spared`` are pods that could not be had, and until when they are not asked
    again. ``waits`` are the asks that wait for a node, which of their pods is first and since when, as of the last look,
    ``left_alone`` the nodes that were kept in vain and until when they are left alone.
    """

    holds: dict[Hold, None] = field(default_factory=dict)
    marked: dict[str, Hold] = field(default_factory=dict)
    spared: dict[str, float] = field(default_factory=dict)
    waits: dict[Ask, tuple[str, float]] = field(default_factory=dict)
    left_alone: dict[int, float] = field(default_factory=dict)
    attempts: int = 0
    """Searches for pods that may go for a pod, or for a gang, those in vain included."""
    victims: Counter[int] = field(default_factory=Counter)
    """How often so many pods had to go for one, or for a gang."""
    looked: float = float("-inf")
    reserved: float = float("-inf")

    def chosen(self, victims: int) -> None:
        """Take note that so many pods have to go for one, or for a gang; none where room comes free anyway."""
        if victims:
            self.victims[victims] += 1
