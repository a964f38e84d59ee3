"""The queues of a plan follow it (``AbstractSchedulerPlanFollower``): which there are is what ``rules.reservations.following`` decides, and each counts on what its reservation has.

Hadoop gives each queue one part of the plan. Here it is guaranteed what was promised type by type, since parts of reservations that are unlike come to more than all. What a reservation has at its start it is guaranteed
``lead`` earlier, as far as nobody else is promised it until then: those who borrow it take their time to leave. Where more is promised than there is each gets as much less of a type as all together. Of a type of which it says nothing
it is guaranteed a part of what nobody was promised.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING

from treadle.core.kernel.reservations.claims import claims
from treadle.core.kernel.reservations.coming import coming
from treadle.core.kernel.reservations.forms import clock, when
from treadle.core.rules.placement.names import MOST_BYTES
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.following import Child, Entitle, FollowSettings, default_of, follow
from treadle.core.rules.reservations.over_time import Amounts, minus, most, plus
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.model import QueueSpec
    from treadle.core.rules.reservations.plan import Reservation


def default_path(path: str) -> str:
    """Return the path of the queue for all that has no reservation, below one that takes some."""
    return f"{path}.{default_of(path.rpartition('.')[2])}"


@lru_cache(maxsize=1 << 14)
def child_path(path: str, identity: str) -> str:
    """Return the path of the queue of a reservation: its name, and what tells it from those of that name in other namespaces."""
    sign = sha256(identity.encode()).hexdigest()[:8]
    room = MOST_BYTES - len(path) - len(sign) - 2
    name = identity.partition("/")[2][: max(room, 0)].rstrip("-")
    return f"{path}.{name}-{sign}" if name else f"{path}.{sign}"


def follow_plans(state: State) -> None:
    """Let the queues of all plans that changed, or whose time has come, be what these want, and note when that is next."""
    plans, now = state.plans, up(clock(state), STEP)
    due = {one.path: one for one in plans.of.values() if one.stale or state.now >= one.again}
    had = state.tree.planned.specs
    if not due and all(spec.parent in plans.of for spec in had.values()):
        return
    specs = [spec for spec in had.values() if spec.parent in plans.of and spec.parent not in due]
    for one in due.values():
        specs += _follow(state, one, now)
        one.stale = False
        one.again = min((when(state, time) for time in _changes(one, now)), default=inf)
    state.tree.plan(specs)


def _follow(state: State, one: PlanInForce, now: int) -> list[QueueSpec]:
    """Return the queues that a plan wants now; takes out of it what has been over for long."""
    plan, name, lead = one.plan, default_of(one.path.rpartition(".")[2]), one.spec.lead
    soon = {each.name: each for each in plan.reservations.values() if not each.active(now) and _begins(each, now, lead)}
    children = {identity: Child((), plan.capacity) for identity in one.children if identity not in soon and identity != one.path}
    children[name] = Child((), plan.capacity)
    found = follow(plan, one.path.rpartition(".")[2], plan.capacity, children, now, FollowSettings(), replanning=False)
    shares = {decision.queue: decision.share for decision in found.decisions if isinstance(decision, Entitle)}
    current = {identity: plan.reservations[identity] for identity in shares if identity in plan.reservations}
    active = {identity: each for identity, each in current.items() if each.active(now)}
    promised = _amounts(one, active, soon, now)
    amounts = _with_unasked(one, promised)
    before, one.children = one.children, {}
    above, limits = state.tree.queues[one.path], state.discipline.limits
    specs = []
    left = plan.capacity
    for identity, given in amounts.items():
        left = minus(left, given)
        path = one.children[identity] = child_path(one.path, identity)
        specs.append(limits.planned(above, path, shares.get(identity, 0.0), _by_partition(one, given), promised=True))
    rest = tuple(max(0, value) for value in left)
    one.children[one.path] = default_path(one.path)
    part = max(0.0, 1.0 - sum(shares.get(identity, 0.0) for identity in amounts))
    specs.append(limits.planned(above, one.children[one.path], part, _by_partition(one, rest), promised=False))
    one.claims = claims(state, one)
    one.coming = coming(state, one, promised, now)
    for identity in before.keys() ^ one.children.keys():
        state.plans.elsewhere[identity] = None
    return specs


def _by_partition(one: PlanInForce, vector: Amounts) -> dict[str, dict[str, int]]:
    types = one.dimensions.types
    return {
        partition: {name: value for name, value in zip(types, mine, strict=True) if value}
        for partition, mine in one.dimensions.parts(vector)
    }


def _amounts(
    one: PlanInForce, active: Mapping[str, Reservation], soon: Mapping[str, Reservation], now: int
) -> dict[str, Amounts]:
    """Return what each reservation is guaranteed: what it has, less where there is less, and then what it will have soon as far as that is free."""
    capacity, lead = one.plan.capacity, one.spec.lead
    has = {identity: each.at(now) for identity, each in active.items()}
    total: Amounts = (0,) * len(capacity)
    for given in has.values():
        total = plus(total, given)
    found = {
        identity: tuple(
            value if every <= room else value * room // every for value, every, room in zip(given, total, capacity, strict=True)
        )
        for identity, given in has.items()
    }
    free = tuple(max(0, room - every) for room, every in zip(capacity, total, strict=True))
    for each in sorted((*active.values(), *soon.values()), key=lambda each: (_next(each, now), each.accepted, each.number)):
        mine = found.setdefault(each.name, (0,) * len(capacity))
        wanted = minus(_largest(each, now, lead), has.get(each.name, (0,) * len(capacity)))
        more = tuple(max(0, min(value, room)) for value, room in zip(wanted, free, strict=True))
        found[each.name], free = plus(mine, more), minus(free, more)
    return found


def _with_unasked(one: PlanInForce, found: dict[str, Amounts]) -> dict[str, Amounts]:
    """Let reservations have a part of those types too of which they say nothing at any time, as large as their largest of that partition: pods without any of it run nowhere."""
    capacity = one.plan.capacity
    left = capacity
    for given in found.values():
        left = tuple(max(0, value) for value in minus(left, given))
    filled, unclaimed = dict[str, Amounts](), left
    for identity, given in found.items():
        said, more = _types(one.plan.reservations[identity]), list[int]()
        width = len(one.dimensions.types)
        for first in range(0, len(capacity), width):
            mine = range(first, first + width)
            part = min(1.0, max((given[at] / capacity[at] for at in mine if at in said and capacity[at]), default=0.0))
            more += [0 if at in said else min(int(left[at] * part), unclaimed[at]) for at in mine]
        filled[identity], unclaimed = plus(given, more), minus(unclaimed, more)
    return filled


def _types(each: Reservation) -> set[int]:
    """Return the resource types of which a reservation has something at any time."""
    steps = each.shape.steps if isinstance(each.shape, Cycle) else each.shape
    return {at for value in steps.values for at, amount in enumerate(value) if amount}


def _largest(each: Reservation, time: int, lead: int) -> Amounts:
    """Return the most that a reservation has of each type from a time until a while later."""
    found = each.at(time)
    for start, _, value in each.segments(time, time + lead + 1):
        if each.active(start):
            found = most(found, value)
    return found


def _begins(each: Reservation, now: int, lead: int) -> bool:
    """Whether the window of a reservation, or an occurrence of it, begins within a while."""
    return now < _next(each, now) <= now + lead


def _next(each: Reservation, now: int) -> int:
    """Return when the window of a reservation, or an occurrence of it, begins next after a time; that of a window that is over is long ago."""
    following = each.occurrences.after(now)
    return each.start if following is None else following


def _changes(one: PlanInForce, now: int) -> Iterator[int]:
    """Yield the times after ``now`` at which the queues of a plan are others than before."""
    lead, window = one.spec.lead, one.plan.settings.sharing.window
    for each in one.plan.reservations.values():
        if each.more is not None:
            yield from (at for time in each.more.times for at in (time - lead, time, time + lead) if at > now)
        times = each.shape.steps.times if isinstance(each.shape, Cycle) else each.shape.times
        if not each.period:
            yield from (at for time in (each.start, each.end, *times) for at in (time - lead, time, time + lead) if at > now)
            yield max(each.end + window, now + STEP)  # it is taken out then
            continue
        length, starts = each.end - each.start, each.definition.starts or (0,)
        windows = [time for later in starts for time in (each.start + later, each.start + later + length)]
        for time in (*windows, *times):
            for at in (time - lead, time, time + lead):
                yield at + max(0, (now - at) // each.period + 1) * each.period
