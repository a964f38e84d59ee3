"""What keeps a reservation from being planned at all: whom the queue takes, what nobody has, and what would take too long to look at.

The rules of YARN come first (``rules.reservations.validation``), told in words for people. What follows has no counterpart there: Hadoop
plans whatever it is asked for, and nobody is served meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.core.kernel.assign import asker, denied_words
from treadle.core.kernel.reservations.forms import asked_in
from treadle.core.kernel.reservations.words import DAY, MINUTE, duration, moment
from treadle.core.rules.placement.access import may_reserve
from treadle.core.rules.reservations.validation import Invalid, Planned, Rule, check

if TYPE_CHECKING:
    from treadle.core.kernel.reservations.memory import PlanInForce
    from treadle.core.kernel.state import State
    from treadle.core.model.reservations import ReservationDefinition, ReservationSpec

INVALID, ACCESS_DENIED, NO_SUCH_RESOURCE, TOO_LONG, TOO_OFTEN, TOO_MUCH = (
    "Invalid",
    "AccessDenied",
    "NoSuchResource",
    "WindowTooLong",
    "PeriodTooShort",
    "TooMuchPlanned",
)
NO_SUCH_PARTITION = "NoSuchPartition"
LONGEST_WINDOW = 100 * DAY
FURTHEST = 3653 * DAY
TOO_FAR = "TooFarAhead"
SHORTEST_PERIOD = 10 * MINUTE
TOO_MANY = "TooManySteps"
MOST_STARTS = 256
"""Times within a period at which a reservation begins: what a status has room for."""
MOST_CHANGES = 50_000
"""Changes of what is promised that may lie within a window."""
REASONS = {
    Rule.DEADLINE_PAST: "DeadlinePast",
    Rule.NO_REQUESTS: "NoRequests",
    Rule.TOO_SHORT: "WindowTooShort",
    Rule.GANG_TOO_LARGE: "GangTooLarge",
    Rule.PERIOD_TOO_SHORT: "PeriodTooShort",
    Rule.PERIOD_NO_DIVISOR: "PeriodNoDivisor",
}


def refusal(
    state: State, spec: ReservationSpec, one: PlanInForce, definition: ReservationDefinition, now: int
) -> tuple[str, str] | None:
    """Return the reason and the words for which a reservation is refused before anybody plans, None if it is not."""
    queue, default_access = state.tree.queues[one.path], state.settings.default_access
    who = asker(state, spec.id, spec.user, spec.groups)
    if not may_reserve(queue, one.path, who, default_access):
        return ACCESS_DENIED, denied_words("reserve in", one.path, who, default_access)
    for at, request in enumerate(spec.requests):
        if not any(value for _, value in request.demand):
            return (
                INVALID,
                f"spec.expression.requests[{at}].demand: asks for nothing; of one resource type at least it must be more than 0",
            )
        partition = asked_in(one, request)
        if partition not in one.dimensions.partitions:
            return NO_SUCH_PARTITION, f"spec.expression.requests[{at}].partition: {_partitions(state, one, partition)}"
        lacking = sorted(name for name, value in request.demand if value and name not in state.types.index)
        if lacking:
            return NO_SUCH_RESOURCE, f"spec.expression.requests[{at}].demand: no node has {', '.join(lacking)}"
    try:
        check(Planned(one.plan.capacity, one.plan.settings.calculator, one.spec.cycle), definition, now)
    except Invalid as error:
        return REASONS.get(error.rule, INVALID), _words(error, one, definition, now)
    if definition.deadline - now > FURTHEST:
        words = f"spec.deadline: {moment(definition.deadline)} is {duration(definition.deadline - now)} from now, and at most {FURTHEST // DAY} days ahead are planned"
        return TOO_FAR, words
    return costly(one, definition)


def costly(one: PlanInForce, definition: ReservationDefinition) -> tuple[str, str] | None:
    """Return the reason and the words for which it would take too long to look for a place, None if it would not."""
    window, period = definition.deadline - definition.arrival, definition.period
    if window > LONGEST_WINDOW:
        words = (
            f"spec.deadline: from arrival to deadline are {duration(window)}, and at most {duration(LONGEST_WINDOW)} are planned"
        )
        return TOO_LONG, words
    apart = definition.apart or period
    if 0 < apart < SHORTEST_PERIOD:
        words = f"spec.recurrence: {duration(apart)} is a shorter period than {duration(SHORTEST_PERIOD)}, the shortest that is planned"
        return TOO_OFTEN, words
    if len(definition.starts) > MOST_STARTS:
        words = f"spec.recurrence: it begins at {len(definition.starts)} times within {duration(period)}, and at most {MOST_STARTS} are kept"
        return TOO_MANY, words
    occurrences = one.plan.whole_cycle // period * max(1, len(definition.starts)) if period else 1
    load = one.plan.load
    changes = len(load.once.times) + sum((window // cycle.period + 1) * len(cycle.steps.times) for cycle in load.cycles.values())
    if changes * occurrences > MOST_CHANGES:
        words = (
            f"spec.deadline: what is promised changes {changes * occurrences} times within the window, and up to {MOST_CHANGES} changes are "
            "looked at; a shorter window can be planned"
        )
        return TOO_MUCH, words
    return None


def _words(error: Invalid, one: PlanInForce, definition: ReservationDefinition, now: int) -> str:
    """Return a rule that is broken, with its numbers, as people read them."""
    window = definition.deadline - definition.arrival
    match error.rule:
        case Rule.DEADLINE_PAST:
            return f"spec.deadline: {moment(definition.deadline)} is over, it is {moment(now)} now"
        case Rule.TOO_SHORT:
            shortest = duration(error.numbers[-1])
            return (
                f"spec.deadline: from {moment(definition.arrival)} until {moment(definition.deadline)} are {duration(max(0, window))}, "
                f"and the requests take {shortest}"
            )
        case Rule.GANG_TOO_LARGE:
            gang = error.numbers[: len(one.plan.capacity)]
            return (
                f"spec.expression.requests: the largest gang asks for {one.dimensions.words(gang)}, and queue {one.path} has "
                f"{one.dimensions.words(one.plan.capacity, gang)}"
            )
        case Rule.PERIOD_TOO_SHORT:
            apart = duration(definition.apart or definition.period)
            return f"spec.recurrence: {apart} is shorter than the window from arrival to deadline, which is {duration(window)}"
        case Rule.PERIOD_NO_DIVISOR:
            period = f"{duration(definition.period)}{', after which it is the same again,' if definition.starts else ''}"
            return f"spec.recurrence: {period} does not divide the longest period of queue {one.path}, which is {duration(one.spec.cycle)} (spec.reservations.maximumPeriod)"
    return str(error)


def _partitions(state: State, one: PlanInForce, partition: str) -> str:
    """Return why nothing of a partition can be promised, which the plan does not know."""
    if not state.discipline.membership.partitions_matter():
        return f"{partition!r} is a partition of nodes, which there are under the discipline Capacity"
    has = ", ".join(sorted(name or "the default one" for name in one.dimensions.partitions))
    return f"queue {one.path} has nothing of partition {partition}; of these it has something: {has} (spec.capacity.partitions of it)"
