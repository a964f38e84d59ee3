"""Applications and leaves as the search for the starved sees them (``rules.fair.starvation``): what is held for them counts as had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.preemption.holds import held_below, held_for
from treadle.core.units.amounts import plus
from treadle.core.units.resources import extend

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue
    from treadle.core.model import FairSettings
    from treadle.core.rules.policies import Policy
    from treadle.core.units.resources import Vector


class StarvationState:
    """An application that may be starved, with Hadoop's instantaneous fair share; times as in ``starvation.Hungry``."""

    def __init__(self, application: Application, now: float) -> None:
        self.application = application
        self.share_met_at = now
        self.next_check = float("-inf")
        self.short_of_share: Vector = [0] * len(application.usage)
        self.short_of_minimum: Vector = [0] * len(application.usage)
        self.refresh_with([0] * len(application.usage))

    def refresh(self, state: State) -> None:
        """Take over the numbers of now."""
        self.refresh_with(held_for(state, self.application) if state.preemption.holds else [0] * state.types.width)

    def refresh_with(self, held: Vector) -> None:
        """Take over the numbers of now, with what is held for the application."""
        application = self.application
        self.name, self.start, self.turn, self.priority = (
            application.name,
            application.start,
            application.turn,
            application.priority,
        )
        self.weight, self.minimum, self.demand = application.weight, application.minimum, application.demand
        self.usage = plus(application.usage, held)
        self.fair_share = application.instant_share
        for lack in (self.short_of_share, self.short_of_minimum):  # as of an earlier round, when there may have been fewer types
            extend(lack, len(self.usage))


class Starving:
    """A leaf that may be short of its minimum, with the timeouts and the threshold that it has or inherits."""

    def __init__(self, queue: Queue, now: float) -> None:
        self.queue = queue
        self.minimum_met_at = now

    def refresh(self, state: State) -> None:
        """Take over the numbers of now."""
        queue, settings = self.queue, state.scheduler.fair
        self.policy: Policy = queue.policy
        self.minimum, self.demand = queue.minimum, queue.demand
        self.usage = plus(queue.usage, held_below(state, queue)) if state.preemption.holds else list(queue.usage)
        self.fair_share_threshold, self.fair_share_timeout, self.min_share_timeout = in_force(queue, settings)


def in_force(queue: Queue, settings: FairSettings) -> tuple[float, float | None, float | None]:
    """Return (threshold, fair share timeout, minimum share timeout) of a queue: its own, else the nearest ancestor's, else the scheduler's.

    A timeout of None never ends.
    """
    threshold = share = minimum = None
    for above in queue.chain:
        threshold = above.spec.fair_share_threshold if threshold is None else threshold
        share = above.spec.fair_share_timeout if share is None else share
        minimum = above.spec.min_share_timeout if minimum is None else minimum
    return (
        settings.fair_share_threshold if threshold is None else threshold,
        settings.fair_share_timeout if share is None else share,
        settings.min_share_timeout if minimum is None else minimum,
    )
