"""Plans for tests, in containers of <1024 MB, 1 core>; times are in steps of 1."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest
from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan, PlanSettings, Reservation, Sharing
from treadle.core.rules.reservations.sharing import NoOvercommit

CONTAINER = (1024, 1)


def size(count: int) -> tuple[int, int]:
    return 1024 * count, count


def plan_of(count: int = 100, *, sharing: Sharing | None = None, cycle: int = 100, step: int = 1) -> Plan:
    settings = PlanSettings(step, size(8), AllTypes(2, (0, 1)), sharing or NoOvercommit(), cycle)
    return Plan(size(count), settings)


def fixed(name: int, intervals: Sequence[tuple[int, int, int]], user: str = "u") -> Reservation:
    """A reservation of (start, end, containers)."""
    definition = ReservationDefinition(intervals[0][0], intervals[-1][1])
    shape = OverTime(2, [(start, end, size(count)) for start, end, count in intervals])
    return Reservation(f"r{name}", name, user, definition, shape)


loads = st.lists(st.tuples(st.integers(0, 25), st.integers(1, 6), st.integers(1, 30)), max_size=8)
"""What a plan has already: (start, length, containers)."""


def loaded(load: Sequence[tuple[int, int, int]]) -> Plan:
    """A plan of 100 containers with as much of a load as fits."""
    plan = plan_of()
    for number, (start, length, more) in enumerate(load):
        if all(plan.committed(time)[1] + more <= 100 for time in range(start, start + length)):
            plan.restore(fixed(number, [(start, start + length, more)]))
    return plan


def ask(
    arrival: int,
    deadline: int,
    *requests: tuple[int, int, int],
    interpreter: Interpreter = Interpreter.ALL,
    recurrence: int = 0,
    each: Sequence[int] = CONTAINER,
) -> ReservationDefinition:
    """A definition with requests of (count, gang, duration)."""
    wanted = [ReservationRequest(each, count, gang, duration) for count, gang, duration in requests]
    return ReservationDefinition(arrival, deadline, wanted, interpreter, str(recurrence))


def counts(shape: OverTime) -> list[tuple[int, int]]:
    """The containers from each breakpoint on."""
    return [(time, value[1]) for time, value in zip(shape.times, shape.values, strict=True)]


def drawn_once(rng: random.Random, horizon: int = 100) -> OverTime:
    """Some amounts of three types."""
    found = OverTime(3)
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(horizon)
        found.add(start, start + rng.randint(1, 30), [rng.randint(0, 9), rng.randint(0, 9), rng.choice([0, 0, 1])])
    return found


def drawn_cycle(rng: random.Random) -> Cycle:
    """An amount of two of them that comes again, within a cycle of 24."""
    found = Cycle(3, rng.choice([4, 8, 12, 24]))
    start = rng.randrange(24)
    found.add(start, start + rng.randint(1, found.period), [rng.randint(0, 4), rng.randint(0, 4), 0])
    return found
