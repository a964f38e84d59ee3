"""Requests of a reservation are placed one after the other (``IterativePlanner``): between when is a stage's interval, and how is an allocator's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.core.model.reservations import Interpreter
from treadle.core.rules.reservations.errors import ContractError, Lack, PlanningError
from treadle.core.rules.reservations.over_time import OverTime, Segment
from treadle.core.rules.reservations.refining import refined
from treadle.core.rules.reservations.search import Search

if TYPE_CHECKING:
    from treadle.core.model.reservations import ReservationDefinition, ReservationRequest
    from treadle.core.rules.reservations.plan import Plan
    from treadle.core.rules.reservations.search import StageAllocator
    from treadle.core.rules.reservations.stages import Stages


@dataclass(frozen=True, slots=True)
class Planner:
    """Places requests from the first on, or from the last one back where it is not ``left``; so does the allocator."""

    stages: Stages
    allocate: StageAllocator
    left: bool = True
    refine: bool = False
    """Whether a place that was found in an exact plan is made better, of what does not come again."""

    def find(self, plan: Plan, name: str, user: str, definition: ReservationDefinition) -> OverTime:
        """Return what a reservation gets, in place of the one of its name. Raises ``ContractError`` for what contradicts itself, else ``PlanningError``."""
        return self.both(plan, name, user, definition)[-1]

    def both(self, plan: Plan, name: str, user: str, definition: ReservationDefinition) -> list[OverTime]:
        """Return the same, and before it a better place where one is looked for and found, which the policy may not allow."""
        step, width = plan.settings.step, len(plan.capacity)
        old = plan.reservations.get(name)
        search = Search(plan, user, definition, old, OverTime(width))
        requests = list(enumerate(definition.requests))
        found = OverTime(width)
        taken: list[tuple[ReservationRequest, list[Segment]]] = []
        for number, request in requests if self.left else reversed(requests):
            check(plan, number, request)
            start, end = self.stages(definition, number, found, step, left=self.left)
            given = self.allocate(search, request, start, end)
            if given is None:
                if definition.interpreter is Interpreter.ANY:
                    continue
                raise PlanningError(f"requests[{number}]: no place for it is found from {start} to {end}", Lack(start, end))
            if definition.interpreter is Interpreter.ORDER_NO_GAP and not follows(found, given, left=self.left):
                words = f"requests[{number}]: no place is found that is one block without a gap to the next request"
                raise PlanningError(words, Lack(start, end))
            taken.append((request, given))
            for segment in given:
                found.add(*segment)
            if definition.interpreter is Interpreter.ANY:
                break
        if found.empty:
            raise PlanningError("requests: no place for any of them is found", Lack(definition.arrival, definition.deadline))
        if not self.refine or not plan.settings.exact or definition.period:
            return [found]
        better = refined(search, taken if self.left else taken[::-1])
        return [found] if better is None else [better, found]


def follows(found: OverTime, given: Sequence[Segment], *, left: bool) -> bool:
    """Whether what a request was given is one block, and begins where the others have ended, or ends where they begin."""
    blocks = [segment for segment in given if any(segment[2])]
    if not blocks:
        return True  # what asks for nothing needs no place
    if left and found.latest is not None and found.latest < min(start for start, _, _ in blocks):
        return False
    if not left and found.earliest is not None and max(end for _, end, _ in blocks) < found.earliest:
        return False
    ends: set[int] = set()
    for start, end, _ in blocks:
        ends ^= {start}
        ends ^= {end}
    return len(ends) == 2


def check(plan: Plan, number: int, request: ReservationRequest) -> None:
    """Raise ``ContractError`` if a request contradicts itself or asks for a container that is too large."""
    where = f"requests[{number}]"
    if request.concurrency < 1:
        raise ContractError(f"{where}.concurrency: {request.concurrency} is less than 1")
    if request.count <= 0:
        raise ContractError(f"{where}.count: {request.count} is less than 1")
    if request.count % request.concurrency:
        raise ContractError(f"{where}.count: {request.count} is no multiple of concurrency, which is {request.concurrency}")
    if request.duration < 1:
        raise ContractError(f"{where}.duration: {request.duration} ms is less than 1 ms")
    most = plan.settings.most
    if plan.settings.calculator.more(plan.capacity, request.demand, most):
        raise ContractError(f"{where}.demand: {tuple(request.demand)} is more than the largest container, which is {tuple(most)}")
