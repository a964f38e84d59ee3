"""What single pods use, by samples that somebody tells of them: what a pod gives back when it goes, and what is predicted by what pods have used.

Of pods that are not opportunistic nothing is kept unless a prediction wants it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.opportunistic import forecast
from treadle.core.kernel.opportunistic.given import asks
from treadle.core.kernel.opportunistic.known import TYPES, PodSampled
from treadle.core.rules.opportunistic.histograms import Histogram
from treadle.core.rules.opportunistic.prediction import Reservation
from treadle.core.rules.opportunistic.samples import Sample
from treadle.core.units.resources import MEMORY, UNBOUNDED

if TYPE_CHECKING:
    from treadle.core import events
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord

SMALLEST = [1 << 20 if position == MEMORY else 10 for position in range(TYPES)]
"""The end of the first bucket of a histogram by type: a mebibyte, and a hundredth of a core."""
MOST_KINDS = 4096
"""Kinds of pods of which it is kept what they have used; those that were not sampled for the longest are forgotten."""


def sampled(state: State, event: events.PodSampled) -> None:
    """Take a sample of a pod that is on a node; one that ended before the pod was made is of another one."""
    settings, record = state.scheduler.opportunistic, state.pods.get(event.uid)
    if not settings.pods_told or record is None or record.node < 0 or record.application is None:
        return
    predicts = forecast.by_pods(settings)
    if not predicts and event.uid not in state.opportunistic.of:
        return
    at = min(event.at, state.now)
    if at < record.spec.created - state.settings.epoch:
        return
    usage, node = state.opportunistic.usage, state.nodes.names[record.node]
    there = usage.pods.setdefault(node, {})
    before = there.get(event.uid)
    if before is not None and at <= before.sample.at:
        return
    found = sample(state, event.usage, at, event.window)
    if not predicts:
        there[event.uid] = PodSampled(found)
        return
    kept = there[event.uid] = PodSampled(
        found, _of_kind(state, record), _reserved(state, record) if before is None else before.reserved
    )
    for position, value in found.used.items():
        kept.used[position].add(value, at)
        kept.reserved[position].use(value, at)
    if (one := usage.of.get(node)) is not None:
        one.room = None


def sample(state: State, usage: tuple[tuple[str, int], ...], at: float, window: float) -> Sample:
    """Return a sample by positions. What is measured of other types than memory and cpu is passed over, and so is what lies beyond all bounds."""
    index = state.types.index
    used = {index[name]: min(max(value, 0), UNBOUNDED) for name, value in usage if index.get(name, TYPES) < TYPES}
    return Sample(used, at, max(window, 0.0))


def used_by(state: State, row: int, uid: str, since: float) -> dict[int, int]:
    """Return what a pod of a node was measured to use, by type: nothing where no sample is known that is as new as one whose window began at ``since``."""
    there = state.opportunistic.usage.pods.get(state.nodes.names[row])
    one = None if there is None else there.get(uid)
    return {} if one is None or one.sample.at < since else dict(one.sample.used)


def forget_the_gone(state: State, row: int) -> None:
    """Forget the pods that are not on a node any more."""
    pods = state.opportunistic.usage.pods
    there = pods.get(state.nodes.names[row])
    if there is None:
        return
    for uid in [uid for uid in there if (record := state.pods.get(uid)) is None or record.node != row]:
        del there[uid]
    if not there:
        del pods[state.nodes.names[row]]


def _of_kind(state: State, record: PodRecord) -> list[Histogram]:
    """Return what pods of the kind of one have used."""
    assert record.application is not None
    kinds = state.opportunistic.usage.kinds
    kind = record.application.id, record.shape.demand, record.spec.opportunistic
    found = kinds.pop(kind, None)
    if found is None:
        half_life = state.scheduler.opportunistic.prediction.half_life
        found = [Histogram(smallest, half_life) for smallest in SMALLEST]
        if len(kinds) >= MOST_KINDS:
            del kinds[next(iter(kinds))]
    kinds[kind] = found
    return found


def _reserved(state: State, record: PodRecord) -> list[Reservation]:
    started = max(record.since, record.spec.created - state.settings.epoch)
    return [Reservation(amount, min(started, state.now)) for amount in asks(record)]
