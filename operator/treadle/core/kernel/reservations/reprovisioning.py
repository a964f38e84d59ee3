"""A run in a reservation that lags is promised more, where its object says so: what of the promise it has not had by now, once more, as far as the plan has room (Morpheus' dynamic reprovisioning).

It is looked at when the occurrence begins, at each tenth of it and whenever its promise changes. What it is given is never more than its pods need, goes back when they need it no more, and ends with the occurrence. Others' promises stand:
what they have not been promised is all that there is to give, and the sharing policy is asked as for anybody. Where capacity is lost it goes first.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from treadle.core.effects import RESERVATION_LAGGING, RESERVATION_REPROVISIONED, ReservationDecided
from treadle.core.kernel.reservations.following import child_path
from treadle.core.kernel.reservations.forms import MOST_STEPS, clock, named_steps, when
from treadle.core.kernel.reservations.memory import Progress
from treadle.core.kernel.reservations.progress import had, needs
from treadle.core.kernel.reservations.words import duration, moment
from treadle.core.model.reservations import ReservationDefinition
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.lagging import behind, owed, within_room
from treadle.core.rules.reservations.over_time import OverTime, stepped
from treadle.core.rules.reservations.plan import Reservation
from treadle.core.rules.reservations.settings import STEP
from treadle.core.rules.reservations.stages import up

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import Known, PlanInForce
    from treadle.core.kernel.state import State

PARTS = 10
"""How often an occurrence is looked at."""
SETTLED = 1.0
"""Seconds after which a run is looked at first: queues and pods have found their places by then."""


def reprovision(state: State) -> list[ReservationDecided]:
    """Look at the runs whose time has come, and tell of what changed."""
    effects: list[ReservationDecided] = []
    for one in state.plans.of.values():
        if one.stale or state.now >= one.look:
            effects += _look(state, one)
    return effects


def take_back(state: State, one: PlanInForce, identity: str) -> bool:
    """Take back what a reservation was given since it lags, and return whether there was anything."""
    each = one.plan.reservations.get(identity)
    if each is None or each.more is None:
        return False
    _give(state, one, each, None, 0)
    return True


def _look(state: State, one: PlanInForce) -> list[ReservationDecided]:
    effects: list[ReservationDecided] = []
    now, one.look = up(clock(state), STEP), inf
    for identity in list(one.plan.reservations):
        known, each = state.plans.known[identity], one.plan.reservations[identity]
        if not known.spec.reprovision and each.more is None:
            continue
        begun = each.occurrences.last(now)
        over = now if begun is None else begun + each.end - each.start
        if begun is None or now >= over or not known.spec.reprovision:
            state.plans.progress.pop(child_path(one.path, identity), None)
            following = each.occurrences.after(now)
            one.look = min(one.look, inf if following is None else when(state, following))
            if take_back(state, one, identity):
                effects.append(ReservationDecided(identity, known.spec.uid, state.cause))
            continue
        effects += _look_at(state, one, each, (begun, over, now))
    return effects


def _look_at(state: State, one: PlanInForce, each: Reservation, times: tuple[int, int, int]) -> list[ReservationDecided]:
    """Look at one reservation that is active, if it is time to."""
    begun, over, now = times
    known, path = state.plans.known[each.name], child_path(one.path, each.name)
    mine = state.plans.progress.get(path)
    if mine is None or mine.begun != begun:
        # After a restart its queue and its pods come with this pass: they are looked at after it.
        mine = state.plans.progress[path] = Progress(begun, now, now, again=state.now + SETTLED)
        one.look = min(one.look, mine.again)
        return []
    promised = stepped(len(one.plan.capacity), each.shape.segments(begun, over))
    effects: list[ReservationDecided] = []
    if state.now >= mine.again and promised.earliest is not None and promised.latest is not None:
        queue = state.tree.queues.get(path)
        lag = up(behind(promised, mine.since, now, had(state, one.dimensions, mine, queue)), STEP)
        need, length = needs(one.dimensions, queue), promised.latest - promised.earliest
        wanted = owed(promised, each.more, (mine.looked, now, begun, over), need, lag, length)
        mine.looked = now
        found = _allowed(one, each, wanted, now, over)
        if found != (OverTime(len(promised.nothing)) if each.more is None else each.more.within(now, over)):
            _give(state, one, each, None if found.empty else found, lag)
            effects.append(_told(state, one, known, mine, found, lag))
        elif found.empty and take_back(state, one, each.name):  # all of it is past
            effects.append(ReservationDecided(each.name, known.spec.uid, state.cause))
        if found.empty and not wanted.empty:
            effects += _told_of_no_room(state, one, known, mine, lag)
    elif state.now < mine.again:
        one.look = min(one.look, mine.again)
        return []
    tenths = (begun + (over - begun) * part // PARTS for part in range(1, PARTS + 1))
    changes = (*promised.times, *(() if each.more is None else each.more.times))
    mine.again = when(state, min((time for time in (*tenths, *changes) if time > now), default=over))
    one.look = min(one.look, mine.again)
    return effects


def _allowed(one: PlanInForce, each: Reservation, wanted: OverTime, now: int, over: int) -> OverTime:
    """Return what of that may be had beside all that is promised: what is free, if the sharing policy allows it."""
    nothing = OverTime(len(wanted.nothing))
    if wanted.empty:
        return nothing
    plan, before = one.plan, each.more
    plan.extend(each.name, None)
    try:
        found = within_room(wanted, plan.available(each.user, None, now, over), now, over)
        most = MOST_STEPS // len(one.dimensions.partitions)
        if len(found.times) > most:
            found = found.within(now, found.times[most])
        definition = ReservationDefinition(now, over, name=f"{each.name}#more")
        plan.settings.sharing.validate(plan, Reservation(f"{each.name}#more", 0, each.user, definition, found))
    except PlanningError:
        return nothing
    finally:
        plan.extend(each.name, before)
    return found


def _give(state: State, one: PlanInForce, each: Reservation, more: OverTime | None, lag: int) -> None:
    known = state.plans.known[each.name]
    assert known.decided is not None
    assert known.decided.promise is not None
    one.plan.extend(each.name, more)
    one.stale = True
    steps = () if more is None or more.earliest is None or more.latest is None else more.segments(more.earliest, more.latest)
    promise = replace(known.decided.promise, more=named_steps(one.dimensions, steps), behind=lag if more is not None else 0)
    known.decided, known.own = replace(known.decided, promise=promise), True


def _told(state: State, one: PlanInForce, known: Known, mine: Progress, found: OverTime, lag: int) -> ReservationDecided:
    """Return what tells the API of what was given, with an event the first time in an occurrence."""
    spec = known.spec
    if found.empty or mine.told:
        return ReservationDecided(spec.id, spec.uid, state.cause)
    mine.told = True
    state.plans.reprovisioned += 1
    assert found.earliest is not None
    assert found.latest is not None
    largest = [max(value[at] for value in found.values) for at in range(len(found.nothing))]
    state.record(spec.id, "reservation reprovisioned", duration(lag))
    words = (
        f"{_why(lag)}; queue {one.path} promises it up to {one.dimensions.words(largest)} more "
        f"from {moment(found.earliest)} until {moment(found.latest)}"
    )
    return ReservationDecided(spec.id, spec.uid, state.cause, RESERVATION_REPROVISIONED, words)


def _told_of_no_room(state: State, one: PlanInForce, known: Known, mine: Progress, lag: int) -> list[ReservationDecided]:
    if mine.warned:
        return []
    mine.warned = True
    state.plans.without_room += 1
    words = f"{_why(lag)}; queue {one.path} has nothing that could be promised it besides until its deadline, and it lives on what others leave"
    return [ReservationDecided(known.spec.id, known.spec.uid, state.cause, RESERVATION_LAGGING, words, warning=True)]


def _why(lag: int) -> str:
    return (
        f"its run is {duration(lag)} behind what it was promised" if lag else "its run has had what it was promised and goes on"
    )
