"""The words for limits that are the fair discipline's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.disciplines.fair.am_share import limit_of, share_of, short_of
from treadle.core.units.resources import in_words

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Ask, Queue
    from treadle.core.model import FairSettings
    from treadle.core.units.resources import Vector


class FairOrigins:
    """The fields that limits on running applications come from: see ``rules.running.Origins``."""

    def __init__(self, settings: FairSettings) -> None:
        self._settings = settings

    def running_limit(self, queue: Queue) -> str:
        """Return where a queue's limit comes from."""
        return "maxRunningApplications" if queue.spec.max_running is not None else "fair.queueMaxAppsDefault of the Scheduler"

    def user_limit(self, user: str) -> str:
        """Return where a user's limit comes from."""
        return f"fair.userMaxApps{'' if user in self._settings.user_max_running else 'Default'} of the Scheduler"


class FairWords:
    """See ``kernel.seam.Words``."""

    largest = "maxContainerAllocation"
    maximum = "maxResources"
    fair_shares = True

    def __init__(self, state: State) -> None:
        self._state = state

    def used_capacity(self, queue: Queue) -> float | None:  # noqa: ARG002 - one protocol for both
        """Return None: queues have no capacities."""
        return None

    def remark(self, queue: Queue) -> str:
        """Say where a queue's minimum is over its maximum, and so takes its place (``FSQueue.getMaxShare``)."""
        found = []
        for name, low in queue.spec.minimum.items():
            high, position = queue.spec.maximum.get(name), self._state.types.index.get(name)
            if high is None:
                continue
            total = 0 if position is None else self._state.cluster.total[position]
            if low.percent is not None and high.percent is not None:
                over = low.percent > high.percent
            elif low.percent is None and high.percent is None:
                over = low.value > high.value
            else:  # what a percentage is shows when there are nodes
                over = total > 0 and low.resolve(total) > high.resolve(total)
            if over:
                words = (f"{one.percent:g}%" if one.percent is not None else in_words(name, one.value) for one in (low, high))
                found.append(f"{name} {' over '.join(words)}")
        return (
            f"spec.fair: minResources is over maxResources, so the minimum is the maximum too: {', '.join(found)}"
            if found
            else ""
        )

    def room(self, application: Application) -> Vector | None:  # noqa: ARG002 - one protocol for both
        """Return None: no user is limited."""
        return None

    def masters_short(self, ask: Ask) -> bool:
        """Whether a master cannot have all it asks for."""
        return short_of(self._state, ask) is not None

    def master_share(self, ask: Ask) -> str:
        """Return of what the masters of a queue would hold too much."""
        state, leaf = self._state, ask.application.chain[0]
        at = short_of(state, ask)
        if at is None:
            return f"the masters of queue {leaf.path} leave room again; the pod is next looked at with the next pass"
        name = state.types.names[at]
        held, most, wanted = (
            in_words(name, value) for value in (leaf.master_usage[at], limit_of(state, leaf)[at], dict(ask.shape.charged)[at])
        )
        return (
            f"the masters of queue {leaf.path} hold {name} {held} of the {most} that they may together "
            f"(maxAMShare {share_of(state, leaf):g} of the queue's fair share), {wanted} wanted"
        )

    def at_quota(self, ask: Ask) -> str:  # noqa: ARG002 - one protocol for both
        """Return nothing: no user is limited."""
        return ""
