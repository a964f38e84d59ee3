"""Who has to go when a plan has less than it promised (worked example of ``TestSimpleCapacityReplanner``)."""

from __future__ import annotations

from core.rules.reservations.plans import fixed, plan_of, size
from treadle.core.model.reservations import ReservationDefinition
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.plan import Reservation
from treadle.core.rules.reservations.replanning import replan


def test_the_newest_go_until_the_rest_fits_within_the_window() -> None:
    plan = plan_of()
    for number in range(1, 6):
        plan.add(fixed(number, [(0, 5, 20)]), number)
    plan.add(fixed(6, [(10, 15, 50)]), 6)
    plan.add(fixed(7, [(10, 15, 50)]), 7)
    plan.capacity = size(70)
    assert replan(plan, 0, 6) == ["r5", "r4"]
    assert list(plan.reservations) == ["r1", "r2", "r3", "r6", "r7"]
    assert replan(plan, 10, 6) == ["r7"]


def test_what_recurs_counts_in_every_period() -> None:
    plan, shape = plan_of(), Cycle(2, 20)
    shape.add(0, 5, size(80))
    plan.add(Reservation("p", 1, "u", ReservationDefinition(0, 5, recurrence="20"), shape), 1)
    plan.capacity = size(70)
    assert replan(plan, 35, 3) == []
    assert replan(plan, 35, 6) == ["p"]
