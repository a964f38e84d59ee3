"""Placement constraints whose parts come into force while a pod waits: which are, and when a pod is asked for anew.

A pod has waited since it was first known to wait; a bind that fails does not begin that anew, a restart does.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from treadle.core.rules.constraints.delays import coming, delayed, in_force, next_in_force
from treadle.core.rules.constraints.writing import in_words

if TYPE_CHECKING:
    from treadle.core.kernel.memory import Delays
    from treadle.core.kernel.state import State
    from treadle.core.model import PodRules, PodSpec
    from treadle.core.model.placement_constraints import PlacementConstraint

A_MOMENT = 0.001
"""Seconds past the end of a delay at which it is certainly over."""


def placement_in_force(
    state: State, spec: PodSpec, constraints: tuple[PlacementConstraint, ...]
) -> tuple[PlacementConstraint, ...]:
    """Return the constraints of a pod as they are now, and see to it that it is looked at when that changes."""
    if not constraints or not delayed(constraints):
        return constraints
    delays = state.delays
    if spec.node or spec.gated or spec.scheduler not in state.scheduler.names:
        waited = float("inf") if spec.node else 0.0
    else:
        since = delays.since.setdefault(spec.uid, state.now)
        waited = state.now - since
        after = next_in_force(constraints, waited)
        if after is not None:
            _look_at(delays, spec.uid, since + after + A_MOMENT)
    return tuple(in_force(one, waited) for one in constraints)


def rules_in_force(state: State, spec: PodSpec) -> PodRules | None:
    """Return what a pod itself demands of the pods around it, as it is now."""
    rules = spec.constraints.pods
    if rules is None or not rules.placement:
        return rules
    now = placement_in_force(state, spec, rules.placement)
    return rules if now is rules.placement else replace(rules, placement=now)


def due(state: State) -> list[str]:
    """Return the uids of the pods whose constraints may be others by now."""
    delays, found = state.delays, []
    while delays.timers and delays.timers[0][0] <= state.now:
        when, uid = heappop(delays.timers)
        if delays.then.get(uid) == when:
            del delays.then[uid]
            found.append(uid)
    return found


def words(state: State, spec: PodSpec, constraints: tuple[PlacementConstraint, ...]) -> str:
    """Say which constraints will do as well in a while; empty for none."""
    since = state.delays.since.get(spec.uid)
    if since is None:
        return ""
    waited = state.now - since
    after = next_in_force(constraints, waited)
    if after is None:
        return ""
    told = " or ".join(in_words(one) for one in coming(constraints, waited))
    return f" After {after - waited:.0f}s more {told} will do as well."


def _look_at(delays: Delays, uid: str, when: float) -> None:
    known = delays.then.get(uid)
    if known is None or when < known:
        delays.then[uid] = when
        heappush(delays.timers, (when, uid))
