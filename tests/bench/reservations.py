"""Reservations: what one more costs in a plan with 10,000 of them over a year, of which 500 come again each day or hour.

Each kind is asked for twenty times at random times, and taken out again; times are in ms. A window is from arrival to deadline.
"""

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest
from treadle.core.rules.capacity.calculators import AllTypes
from treadle.core.rules.reservations.agents import Agent, Wanted, aligned, greedy
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan, PlanSettings, Reservation
from treadle.core.rules.reservations.sharing import CapacityOverTime

MINUTE = 60_000
HOUR, DAY = 60 * MINUTE, 24 * 60 * MINUTE
YEAR = 365 * DAY
RESERVATIONS, PERIODIC, USERS, ASKED = 10_000, 500, 50, 20
CAPACITY = (10_000 << 30, 10_000_000)
ONE = (1 << 30, 1_000)


def filled() -> tuple[Plan, float]:
    """A plan with all reservations, and how many seconds adding them took."""
    rng = random.Random(1)
    sharing = CapacityOverTime(0.8, 0.5, DAY)
    plan = Plan(CAPACITY, PlanSettings(MINUTE, [256 << 30, 64_000], AllTypes(2, (0, 1), precise=True), sharing, DAY, exact=True))
    began = time.perf_counter()
    for number in range(RESERVATIONS):
        start = rng.randrange(YEAR // MINUTE) * MINUTE
        amount = [value * rng.randint(1, 40) for value in ONE]
        length = rng.randint(1, 48) * 30 * MINUTE
        if number < PERIODIC:
            definition = ReservationDefinition(start, start + 20 * MINUTE, recurrence=str(rng.choice([HOUR, 6 * HOUR, DAY])))
            wanted = Wanted(f"r{number}", number, f"u{number % USERS}", ask(definition, 5, 10 * MINUTE))
            greedy().create(plan, wanted, number)
        else:
            shape = OverTime(
                2, [(start, start + length, amount), (start + length, start + 2 * length, [value // 2 for value in amount])]
            )
            definition = ReservationDefinition(start, start + 2 * length)
            plan.restore(Reservation(f"r{number}", number, f"u{number % USERS}", definition, shape, number))
    return plan, time.perf_counter() - began


def ask(definition: ReservationDefinition, count: int, duration: int, stages: int = 1) -> ReservationDefinition:
    requests = [ReservationRequest(ONE, count, 1, duration)] * stages
    interpreter = Interpreter.ORDER if stages > 1 else Interpreter.ALL
    return ReservationDefinition(definition.arrival, definition.deadline, requests, interpreter, definition.recurrence)


def timed(plan: Plan, agent: Agent, make: Callable[[int], ReservationDefinition]) -> dict[str, float]:
    """Ask for reservations one by one, in ms each."""
    rng, took, refused = random.Random(2), [], 0
    for number in range(ASKED):
        wanted = Wanted("new", RESERVATIONS + number, f"u{number % USERS}", make(rng.randrange(YEAR // MINUTE) * MINUTE))
        began = time.perf_counter()
        try:
            agent.create(plan, wanted, RESERVATIONS)
        except PlanningError:
            refused += 1
        took.append((time.perf_counter() - began) * 1000)
        if "new" in plan.reservations:
            plan.delete("new")
    return {"median": round(statistics.median(took), 2), "most": round(max(took), 2), "refused": refused}


def measure() -> dict[str, Any]:
    plan, seconds = filled()
    found: dict[str, Any] = {"benchmark": "reservations", "reservations": RESERVATIONS, "filling_s": round(seconds, 2)}
    found["breakpoints"] = len(plan.load.once.times)
    for name, agent in (("greedy", greedy()), ("aligned", aligned())):
        for window, length in (("6 h", 6 * HOUR), ("day", DAY), ("week", 7 * DAY)):
            found[f"{name}, 1 h within a {window}"] = timed(
                plan, agent, lambda at, length=length: ask(ReservationDefinition(at, at + length), 100, HOUR)
            )
        found[f"{name}, four stages within a day"] = timed(
            plan, agent, lambda at: ask(ReservationDefinition(at, at + DAY), 100, HOUR, 4)
        )
        if name == "greedy":
            found["greedy, 1 h within a year"] = timed(plan, agent, lambda _: ask(ReservationDefinition(0, YEAR), 100, HOUR))
        found[f"{name}, 10 min of each hour"] = timed(
            plan, agent, lambda at: ask(ReservationDefinition(at, at + 30 * MINUTE, recurrence=str(HOUR)), 10, 10 * MINUTE)
        )
    return found


if __name__ == "__main__":
    print(measure())
