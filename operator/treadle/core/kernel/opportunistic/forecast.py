"""What a node will use at most within the next minutes, in place of what it used when it was last sampled, where the settings ask for that.

What is known is of whole nodes, so only the predictors that need no more are acted on (``PREDICTED``): a part of all that is asked for, and mean and
deviations. How far they are off is counted as soon as their time is over; a prediction of a node where pods came or went is about others and is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from treadle.core.kernel.opportunistic.given import asked_on
from treadle.core.kernel.opportunistic.known import TYPES
from treadle.core.model.opportunistic import PART, SIGMA
from treadle.core.rules.opportunistic.accuracy import Watched
from treadle.core.rules.opportunistic.prediction import Moments, NodeHistory, PodHistory, predictor

if TYPE_CHECKING:
    from treadle.core.kernel.opportunistic.known import Sampled
    from treadle.core.kernel.state import State

PREDICTED: Final = frozenset({PART, SIGMA})


def sampled(state: State, row: int, one: Sampled) -> None:
    """Take a sample of a node that has just come, and predict with it."""
    settings, sample = state.scheduler.opportunistic.prediction, one.usage.sample
    if settings.method not in PREDICTED or sample is None:
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
            one.watched[position].use(used, _peak(state, one, position, asked[position], used), sample.at)


def peaks(state: State, row: int, one: Sampled, used: list[int | None]) -> list[int | None]:
    """Return what is to be taken as used of each type: the predicted peak, with what the sample does not tell of, and never less than ``used``."""
    sample = one.usage.sample
    if not one.moments or sample is None or state.scheduler.opportunistic.prediction.method not in PREDICTED:
        return used
    asked = asked_on(state, row)
    found: list[int | None] = []
    for position, value in enumerate(used):
        measured = sample.used.get(position)
        if value is None or measured is None:
            found.append(value)
        else:
            found.append(max(value, _peak(state, one, position, asked[position], measured) + value - measured))
    return found


def _peak(state: State, one: Sampled, position: int, asked: int, used: int) -> int:
    assert one.usage.sample is not None
    history = NodeHistory((PodHistory(asked),), used, one.moments[position])
    return predictor(state.scheduler.opportunistic.prediction).peak(history, one.usage.sample.at)
