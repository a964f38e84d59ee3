"""The capacity discipline: the CapacityScheduler's rounds, and queues that applications made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity import auto_queue_upkeep, node_holds, preemption
from treadle.core.kernel.seam import Round

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


class CapacityDiscipline:
    """See ``kernel.seam.Discipline``."""

    rounds: tuple[Round, ...] = (
        Round(preemption.next_round, preemption.round_of_preemption),
        Round(node_holds.next_look, node_holds.keep_nodes),
    )

    def before_settling(self, state: State) -> bool:  # noqa: ARG002 - one protocol for both
        """Do nothing: queues that were made go in a round of their own."""
        return False

    def upkeep(self, state: State) -> bool:
        """Remove idle queues and manage the capacities of managed leaves."""
        return auto_queue_upkeep.tend(state)

    def before_placing(self, state: State) -> None:
        """Take back nodes that are kept for a leaf that has enough."""
        node_holds.take_back(state)

    def timers(self, state: State) -> list[float]:
        """Return when queues that were made are looked at."""
        when = auto_queue_upkeep.next_round(state)
        return [] if when is None else [when]
