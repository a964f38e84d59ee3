"""Which queues take reservations, and what each of their plans has: the queue's guarantee of the cluster, as Hadoop's plan follower takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.forms import reservation_of
from treadle.core.kernel.reservations.memory import PlanInForce
from treadle.core.rules.reservations.settings import agent_of, plan_of
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue


def follow_queues(state: State) -> None:
    """Bring the plans up to the queues in force.

    A plan whose queue says something else of it, or that does not know all resource types, is made anew from what was promised.
    """
    plans = state.plans
    if not plans.outdated and all(len(one.plan.capacity) == len(state.types) for one in plans.of.values()):
        return
    plans.outdated = False
    plans.undecided.update(plans.blocked)
    plans.blocked.clear()
    taking = {path: queue for path in state.tree.planned.taking if (queue := _in_force(state, path)) is not None}
    for path in plans.of.keys() - taking.keys():
        _give_up(state, path)
    for path, queue in taking.items():
        spec, capacity = queue.spec.plan, _as_long_as_types(state, state.discipline.limits.due(queue), 0)
        assert spec is not None
        known = plans.of.get(path)
        if known is None or known.spec != spec or len(known.plan.capacity) != len(capacity):
            if known is not None:
                _give_up(state, path)
            largest = _as_long_as_types(state, queue.largest or (), UNBOUNDED)
            most = [min(pair) for pair in zip(capacity, largest, strict=True)]
            known = plans.of[path] = PlanInForce(path, spec, plan_of(spec, capacity, most), agent_of(spec))
            for identity, one in plans.known.items():
                if one.promise is not None and one.promise.queue == path:
                    plans.promised[identity] = None
                    plans.elsewhere[identity] = None
        elif known.plan.capacity != capacity:
            known.plan.capacity, known.stale = capacity, True


def _as_long_as_types(state: State, vector: Sequence[int], fill: int) -> tuple[int, ...]:
    """Return a vector that has as many amounts as types are known: those of the machine may have room for more, or be made before the newest."""
    count = len(state.types)
    return (*vector[:count], *[fill] * (count - len(vector)))


def _in_force(state: State, path: str) -> Queue | None:
    queue = state.tree.queues.get(path)
    return queue if queue is not None and queue.defined and not queue.dynamic and queue.spec.plan is not None else None


def _give_up(state: State, path: str) -> None:
    """Forget a plan; what was promised in it waits for the next one."""
    plans = state.plans
    for identity in plans.of.pop(path).plan.reservations:
        plans.promised[identity] = plans.elsewhere[identity] = None


def put_back(state: State) -> None:
    """Put into the plans what was promised before, as it was promised, whatever may be had now; what has no plan waits for it."""
    plans, width = state.plans, len(state.types)
    for identity in list(plans.promised):
        promise = plans.known[identity].promise
        one = plans.of.get(promise.queue) if promise is not None else None
        if promise is None or one is None:
            continue
        del plans.promised[identity]
        assert len(one.plan.capacity) == width
        if identity not in one.plan.reservations:
            one.plan.restore(reservation_of(state, identity, promise))
            one.latest, one.stale = max(one.latest, promise.accepted), True
