"""Cases of reservations: a plan, its agent, its sharing policy and its replanner answer operation by operation."""

from __future__ import annotations

from typing import Any

from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest
from treadle.core.rules.capacity.calculators import AllTypes, MemoryOnly
from treadle.core.rules.reservations.agents import Wanted, aligned, greedy
from treadle.core.rules.reservations.aligned import SMOOTHNESS
from treadle.core.rules.reservations.cycles import Cycle, Shape
from treadle.core.rules.reservations.errors import (
    ContractError,
    OvercommitError,
    PlanningError,
    QuotaError,
    UnknownReservation,
)
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import DAY, Plan, PlanSettings, Reservation
from treadle.core.rules.reservations.replanning import HOUR, replan
from treadle.core.rules.reservations.sharing import CapacityOverTime, NoOvercommit
from treadle.core.units.amounts import f32

UNDEFINED = (1 << 63) - 1
CLASSES = {
    ContractError: "ContractValidationException",
    OvercommitError: "ResourceOverCommitException",
    QuotaError: "PlanningQuotaException",
    PlanningError: "PlanningException",
    UnknownReservation: "IllegalArgumentException",
}


def built(case: dict[str, Any]) -> bool:
    return case.get("kind") == "reservation"


def answer(case: dict[str, Any]) -> dict[str, Any]:
    played = Played(case)
    operations = [played.play(operation) for operation in case["ops"]]
    return {
        "ops": operations,
        "reservations": sorted(int(name) for name in played.plan.reservations),
        "committed": played.committed(),
    }


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without the marks that some of Hadoop's functions have where they are not defined."""
    operations = []
    for one in found["ops"]:
        cleaned = dict(one)
        for name in {"over_time", "available"} & set(one):
            cleaned[name] = [point for point in one[name] if point[0] != UNDEFINED and point[1] is not None]
        operations.append(cleaned)
    return found | {"ops": operations}


def classes_of(error: BaseException) -> str:
    """Return Hadoop's exception and its causes: of a promise that is too large the cause is that the difference is below zero."""
    name = next(name for kind, name in CLASSES.items() if type(error) is kind)
    if error.__cause__ is not None:
        return f"{name}/{classes_of(error.__cause__)}"
    return f"{name}/PlanningException" if isinstance(error, OvercommitError | QuotaError) else name


def calculator_of(given: str) -> MemoryOnly | AllTypes:
    return (AllTypes if given == "dominant" else MemoryOnly)(2, (0, 1))


def definition_of(given: dict[str, Any], arrival: int, deadline: int) -> ReservationDefinition:
    return ReservationDefinition(
        arrival,
        deadline,
        [
            ReservationRequest(one["res"], one.get("count", 1), one.get("concurrency", 1), one.get("duration", 1))
            for one in given.get("requests") or ()
        ],
        Interpreter[given.get("type", "ALL")],
        given.get("recurrence", "0"),
    )


class Played:
    """A plan of a case, and its clock."""

    def __init__(self, case: dict[str, Any]) -> None:
        given = case["plan"]
        conf = given.get("conf", {})
        self.now = given.get("now", 0)
        self.step = given.get("step", 1000)
        self.horizon = 0
        self.enforced = conf.get("reservation-enforcement-window", HOUR)
        sharing = NoOvercommit()
        if given.get("policy") == "over_time":
            parts = [f32(f32(conf.get(name, 100)) / 100) for name in ("instantaneous-max-capacity", "average-capacity")]
            sharing = CapacityOverTime(parts[0], parts[1], conf.get("reservation-window", DAY))
        calculator = calculator_of(given.get("calculator", "default"))
        settings = PlanSettings(self.step, given["max_alloc"], calculator, sharing, given.get("max_periodicity", DAY))
        self.plan = Plan(given["capacity"], settings)
        left = given.get("left", True)
        by_cost = given.get("agent", "greedy") != "greedy"
        self.agent = aligned(left=left, smoothness=given.get("smoothness", SMOOTHNESS)) if by_cost else greedy(left=left)

    def play(self, step: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any]
        try:
            found = getattr(self, "_" + step["op"])(step)
        except (PlanningError, UnknownReservation) as error:
            found = {"error": classes_of(error)}
        one = self.plan.reservations.get(str(step.get("id")))
        if one is not None:
            found |= {"start": one.start, "end": one.end, "over_time": points(one.shape)}
        return found

    def committed(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        last = None
        for time in range(0, min(self.horizon + self.step, 4000 * self.step - 1) + 1, self.step):
            value = list(self.plan.committed(time))
            if value != last:
                found[str(time)] = value
            last = value
        return found

    def _wanted(self, step: dict[str, Any]) -> Wanted:
        self.horizon = max(self.horizon, step["deadline"])
        definition = definition_of(step, step["arrival"], step["deadline"])
        return Wanted(str(step["id"]), step["id"], step.get("user", "u"), definition)

    def _fixed(self, step: dict[str, Any]) -> dict[str, Any]:
        start = min(one[0] for one in step["intervals"])
        end = max(one[1] for one in step["intervals"])
        definition = definition_of(step, start, end)
        shape: Shape = Cycle(2, definition.period) if definition.period else OverTime(2)
        for one in step["intervals"]:
            shape.add(*one)
        self.plan.add(Reservation(str(step["id"]), step["id"], step.get("user", "u"), definition, shape), self.now)
        self.horizon = max(self.horizon, end)
        return {"ok": True}

    def _create(self, step: dict[str, Any]) -> dict[str, Any]:
        self.agent.create(self.plan, self._wanted(step), self.now)
        return {"ok": True}

    def _update(self, step: dict[str, Any]) -> dict[str, Any]:
        return {"ok": self.agent.update(self.plan, self._wanted(step), self.now) is not None}

    def _delete(self, step: dict[str, Any]) -> dict[str, Any]:
        self.plan.delete(str(step["id"]))
        return {"ok": True}

    def _archive(self, step: dict[str, Any]) -> dict[str, Any]:
        self.plan.archive(step["at"])
        return {}

    def _capacity(self, step: dict[str, Any]) -> dict[str, Any]:
        self.plan.capacity = tuple(step["res"])
        return {}

    def _tick(self, step: dict[str, Any]) -> dict[str, Any]:
        self.now += step["ms"]
        return {}

    def _replan(self, _step: dict[str, Any]) -> dict[str, Any]:
        replan(self.plan, self.now, self.enforced)
        return {}

    def _available(self, step: dict[str, Any]) -> dict[str, Any]:
        found = self.plan.available(step.get("user", "u"), None, step["start"], step["end"], step.get("period", 0))
        return {"available": [*([start, list(value)] for start, _, value in found), [step["end"], None]]}


def points(shape: Shape) -> list[list[Any]]:
    steps = shape.steps if isinstance(shape, Cycle) else shape
    return [[time, list(value)] for time, value in zip(steps.times, steps.values, strict=True)]
