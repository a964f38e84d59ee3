"""The step of a pass that keeps plans: what was promised is put back first, then it is decided what is asked for now."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from treadle.core.effects import Expire
from treadle.core.kernel.pods.states import PodState
from treadle.core.kernel.reservations.capacity import bring_up
from treadle.core.kernel.reservations.claims import perhaps_claimed
from treadle.core.kernel.reservations.deciding import decide
from treadle.core.kernel.reservations.following import follow_plans
from treadle.core.kernel.reservations.in_front import next_look as next_look_in_front
from treadle.core.kernel.reservations.places import over, place
from treadle.core.kernel.reservations.replanning import replan_all
from treadle.core.kernel.reservations.reprovisioning import reprovision

if TYPE_CHECKING:
    from treadle.core.effects import Effect
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application

AGAIN = 30.0
"""Seconds after which a pod that is still there, and not on its way out, is deleted once more."""


def keep(state: State) -> list[Effect]:
    """Bring all plans up to this moment, and return what is to be told."""
    plans = state.plans
    effects: list[Effect] = []
    bring_up(state)
    if not state.tree.planned.specs:  # so none of them is of another
        plans.discipline = state.discipline.name
    changing = plans.discipline != state.discipline.name and bool(plans.of)
    if not changing:
        effects += [*replan_all(state), *decide(state), *reprovision(state)]
        follow_plans(state)
        return [*effects, *_end(state)]
    # What is due to queues is known when those of plans are defined for the discipline: plans are looked at with the next pass.
    plans.discipline, plans.outdated = state.discipline.name, True
    for one in plans.of.values():
        one.stale = True
    follow_plans(state)
    for one in plans.of.values():
        one.stale = True
    return [*effects, *_end(state)]


def concerned(state: State) -> list[Application]:
    """Return the applications of reservations of which something changed, and those without a queue where a plan is new: they may belong elsewhere now."""
    plans = state.plans
    if not plans.elsewhere:
        return []
    found = (
        list(state.assignment.unplaced) if any(path in plans.elsewhere for path in plans.of) else []
    )  # who asks for a queue that takes reservations
    named = [name for identity in plans.elsewhere for name in plans.members.get(identity, ())]
    found += [application for identity in plans.elsewhere for application in perhaps_claimed(state, identity)]
    plans.elsewhere.clear()
    return list(dict.fromkeys([*found, *(state.applications[name] for name in named if name in state.applications)]))


def _end(state: State) -> list[Expire]:
    """Return the deletions that are due of pods on nodes whose reservation is over, where applications do not go on in the default queue."""
    plans = state.plans
    if not plans.members or (not plans.ending and all(one.spec.move for one in plans.of.values())):
        return []
    asked, plans.asked = plans.asked, {}
    ending: dict[str, str] = {}
    found: list[Expire] = []
    for identity, names in plans.members.items():
        for application in [state.applications[name] for name in names if name in state.applications]:
            why = over(state, application, identity)
            if why and any(record.spec.node for record in application.pods.values()):
                ending[application.id] = plans.ending.get(application.id) or place(application).rpartition(".")[0]
                found += _deletions(state, application, asked, why)
    plans.ending = ending
    return found


def _deletions(state: State, application: Application, asked: dict[str, float], why: str) -> list[Expire]:
    found: list[Expire] = []
    path = application.queue.path if application.queue is not None else ""
    told = (application.id, state.explicit[application.id].uid, why)
    for record in application.pods.values():
        spec = record.spec
        if record.state is not PodState.BOUND or spec.deleting:
            continue
        since = asked.get(spec.uid)
        if since is None or state.now >= since + AGAIN:
            since = state.now
            state.record(spec.uid, "expires", application.id)
            found.append(Expire(spec.uid, spec.namespace, spec.name, path, record.cause, *told))
        state.plans.asked[spec.uid] = since
    return found


def next_look(state: State) -> float | None:
    """Return when plans have something to do even if nothing happens, None if never."""
    plans = state.plans
    times = [min(one.again, one.look, one.short_since + one.spec.patience / 1000) for one in plans.of.values()]
    times.append(next_look_in_front(state))
    times += [since + AGAIN for since in plans.asked.values()]
    if plans.undecided or (plans.outdated and plans.of):
        times.append(state.now)
    first = min(times, default=inf)
    return None if first == inf else first
