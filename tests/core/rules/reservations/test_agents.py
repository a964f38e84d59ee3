"""Agents try one planner after the other, and put what they find into the plan."""

from __future__ import annotations

import pytest

from core.rules.reservations.plans import ask, fixed, plan_of
from treadle.core.rules.reservations.agents import Wanted, aligned, greedy
from treadle.core.rules.reservations.cycles import Cycle
from treadle.core.rules.reservations.errors import PlanningError, UnknownReservation


def test_what_recurs_is_kept_as_a_cycle() -> None:
    plan = plan_of()
    found = greedy().create(plan, Wanted("r", 1, "u", ask(25, 35, (10, 1, 5), recurrence=20)), 7)
    assert isinstance(found.shape, Cycle)
    assert (found.period, found.accepted) == (20, 7)
    assert [plan.committed(time)[1] for time in (24, 25, 29, 30, 45, 105)] == [0, 10, 10, 0, 10, 10]


def test_what_does_not_fit_beside_what_recurs_is_refused() -> None:
    plan = plan_of()
    greedy().create(plan, Wanted("r", 1, "u", ask(0, 20, (60, 60, 20), recurrence=20)), 0)
    with pytest.raises(PlanningError):
        aligned().create(plan, Wanted("s", 2, "u", ask(1000, 1010, (50, 50, 5))), 0)
    assert list(plan.reservations) == ["r"]


def test_the_old_one_stays_where_an_update_finds_no_place() -> None:
    plan = plan_of()
    plan.add(fixed(1, [(0, 5, 10)]), 0)
    with pytest.raises(PlanningError):
        greedy().update(plan, Wanted("r1", 1, "u", ask(0, 5, (101, 101, 5))), 1)
    assert plan.committed(0)[1] == 10


def test_a_name_is_created_once() -> None:
    plan = plan_of()
    plan.add(fixed(1, [(0, 5, 10)]), 0)
    with pytest.raises(UnknownReservation):
        aligned().create(plan, Wanted("r1", 1, "u", ask(0, 5, (1, 1, 5))), 1)


def test_an_update_of_an_unknown_one_creates_it() -> None:
    plan = plan_of()
    assert greedy().update(plan, Wanted("r", 1, "u", ask(0, 5, (1, 1, 5))), 1) is plan.reservations["r"]
