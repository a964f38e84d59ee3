"""Which queues take reservations, and what each of their plans has: the queue's guarantee of each partition, as Hadoop's plan follower takes that of the default one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.dimensions import Dimensions
from treadle.core.kernel.reservations.forms import reservation_of
from treadle.core.kernel.reservations.memory import PlanInForce
from treadle.core.model.reservations import partition_of
from treadle.core.rules.reservations.settings import agent_of, plan_of
from treadle.core.units.resources import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Queue


def bring_up(state: State) -> None:
    """Bring the plans up to the queues in force, and let them have what was promised."""
    follow_queues(state)
    put_back(state)
    if state.plans.outdated:
        follow_queues(state)
        put_back(state)


def follow_queues(state: State) -> None:
    """Bring the plans up to the queues in force.

    A plan whose queue says something else of it, or that does not know all resource types or partitions, is made anew from what was promised.
    """
    plans = state.plans
    if not plans.outdated and all(len(one.dimensions.types) == len(state.types) for one in plans.of.values()):
        return
    plans.outdated = False
    plans.undecided.update(plans.blocked)
    plans.blocked.clear()
    taking = {path: queue for path in state.tree.planned.taking if (queue := _in_force(state, path)) is not None}
    for path in plans.of.keys() - taking.keys():
        _give_up(state, path)
    for path, queue in taking.items():
        spec = queue.spec.plan
        assert spec is not None
        dimensions = _dimensions(state, queue)
        due = [state.discipline.limits.due(queue, partition) for partition in dimensions.partitions]
        capacity = tuple(value for mine in due for value in _as_long_as_types(state, mine, 0))
        largest = _as_long_as_types(state, queue.largest or (), UNBOUNDED) * len(dimensions.partitions)
        most = tuple(min(pair) for pair in zip(capacity, largest, strict=True))
        known = plans.of.get(path)
        if known is None or known.spec != spec or known.dimensions != dimensions:
            if known is not None:
                _give_up(state, path)
            plan = plan_of(spec, capacity, most, len(dimensions.types))
            known = plans.of[path] = PlanInForce(path, spec, plan, agent_of(spec), dimensions)
            for identity, one in plans.known.items():
                if one.promise is not None and one.promise.queue == path:
                    plans.promised[identity] = None
                    plans.elsewhere[identity] = None
        else:
            if known.plan.capacity != capacity:
                known.plan.capacity, known.stale = capacity, True
            if known.plan.settings.most != most:
                known.plan.settings = replace(known.plan.settings, most=most)


def _dimensions(state: State, queue: Queue) -> Dimensions:
    """Return what the vectors of a queue's plan count: partitions that it has no more, and of which something was promised, count as well."""
    named = state.discipline.limits.promisable(queue)
    return Dimensions(
        tuple(state.types.names), (*named, *sorted(state.plans.partitions.get(queue.path, set()).difference(named)))
    )


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
    """Put into the plans what was promised before, as it was promised, whatever may be had now; what has no plan, or one that does not know a partition of it, waits for it."""
    plans = state.plans
    for identity in list(plans.promised):
        promise = plans.known[identity].promise
        one = plans.of.get(promise.queue) if promise is not None else None
        if promise is None or one is None:
            continue
        partitions = {partition_of(name)[0] for *_, named in (*promise.steps, *promise.more) for name, _ in named}
        if not partitions.issubset(one.dimensions.partitions):
            plans.partitions.setdefault(one.path, set()).update(partitions)
            plans.outdated = True
            continue
        del plans.promised[identity]
        if identity not in one.plan.reservations:
            one.plan.restore(reservation_of(one.dimensions, identity, promise))
            one.latest, one.stale = max(one.latest, promise.accepted), True
