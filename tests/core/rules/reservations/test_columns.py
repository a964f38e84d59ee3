"""What is worked out in columns is what is worked out step by step: sums of what is given away, and places."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

from core.rules.reservations.plans import drawn_cycle, drawn_once
from examples import examples
from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest
from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.rules.reservations.agents import Agent, Wanted, aligned
from treadle.core.rules.reservations.aligned import Aligned
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.greedy import Greedy
from treadle.core.rules.reservations.plan import Plan, PlanSettings, Reservation
from treadle.core.rules.reservations.planner import Planner
from treadle.core.rules.reservations.sharing import CapacityOverTime, NoOvercommit, fits_in_columns
from treadle.core.rules.reservations.stages import by_demand, whole_window

CYCLE, CAPACITY = 24, (40, 30, 7)


def plan_of(rng: random.Random, patience: int, by_user: bool) -> Plan:
    sharing = CapacityOverTime(rng.choice([0.5, 0.8, 1.0]), 1.0, 24) if by_user else NoOvercommit()
    calculator = AllTypes(3, [0, 1, 2] if rng.random() < 0.7 else [0, 2], precise=True)
    capacity = (*CAPACITY[:2], rng.choice([0, 7]))
    plan = Plan(capacity, PlanSettings(1, [9, 9, 9], calculator, sharing, CYCLE, exact=True, patience=patience))
    for number in range(rng.randint(0, 8)):
        shape = drawn_cycle(rng) if rng.random() < 0.3 else drawn_once(rng)
        plan.restore(Reservation(f"r{number}", number, rng.choice("uv"), ReservationDefinition(0, 200), shape, number))
    return plan


def requests(rng: random.Random) -> list[ReservationRequest]:
    found = []
    for _ in range(rng.randint(1, 3)):
        concurrency = rng.randint(1, 3)
        demand = [rng.randint(0, 4), rng.randint(0, 4), rng.choice([0, 0, 1])]
        found.append(ReservationRequest(demand, concurrency * rng.randint(1, 12), concurrency, rng.randint(1, 9)))
    return found


def agent(left: bool, at_once: bool) -> Agent:
    spread = Aligned(left, 3, columns=at_once)
    return Agent((Planner(by_demand, spread, left), Planner(whole_window, Greedy(left), left)))


@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@for_all(
    st.integers(0, 1 << 32),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(Interpreter)),
    st.sampled_from([0, 12, 60, 10_000]),
)
def test_places_are_the_same_at_once_and_one_by_one(
    seed: int, left: bool, by_user: bool, interpreter: Interpreter, patience: int
) -> None:
    """Of new ones and of updates, those that come once and those that come again, with every interpreter."""
    rng = random.Random(seed)
    arrival = rng.randrange(60)
    period = rng.choice(["0", "0", "0", "24", "12"])
    window = rng.randint(1, int(period)) if period != "0" else rng.randint(1, 60)
    definition = ReservationDefinition(arrival, arrival + window, requests(rng), interpreter, period)
    name, user = rng.choice(["new", "r0"]), rng.choice("uv")
    ends: list[Any] = []
    for at_once in (True, False):
        plan = plan_of(random.Random(seed + 1), patience, by_user)
        wanted = Wanted(name, 9, user if name not in plan.reservations else plan.reservations[name].user, definition)
        try:
            found = agent(left, at_once).update(plan, wanted, 1)
        except PlanningError as error:
            ends.append(str(error))
        else:
            steps = None if found is None else found.shape.steps if isinstance(found.shape, Cycle) else found.shape
            ends.append(steps)
    assert ends[0] == ends[1]


@settings(max_examples=examples(200), deadline=None)
@for_all(st.integers(0, 1 << 32), st.booleans())
def test_what_fits_in_columns_is_what_is_not_refused_for_want_of_room(seed: int, by_user: bool) -> None:
    rng = random.Random(seed)
    plan = plan_of(rng, 0, by_user)
    shape = drawn_once(rng)
    definition = ReservationDefinition(shape.earliest or 0, shape.latest or 1)
    name = rng.choice(["new", "r0"])
    wanted = Reservation(name, 9, rng.choice("uv"), definition, shape)
    first, last = wanted.span
    if first >= last:
        return
    room = plan.available(wanted.user, plan.reservations.get(name), first, last)
    fits = all(
        all(has >= wants for has, wants in zip(free, shape.at(time), strict=True) if wants)
        for one, other, free in room
        for time in range(one, other)
    )
    assert fits_in_columns(plan, wanted, plan.reservations.get(name), first, last) == fits


def test_ratios_are_the_same_floats_at_once_and_one_by_one() -> None:
    rng = random.Random(3)
    for precise in (True, False):
        calculator = AllTypes(3, [0, 1, 2], precise=precise)
        for largest in (1000, 1 << 40, 1 << 60):
            other = [rng.randrange(1, largest), rng.randrange(1, largest), rng.choice([0, 5])]
            values = [[rng.randrange(largest), rng.randrange(largest), rng.choice([0, 0, 3])] for _ in range(200)]
            assert calculator.ratios(np.array(values, dtype=np.int64), other) == [calculator.ratio(one, other) for one in values]


def test_the_default_agent_looks_at_once() -> None:
    (spread, _) = aligned().planners
    assert isinstance(spread.allocate, Aligned)
    assert spread.allocate.columns
