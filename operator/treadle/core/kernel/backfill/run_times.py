"""How long pods run, as far as decisions go by it: as they say or as pods of their application ran, as the settings have it.

A pod that is to fit is taken to run for the longest that is said of it; one that makes room by its end for what is usual. So what is placed
in a gap is rather gone too early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.pods.states import PodState
from treadle.core.model.applications import family
from treadle.core.model.scheduler import ESTIMATED

if TYPE_CHECKING:
    from treadle.core.kernel.backfill.memory import RunTime
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import PodRecord
    from treadle.core.model import PodSpec

UNKNOWN = float("inf")
STARTING = 5.0
"""Seconds by which a pod is to end before room is used by others: it takes a moment to start and to go."""
MOST_PODS = 16
"""Pods of an ask that are looked at: they differ in how long they say they run."""


def longest(state: State, pod: PodSpec) -> float:
    """Return the seconds for which a pod runs at the longest by what is known, infinite where nothing is.

    When the kubelet ends it at the latest is no word on how long it runs, so by declarations alone it only bounds what is declared.
    """
    said, ran = declared(state, pod), _of_others(state, pod)
    most = max(said, ran.longest if ran is not None else 0.0)
    if most:
        return min(most, pod.longest) if pod.longest else most
    return pod.longest if pod.longest and state.scheduler.backfill == ESTIMATED else UNKNOWN


def end(state: State, record: PodRecord) -> float:
    """Return when a pod on a node is expected to end, by the core's clock: now where it is on its way out or over its time, infinite where nothing is known."""
    pod = record.spec
    if pod.deleting or pod.finished or pod.uid in state.preemption.marked:
        return state.now
    ran = _of_others(state, pod)
    usual = ran.usual if ran is not None else declared(state, pod)
    if not usual:
        return UNKNOWN
    if pod.longest:
        usual = min(usual, pod.longest)
    return max(state.now, begun(state, record) + usual)


def begun(state: State, record: PodRecord) -> float:
    """Return since when a pod runs, by the core's clock; now where its kubelet has not said."""
    if record.spec.started:
        return min(state.now, record.spec.started - state.settings.epoch)
    return record.since if record.state is PodState.ASSUMED else state.now


def declared(state: State, pod: PodSpec) -> float:
    """Return the seconds that a pod runs by its own word or that of its application's object; 0: neither says."""
    if pod.duration:
        return pod.duration
    said = state.explicit.get(pod.application)
    return said.duration or 0.0 if said is not None else 0.0


def _of_others(state: State, pod: PodSpec) -> RunTime | None:
    known = state.backfill.run_times
    if state.scheduler.backfill != ESTIMATED or not known:
        return None
    return known.get(pod.application) or known.get(family(pod.application))
