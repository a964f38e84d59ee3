"""What a node will use at most within the next minutes, in place of what it used when it was last sampled, where the settings ask for that.

A part of all that is asked for, and mean and deviations, need to know of whole nodes alone. The others need what single pods have used: a pod of which that is not known counts for all that it
asks for, and where the source tells of no pods the last sample counts. How far they are off is counted as soon as their time is over; a prediction of a node where pods came or went is about
others and is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treadle.core.kernel.opportunistic.given import asked_on, asks
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.model.opportunistic import BY_PODS, PART, SIGMA
from treadle.core.rules.opportunistic.accuracy import Watched
from treadle.core.rules.opportunistic.prediction import Moments, NodeHistory, PodHistory, predictor

if TYPE_CHECKING:
    from treadle.core.kernel.opportunistic.known import Sampled
    from treadle.core.kernel.state import State
    from treadle.core.model.opportunistic import OpportunisticSettings

SETTLED = 60.0
"""Seconds over which samples have to be spread before anything is predicted by them: many pods of a kind, sampled once after a restart, tell of a moment and not of a peak."""
BY_NODES: Final = frozenset({PART, SIGMA})


def by_pods(settings: OpportunisticSettings) -> bool:
    """Whether peaks are predicted by what single pods have used."""
    return settings.prediction.method in BY_PODS and settings.pods_told


def predicts(settings: OpportunisticSettings) -> bool:
    """Whether peaks are predicted at all."""
    return settings.by_usage and (settings.prediction.method in BY_NODES or by_pods(settings))


def sampled(state: State, row: int, one: Sampled) -> None:
    """Take a sample of a node that has just come, and predict with it."""
    settings, sample = state.scheduler.opportunistic.prediction, one.usage.sample
    if sample is None or not predicts(state.scheduler.opportunistic):
        return
    if not one.moments:
        one.moments = [Moments(settings.half_life) for _ in range(TYPES)]
        one.watched = [Watched(settings.horizon, errors) for errors in state.opportunistic.usage.errors]
    asked = asked_on(state, row)
    if asked != one.asked:
        one.asked = asked
        for watched in one.watched:
            watched.forget()
    for position in range(TYPES):
        used = sample.used.get(position)
        if used is not None:
            one.moments[position].add(used, sample.at)
            one.watched[position].use(used, _peak(state, row, one, position, asked[position], used), sample.at)


def peaks(state: State, row: int, one: Sampled, used: list[int | None]) -> list[int | None]:
    """Return what is to be taken as used of each type: the predicted peak, with what the sample does not tell of, and never less than ``used``."""
    sample = one.usage.sample
    if not one.moments or sample is None or not predicts(state.scheduler.opportunistic):
        return used
    asked = asked_on(state, row)
    found: list[int | None] = []
    for position, value in enumerate(used):
        measured = sample.used.get(position)
        if value is None or measured is None:
            found.append(value)
        else:
            found.append(max(value, _peak(state, row, one, position, asked[position], measured) + value - measured))
    return found


def _peak(state: State, row: int, one: Sampled, position: int, asked: int, used: int) -> int:
    assert one.usage.sample is not None
    settings = state.scheduler.opportunistic
    at, moments = one.usage.sample.at, one.moments[position]
    pods = _histories(state, row, one, position, asked) if by_pods(settings) else [PodHistory(asked)]
    return predictor(settings.prediction).peak(NodeHistory(pods, used, moments if at >= moments.began + SETTLED else None), at)


def _histories(state: State, row: int, one: Sampled, position: int, asked: int) -> list[PodHistory]:
    """Return what is known of the pods of a node; those of which nothing is are one with all that they ask for.

    Pods that no sample of the node tells of yet are added by who asks.
    """
    assert one.usage.sample is not None
    found, at = [], one.usage.sample.at
    left = asked - one.usage.placed_since(TYPES)[position]
    for uid, pod in state.opportunistic.usage.pods.get(state.nodes.names[row], {}).items():
        record = state.pods.get(uid)
        if record is None or record.node != row or uid in one.usage.pending:
            continue
        demand = asks(record)[position]
        left -= demand
        used = pod.used[position]
        found.append(PodHistory(demand, used if at >= used.began + SETTLED else None, pod.reserved[position]))
    return [*found, PodHistory(max(left, 0))]
