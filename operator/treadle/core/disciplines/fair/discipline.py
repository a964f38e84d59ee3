"""The fair discipline: the FairScheduler's rounds, and queues that placement rules made and nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair import node_holds, preemption
from treadle.core.kernel.seam import Round
from treadle.core.kernel.tree.tree import IDLE

if TYPE_CHECKING:
    from treadle.core.kernel.state import State


class FairDiscipline:
    """See ``kernel.seam.Discipline``."""

    rounds: tuple[Round, ...] = (
        Round(preemption.next_round, preemption.round_of_preemption),
        Round(node_holds.next_look, node_holds.keep_nodes),
    )

    def before_settling(self, state: State) -> bool:
        """Remove queues that a rule made and that have been idle."""
        return bool(state.tree.idle) and state.tree.sweep(state.now)

    def upkeep(self, state: State) -> bool:
        """Forget when the rounds of the other discipline were."""
        state.automatic.removed_at = state.automatic.managed_at = None
        return False

    def before_placing(self, state: State) -> None:
        """Do nothing: what is kept is held against nobody."""

    def timers(self, state: State) -> list[float]:
        """Return when idle queues are removed."""
        return [since + IDLE for since in state.tree.idle.values()]
