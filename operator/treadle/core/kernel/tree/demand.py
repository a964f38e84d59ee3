"""What applications and queues demand: what they hold and what they ask for, held at the maxima of queues on the way up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.units.amounts import add_to
from treadle.core.units.resources import UNBOUNDED, held

if TYPE_CHECKING:
    from treadle.core.kernel.state import State
    from treadle.core.kernel.tree.members import Application, Queue


def update_demand(queue: Queue, width: int) -> None:
    """Recompute what a queue and all below it hold and want: pending, counts, and the demand, held at each queue's maximum."""
    total = [0] * width
    pending = [0] * width
    running = accepted = pods = 0
    busy = False
    for child in queue.children.values():
        update_demand(child, width)
        running, accepted, pods = running + child.running, accepted + child.accepted, pods + child.waiting_pods
        busy |= child.busy
        for position in range(width):
            total[position] += child.demand[position]
            pending[position] += child.pending[position]
    summed = not queue.children and max(queue.usage, default=0) <= UNBOUNDED
    if summed:  # what its applications hold is known as one sum
        total = list(queue.usage)
    for application in queue.applications.values():
        busy = busy or application.busy
        if application.allocated:
            running += 1
        else:
            accepted += 1
        application.demand_in = queue
        usage = application.usage
        if summed and not application.asks:
            if application.demand != usage:
                application.demand = usage[:]
            continue
        demand = usage[:]
        if not summed:
            add_to(total, usage)
        for ask in application.asks.values():
            shape, count = ask.shape, len(ask.pods)
            pods += count
            for position, value in shape.charged:
                wants = value * count
                demand[position] += wants
                pending[position] += wants
                total[position] += wants
            if shape.once:
                for asked in (demand, pending, total):
                    ask.share(asked)
        if max(demand) > UNBOUNDED:
            application.demand = held(demand)
            add_to(total, [bound - most for bound, most in zip(application.demand, demand, strict=True)])
        else:
            application.demand = demand
    queue.pending, queue.running, queue.accepted, queue.waiting_pods = pending, running, accepted, pods
    queue.busy = busy
    queue.demand_below = total
    queue.demand = [min(value, most) for value, most in zip(total, queue.maximum, strict=True)]


def demand_changed(application: Application) -> list[Queue]:
    """Recompute what one application demands, and with it the queues above; returns those of which it changed.

    The result is that of ``update_demand`` if all applications are looked at that got or lost pods, or moved, since.
    """
    changed = []
    now = [0] * len(application.usage)
    if application.queue is not None:
        for position, value in enumerate(application.usage):
            now[position] += value
        for ask in application.asks.values():
            ask.add_to(now)
        now = held(now)
    for queue, part, sign in ((application.demand_in, application.demand, -1), (application.queue, now, 1)):
        change = [sign * value for value in part]
        above = queue
        while above is not None and any(change):
            before = above.demand
            add_to(above.demand_below, change)
            above.demand = [min(value, most) for value, most in zip(above.demand_below, above.maximum, strict=True)]
            change = [value - old for value, old in zip(above.demand, before, strict=True)]
            changed.append(above)
            above = above.parent
    application.demand, application.demand_in = now, application.queue
    return changed


def hold_demand(queue: Queue) -> None:
    """Hold the demand of a queue at a maximum that may be another one now, and let the queues above follow."""
    at: Queue | None = queue
    while at is not None:
        before = at.demand
        at.demand = [min(value, most) for value, most in zip(at.demand_below, at.maximum, strict=True)]
        change = [value - old for value, old in zip(at.demand, before, strict=True)]
        at = at.parent if any(change) else None
        if at is not None:
            add_to(at.demand_below, change)


def forget_demands(state: State) -> None:
    """Take note that all demands are up to date; the order follows with the next pass."""
    if state.updates.demands:
        state.dirty.update(state.updates.demands)
        state.updates.demands.clear()
