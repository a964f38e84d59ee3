"""What a pass asks of the discipline in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.state import State


class Round(NamedTuple):
    """What a discipline does from time to time: a round of preemption, a look at nodes to keep."""

    next: Callable[[State], float | None]
    """When it is due; None while nothing wants it."""
    run: Callable[[State, int], list[Effect]]
    """Do it; the number is how many binds are allowed yet."""


class Discipline(Protocol):
    """How the queues share the cluster: the parts of a pass, and of what has a time, that are one discipline's own."""

    rounds: tuple[Round, ...]
    """In the order in which they are done, after the placements of a pass."""

    def before_settling(self, state: State) -> bool:
        """Remove what is not needed any more before definitions are looked at; returns whether queues went."""

    def upkeep(self, state: State) -> bool:
        """Do what is due for queues that applications made; returns whether queues went."""

    def before_placing(self, state: State) -> None:
        """Give up nodes that are kept for one while others need them more."""

    def timers(self, state: State) -> list[float]:
        """Return when any of this but the rounds has something to do even if nothing happens."""
