"""The sentences of YARN's ``ReservationInputValidator``: what its clients are told of a rule that is broken, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from treadle.core.rules.reservations.validation import Invalid, Rule
from treadle.core.units.resources import CPU, MEMORY

MIB = 1 << 20
SUBMIT = "submit"


def sentence(
    error: Invalid, operation: str, names: Sequence[str], *, reservation: str = "", queue: str = "", recurrence: str = ""
) -> str:
    """Return what YARN says of a broken rule. ``names`` are the resource types of the error's vectors, ``operation`` is ``submit`` or another."""
    numbers = error.numbers
    match error.rule:
        case Rule.ID_MISSING if operation == SUBMIT:
            return "Reservation id cannot be null. Please try again specifying a valid reservation id by creating a new reservation id."
        case Rule.ID_MISSING:
            return "Missing reservation id. Please try again by specifying a reservation id."
        case Rule.QUEUE_MISSING:
            return "The queue is not specified. Please try again with a valid reservable queue."
        case Rule.QUEUE_UNKNOWN:
            return f"The specified queue: {queue} is not managed by reservation system. Please try again with a valid reservable queue."
        case Rule.RESERVATION_UNKNOWN:
            return f"The specified reservation with ID: {reservation} is unknown. Please try again with a valid reservation."
        case Rule.WITHOUT_PLAN:
            return f"The specified reservation: {reservation} is not associated with any valid plan. Please try again with a valid reservation."
        case Rule.DEFINITION_MISSING:
            return "Missing reservation definition. Please try again by specifying a reservation definition."
        case Rule.DEADLINE_PAST:
            return f"The specified deadline: {numbers[0]} is the past. Please try again with deadline in the future."
        case Rule.NO_REQUESTS:
            return "No resources have been specified to reserve. Please try again by specifying the resources to reserve."
        case Rule.TOO_SHORT:
            window, arrival, deadline, shortest = numbers
            between = f"between arrival ({arrival}) and deadline ({deadline})"
            return f"The time difference ({window}) {between} must  be greater or equal to the minimum resource duration ({shortest})"
        case Rule.GANG_TOO_LARGE:
            half = len(numbers) // 2
            gang, has = (resource(names, each) for each in (numbers[:half], numbers[half:]))
            return f"The size of the largest gang in the reservation definition ({gang}) exceed the capacity available ({has} )"
        case Rule.PERIOD_INVALID:
            return f"Invalid period {recurrence}. Please try again with a non-negative long value as period."
        case Rule.PERIOD_NEGATIVE:
            return f"Negative Period : {recurrence}. Please try again with a non-negative long value as period."
        case Rule.PERIOD_TOO_SHORT:
            duration = f"Duration of the requested reservation: {numbers[0]}"
            return f"{duration} is greater than the recurrence: {numbers[1]}. Please try again with a smaller duration."
        case Rule.PERIOD_NO_DIVISOR:
            needed = (
                f"The maximum periodicity: {numbers[0]} must be divisible by the recurrence expression provided: {numbers[1]}"
            )
            return f"{needed}. Please try again with a recurrence expression that satisfies this requirement."
        case Rule.INTERVAL:
            return "The specified end time must be greater than the specified start time."


def resource(names: Sequence[str], vector: Sequence[int]) -> str:
    """Return a vector as YARN writes a ``Resource``: memory in MiB and cores, then other types that are not zero. What is no whole number is a decimal."""
    said = [f"memory:{_number(vector[MEMORY], MIB)}", f"vCores:{_number(vector[CPU], 1000)}"]
    others = [(name, value) for name, value in zip(names, vector, strict=False) if name not in {"memory", "cpu"} and value]
    return f"<{', '.join([*said, *(f'{name}: {value}' for name, value in others)])}>"


def _number(value: int, unit: int) -> str:
    exact = Fraction(value, unit)
    return str(exact.numerator) if exact.denominator == 1 else f"{float(exact):g}"
