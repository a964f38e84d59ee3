"""The capacity discipline: the CapacityScheduler's rounds, and queues that applications made."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.core.disciplines.capacity import auto_queue_upkeep, node_holds, preemption
from treadle.core.disciplines.capacity.am_share import CapacityMasters
from treadle.core.disciplines.capacity.limits import CapacityLimits
from treadle.core.disciplines.capacity.membership import CapacityMembership
from treadle.core.disciplines.capacity.placement import CapacityPlacement
from treadle.core.disciplines.capacity.state import CapacityState
from treadle.core.disciplines.capacity.turns import CapacityTurns
from treadle.core.disciplines.capacity.words import CapacityWords
from treadle.core.kernel.am_share import masters_wait
from treadle.core.kernel.seam import Round
from treadle.core.model import CAPACITY

if TYPE_CHECKING:
    from treadle.core.kernel.seam import Limits, Masters, Membership, Placement, Turns, Words
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application


class CapacityDiscipline:
    """See ``kernel.seam.Discipline``."""

    name = CAPACITY
    charges_holds = True

    def __init__(self, state: State) -> None:
        self._state = state
        self.kept = CapacityState()
        self.limits: Limits = CapacityLimits(state)
        self.masters: Masters = CapacityMasters()
        self.membership: Membership = CapacityMembership(state)
        self.turns: Turns = CapacityTurns(state)
        self.placement: Placement = CapacityPlacement(state)
        self.words: Words = CapacityWords(state)
        self.rounds: tuple[Round, ...] = (
            Round(partial(preemption.next_run, state), partial(preemption.round_of_preemption, state)),
            Round(partial(node_holds.next_run, state), partial(node_holds.keep_nodes, state)),
        )

    def owed(self, application: Application) -> bool:
        """Whether the leaf of an application has less than it is guaranteed, or no other waits for a node of the partition."""
        return node_holds.owed(self._state, application)

    def may_be_asked(self, application: Application) -> bool:
        """Whether nothing above says that others may not preempt from a leaf (``disable_preemption``), be preemption on or not."""
        if application.queue is None:
            return False
        said = (above.spec.capacity.disable_preemption for above in application.queue.chain if above.spec.capacity is not None)
        return not next((one for one in said if one is not None), False)

    def before_settling(self) -> bool:
        """Do nothing: queues that were made go in a round of their own."""
        return False

    def upkeep(self) -> bool:
        """Remove idle queues and manage the capacities of managed leaves."""
        return auto_queue_upkeep.do_rounds(self._state)

    def sync_demand(self) -> None:
        """Let masters that wait for a share look again, once an update interval."""
        state = self._state
        if state.now >= self._next_look() and masters_wait(state):
            state.updates.demands_at = state.now
            state.masters_relieved.update(state.masters_waiting)

    def before_placing(self) -> None:
        """Take back nodes that are kept for a leaf that has enough."""
        node_holds.take_back(self._state)

    def refresh_shares(self) -> None:
        """Show what each queue is guaranteed as its share."""
        for queue in self._state.tree.queues.values():
            queue.steady_share = list(queue.minimum or [])
            queue.fair_share = queue.steady_share

    def timers(self) -> list[float]:
        """Return when queues that were made are looked at, and when masters that wait are."""
        when = auto_queue_upkeep.next_run(self._state)
        found = [] if when is None else [when]
        return [*found, self._next_look()] if masters_wait(self._state) else found

    def broken(self) -> list[str]:
        """Return where the managed parents that are known are not those of the tree; what users hold is compared by the kernel."""
        capacities = self.kept.capacities
        if capacities is None:
            return []
        managed = {queue.path for queue in capacities.of.values() if queue.entitlements is not None}
        known = {queue.path for queue in capacities.managed}
        return [] if known == managed else [f"managed parents {sorted(known)} are known, {sorted(managed)} found"]

    def _next_look(self) -> float:
        return self._state.updates.demands_at + self._state.settings.update_interval
