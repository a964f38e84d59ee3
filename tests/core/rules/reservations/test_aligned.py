"""Requests are spread over what costs least (worked examples of ``TestAlignedPlanner``)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import ask, counts, fixed, loaded, loads, plan_of, size
from treadle.core.model.reservations import Interpreter, ReservationDefinition
from treadle.core.rules.reservations.agents import Wanted, aligned
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan


def placed(plan: Plan, definition: ReservationDefinition, *, left: bool = True) -> list[tuple[int, int]]:
    found = aligned(left=left).create(plan, Wanted("new", 1, "u", definition), 0)
    assert isinstance(found.shape, OverTime)
    return counts(found.shape)


def test_a_gang_goes_to_the_right_end() -> None:
    assert placed(plan_of(), ask(5, 20, (10, 5, 10), each=size(2)), left=False) == [(10, 20), (20, 0)]


def test_two_stages_share_the_window() -> None:
    asked = ask(10, 35, (20, 20, 10), (20, 20, 10), interpreter=Interpreter.ORDER)
    assert placed(plan_of(), asked) == [(10, 20), (30, 0)]


def test_more_goes_where_less_is() -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(10, 11, 70), (11, 12, 80), (12, 13, 60)]))
    assert placed(plan, ask(10, 13, (80, 10, 1)), left=False) == [(10, 20), (12, 40), (13, 0)]


def test_an_update_keeps_the_shape() -> None:
    plan, asked = plan_of(), ask(10, 14, (100, 1, 2))
    assert placed(plan, asked) == [(10, 50), (14, 0)]
    found = aligned().update(plan, Wanted("new", 1, "u", asked), 1)
    assert found is not None
    assert counts(plan.load.once) == [(10, 50), (14, 0)]


def test_what_costs_nothing_is_taken() -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(10, 11, 13)]))
    assert placed(plan, ask(10, 12, (1, 1, 1)), left=False) == [(11, 1), (12, 0)]


def test_where_the_aligned_planner_finds_no_place_the_greedy_one_may() -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(0, 3, 100), (13, 16, 100)]))
    assert placed(plan, ask(0, 16, (10, 10, 10))) == [(3, 10), (13, 0)]


@given(loads, st.integers(0, 10), st.integers(1, 20), st.integers(1, 8), st.integers(1, 40), st.integers(1, 4), st.booleans())
def test_all_is_placed_within_the_window_and_never_over_what_there_is(
    load: list[tuple[int, int, int]], arrival: int, window: int, duration: int, gangs: int, gang: int, left: bool
) -> None:
    plan = loaded(load)
    starts = range(arrival, arrival + window - duration + 1)
    whole = gangs * gang
    naive = [one for one in starts if all(plan.committed(time)[1] + whole <= 100 for time in range(one, one + duration))]
    try:
        found = aligned(left=left).create(
            plan, Wanted("new", 99, "u", ask(arrival, arrival + window, (whole, gang, duration))), 0
        )
    except PlanningError:
        assert not (naive and left and gangs == 1)
        return
    assert isinstance(found.shape, OverTime)
    assert sum((end - start) * value[1] for start, end, value in found.shape.intervals()) == whole * duration
    assert found.shape.earliest is not None
    assert found.shape.latest is not None
    assert arrival <= found.shape.earliest < found.shape.latest <= arrival + window
    assert all(plan.committed(time)[1] <= 100 for time in range(40))


@pytest.mark.parametrize("interpreter", [Interpreter.ORDER, Interpreter.ORDER_NO_GAP, Interpreter.ANY, Interpreter.ALL])
def test_what_is_too_large_is_refused(interpreter: Interpreter) -> None:
    with pytest.raises(PlanningError):
        placed(plan_of(), ask(10, 15, (120, 120, 3), (130, 130, 3), interpreter=interpreter))
