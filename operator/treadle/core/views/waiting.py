"""Why pods wait, counted, whose they are, and how long those waited that were placed: plain data for those who show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from treadle.core.kernel.opportunistic import telling
from treadle.core.kernel.periodic.failed_binds import BIND_FAILED
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.tree.partitions import used_everywhere
from treadle.core.units.amounts import add_to
from treadle.core.views.explain import GATED, TURN, reason

if TYPE_CHECKING:
    from treadle.core.kernel.state import State

MOST_USERS = 50
"""Users who are told of one by one: those with the most pods."""
OTHERS = "(others)"
"""Stands for all other users; no user of Kubernetes has such a name by chance."""


class PlacementTimes(NamedTuple):
    """When what became of a pod whose node was decided last, in seconds.

    ``since_made`` is how long it was known to the API before, by the wall clock (its creation is told in whole seconds; None where the
    clock is not known), ``entered`` when it first waited here (minus infinity: it did not) and ``decided`` when its node was
    decided, both by the core's clock.
    """

    queue: str
    since_made: float | None
    entered: float
    decided: float


@dataclass(frozen=True, slots=True)
class UserFigures:
    """What a user has: pods that wait and such that are placed, and what these request."""

    waiting: int
    placed: int
    used: dict[str, int]


@dataclass(frozen=True, slots=True)
class WaitingFigures:
    """How many pods wait for which reason, and what the users have who have the most pods, the others together."""

    reasons: dict[str, int]
    users: dict[str, UserFigures]

    @property
    def active(self) -> int:
        """How many compete now."""
        return self.reasons.get(TURN, 0)

    @property
    def backoff(self) -> int:
        """How many are tried again at a later time, since a bind failed."""
        return self.reasons.get(BIND_FAILED, 0)

    @property
    def gated(self) -> int:
        """How many have scheduling gates."""
        return self.reasons.get(GATED, 0)

    @property
    def unschedulable(self) -> int:
        """How many wait for something else."""
        return sum(self.reasons.values()) - self.active - self.backoff - self.gated


def placement_times(state: State, uid: str) -> PlacementTimes | None:
    """Return when what became of a pod that has a node, None if it has none or is not known."""
    record = state.pods.get(uid)
    if record is None or record.node < 0 or record.application is None or record.application.queue is None:
        return None
    epoch, made = state.settings.epoch, record.spec.created
    since_made = epoch + record.since - made if epoch and made else None
    return PlacementTimes(record.application.queue.path, since_made, record.entered, record.since)


def waiting_figures(state: State) -> WaitingFigures:
    """Count what waits, by asks and not by pods but for those that nothing is decided about."""
    reasons: Counter[str] = Counter()
    pods: dict[str, list[int]] = {}
    used: dict[str, list[int]] = {}
    width = state.types.width
    opportunistic = state.opportunistic.waiting
    for application in state.applications.values():
        waiting = 0
        for part in (application, *application.parts.values()):
            for ask in part.asks.values():
                count = len(ask.pods)
                waiting += count
                reasons[reason(state, ask)] += count
        if opportunistic:
            waiting += sum(uid in opportunistic for uid in application.pods)
        mine = pods.get(application.user)
        if mine is None:
            mine = pods[application.user] = [0, 0]
            used[application.user] = [0] * width
        mine[0] += waiting
        mine[1] += application.allocated
        add_to(used[application.user], used_everywhere(application))
    reasons.update(telling.reasons(state))
    if state.pods.delayed:
        reasons[BIND_FAILED] += state.pods.delayed
    if state.pods.idle:
        names, idle = state.scheduler.names, PodState.IDLE
        gated = sum(one.state is idle and one.spec.gated and one.spec.scheduler in names for one in state.pods.values())
        if gated:
            reasons[GATED] += gated
    return WaitingFigures(dict(reasons), _users(state, pods, used))


def _users(state: State, pods: dict[str, list[int]], used: dict[str, list[int]]) -> dict[str, UserFigures]:
    named = state.types.named
    told = pods if len(pods) <= MOST_USERS else nlargest(MOST_USERS, pods, key=lambda user: (sum(pods[user]), user))
    found = {user: UserFigures(pods[user][0], pods[user][1], named(used[user])) for user in told}
    if len(found) < len(pods):
        rest, total = [0, 0], [0] * state.types.width
        for user, mine in pods.items():
            if user not in found:
                add_to(rest, mine)
                add_to(total, used[user])
        found[OTHERS] = UserFigures(rest[0], rest[1], named(total))
    return found
