"""The fair discipline: the FairScheduler's rounds, and queues that placement rules made and that are idle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.core.disciplines.fair import node_holds, preemption
from treadle.core.disciplines.fair.am_share import FairMasters
from treadle.core.disciplines.fair.limits import FairLimits
from treadle.core.disciplines.fair.membership import FairMembership
from treadle.core.disciplines.fair.placement import FairPlacement
from treadle.core.disciplines.fair.turns import FairTurns
from treadle.core.disciplines.fair.update import update_shares
from treadle.core.disciplines.fair.update_pass import pass_due, sync_demands, update_pass, wanted
from treadle.core.disciplines.fair.words import FairWords
from treadle.core.kernel.seam import Round
from treadle.core.kernel.tree.tree import IDLE
from treadle.core.model import FAIR

if TYPE_CHECKING:
    from treadle.core.kernel.seam import Limits, Masters, Membership, Placement, Turns, Words
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


class FairDiscipline:
    """See ``kernel.seam.Discipline``."""

    name = FAIR
    charges_holds = False

    def __init__(self, state: State) -> None:
        self._state = state
        self.limits: Limits = FairLimits(state)
        self.masters: Masters = FairMasters(state)
        starved = FairMembership(state)
        self.membership: Membership = starved
        self.turns: Turns = FairTurns(state)
        self.placement: Placement = FairPlacement(state)
        self.words: Words = FairWords(state)
        self.rounds: tuple[Round, ...] = (
            Round(partial(preemption.next_run, state), partial(preemption.round_of_preemption, state, starved)),
            Round(partial(node_holds.next_run, state), partial(node_holds.keep_nodes, state)),
        )

    def owed(self, application: Application) -> bool:
        """Whether an application is below its fair share."""
        return node_holds.owed(self._state, application)

    def may_be_asked(self, application: Application) -> bool:
        """Whether a queue and those above it allow that others preempt from them (``allowPreemptionFrom``)."""
        return application.queue is not None and all(above.spec.preemptable for above in application.queue.chain)

    def before_settling(self) -> bool:
        """Remove queues that a rule made and that have been idle."""
        tree = self._state.tree
        return bool(tree.idle) and tree.sweep(self._state.now)

    def upkeep(self) -> bool:
        """Do nothing: queues that a rule made are looked at before settling."""
        return False

    def sync_demand(self) -> None:
        """Follow demands where an order depends on them, and make the update pass if it is wanted and due."""
        state = self._state
        sync_demands(state)
        if pass_due(state) and wanted(state):
            update_pass(state)

    def before_placing(self) -> None:
        """Do nothing: what is kept is charged to no queue."""

    def refresh_shares(self) -> None:
        """Compute the fair and the steady shares."""
        update_shares(self._state.tree.root, self._state.cluster)

    def timers(self) -> list[float]:
        """Return when idle queues are removed, and when the update pass is next made."""
        state = self._state
        found = [since + IDLE for since in state.tree.idle.values()]
        return [*found, state.updates.demands_at + state.settings.update_interval] if wanted(state) else found

    def broken(self) -> list[str]:
        """Return queues that were made by a rule, are empty, and that nothing will remove."""
        tree = self._state.tree
        lost = [queue for queue in tree.everywhere() if queue.dynamic and not queue.members() and queue not in tree.idle]
        return [f"queue {queue.path} was made by a rule, is empty, and nothing will remove it" for queue in lost]
