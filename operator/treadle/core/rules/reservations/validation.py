"""What a request about a reservation must say before anybody plans (``ReservationInputValidator``), checked in YARN's order: the first rule that is broken is told.

The names of rules and the numbers that a message tells are what programs may go by; the words are for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from treadle.core.errors import CoreError
from treadle.core.model.reservations import LARGEST, ORDERED, Interpreter
from treadle.core.rules.reservations.plan import DAY

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationDefinition
    from treadle.core.rules.capacity.calculators import Calculator


class Rule(Enum):
    """The rules; values are their short names."""

    ID_MISSING = "id_missing"
    QUEUE_MISSING = "queue_missing"
    QUEUE_UNKNOWN = "queue_unknown"
    RESERVATION_UNKNOWN = "reservation_unknown"
    WITHOUT_PLAN = "reservation_without_plan"
    DEFINITION_MISSING = "definition_missing"
    DEADLINE_PAST = "deadline_past"
    NO_REQUESTS = "no_requests"
    TOO_SHORT = "too_short"
    GANG_TOO_LARGE = "gang_too_large"
    PERIOD_INVALID = "period_invalid"
    PERIOD_NEGATIVE = "period_negative"
    PERIOD_TOO_SHORT = "period_too_short"
    PERIOD_NO_DIVISOR = "period_no_divisor"
    INTERVAL = "interval"


class Invalid(CoreError):
    """A request breaks a rule; ``numbers`` are those that its message is about."""

    def __init__(self, rule: Rule, message: str, numbers: Sequence[int] = ()) -> None:
        """Keep the rule and the numbers."""
        self.rule = rule
        self.numbers = tuple(numbers)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Planned:
    """What the rules look at of a plan. ``cycle`` is the largest period in ms."""

    capacity: Sequence[int]
    calculator: Calculator
    cycle: int = DAY


@dataclass(frozen=True, slots=True)
class Known:
    """The plans by queue, and the queues of reservations by name."""

    plans: Mapping[str, Planned]
    queues: Mapping[str, str]


def submission(known: Known, name: str | None, queue: str | None, definition: ReservationDefinition | None, now: int) -> Planned:
    """Return the plan that a new reservation is for. Raises ``Invalid``."""
    if name is None:
        raise Invalid(Rule.ID_MISSING, "the reservation has no name")
    plan = _plan_of(known, queue)
    check(plan, definition, now)
    return plan


def update(known: Known, name: str | None, definition: ReservationDefinition | None, now: int) -> Planned:
    """Return the plan of a reservation that is to be changed. Raises ``Invalid``."""
    plan = _plan_with(known, name)
    check(plan, definition, now)
    return plan


def deletion(known: Known, name: str | None) -> Planned:
    """Return the plan of a reservation that is to be deleted. Raises ``Invalid``."""
    return _plan_with(known, name)


def listing(known: Known, queue: str | None, start: int, end: int) -> Planned:
    """Return the plan whose reservations are to be listed; a ``start`` below 0 is 0, an ``end`` below 0 is none. Raises ``Invalid``."""
    start, end = max(start, 0), LARGEST if end < 0 else end
    if end < start:
        raise Invalid(Rule.INTERVAL, f"end: {end} is before start, which is {start}")
    return _plan_of(known, queue)


def _plan_of(known: Known, queue: str | None) -> Planned:
    if not queue:
        raise Invalid(Rule.QUEUE_MISSING, "queue: none is named")
    plan = known.plans.get(queue)
    if plan is None:
        raise Invalid(Rule.QUEUE_UNKNOWN, f"queue: {queue!r} takes no reservations")
    return plan


def _plan_with(known: Known, name: str | None) -> Planned:
    if name is None:
        raise Invalid(Rule.ID_MISSING, "the reservation has no name")
    queue = known.queues.get(name)
    if queue is None:
        raise Invalid(Rule.RESERVATION_UNKNOWN, f"reservation {name!r} does not exist")
    plan = known.plans.get(queue)
    if plan is None:
        raise Invalid(Rule.WITHOUT_PLAN, f"reservation {name!r} is on queue {queue!r}, which takes no reservations")
    return plan


def check(plan: Planned, definition: ReservationDefinition | None, now: int) -> None:
    """Raise ``Invalid`` for a definition that can never be placed, or not any more. What any one request is enough for may contain requests that cannot."""
    if definition is None:
        raise Invalid(Rule.DEFINITION_MISSING, "the reservation has no definition")
    arrival, deadline, requests = definition.arrival, definition.deadline, definition.requests
    if deadline <= now:
        raise Invalid(Rule.DEADLINE_PAST, f"deadline: {deadline} is over, now it is {now}", [deadline])
    if not requests:
        raise Invalid(Rule.NO_REQUESTS, "requests: there are none, at least one is needed")
    durations = [one.duration for one in requests]
    shortest = sum(durations) if definition.interpreter in ORDERED else max(durations)
    window = deadline - arrival
    if definition.interpreter is not Interpreter.ANY:
        if window < shortest:
            words = f"deadline: from arrival at {arrival} until {deadline} are {window} ms, and the requests take {shortest} ms"
            raise Invalid(Rule.TOO_SHORT, words, [window, arrival, deadline, shortest])
        _check_gangs(plan, definition)
    _check_period(plan, definition, window)


def _check_gangs(plan: Planned, definition: ReservationDefinition) -> None:
    gangs = [[value * one.concurrency for value in one.demand] for one in definition.requests]
    largest = [0] * len(plan.capacity)
    for gang in gangs:
        if plan.calculator.more(plan.capacity, gang, largest):
            largest = gang
    if plan.calculator.more(plan.capacity, largest, plan.capacity):
        words = f"requests: the largest gang is {tuple(largest)}, and the plan has {tuple(plan.capacity)}"
        raise Invalid(Rule.GANG_TOO_LARGE, words, [*largest, *plan.capacity])


def _check_period(plan: Planned, definition: ReservationDefinition, window: int) -> None:
    try:
        period = definition.period
    except ValueError as error:
        raise Invalid(Rule.PERIOD_INVALID, f"recurrence: {error}") from error
    if period < 0:
        raise Invalid(Rule.PERIOD_NEGATIVE, f"recurrence: {period} ms is below zero", [period])
    apart = definition.apart or period
    if period and window > apart:
        words = f"recurrence: {apart} ms is shorter than the window from arrival to deadline, which is {window} ms"
        raise Invalid(Rule.PERIOD_TOO_SHORT, words, [window, apart])
    if period and plan.cycle % period:
        words = f"recurrence: {period} ms does not divide the largest period, which is {plan.cycle} ms"
        raise Invalid(Rule.PERIOD_NO_DIVISOR, words, [plan.cycle, period])
