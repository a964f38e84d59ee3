"""What is free first, or last (worked examples of ``TestGreedyReservationAgent``)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import ask, counts, fixed, loaded, loads, plan_of, size
from treadle.core.model.reservations import Interpreter, ReservationDefinition
from treadle.core.rules.reservations.agents import Wanted, greedy
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.greedy import Greedy
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan
from treadle.core.rules.reservations.search import Search
from treadle.core.rules.reservations.sharing import CapacityOverTime

BASE = [(0, 2, 10), (2, 5, 20), (5, 7, 15), (7, 12, 5)]


def placed(plan: Plan, definition: ReservationDefinition, *, left: bool, number: int = 1) -> list[tuple[int, int]]:
    found = greedy(left=left).create(plan, Wanted(f"new{number}", number, "u", definition), 0)
    assert isinstance(found.shape, OverTime)
    return counts(found.shape)


@pytest.mark.parametrize(("left", "start"), [(True, 5), (False, 10)])
def test_a_gang_goes_to_the_first_or_the_last_place(left: bool, start: int) -> None:
    plan = plan_of()
    plan.restore(fixed(1, BASE))
    assert placed(plan, ask(5, 20, (10, 5, 10), each=size(2)), left=left) == [(start, 20), (start + 10, 0)]


@pytest.mark.parametrize(("left", "starts"), [(True, [5, 15]), (False, [90, 80])])
def test_the_quota_of_a_user_is_seen(left: bool, starts: list[int]) -> None:
    plan = plan_of(sharing=CapacityOverTime(0.4, 1.0, 1000))
    for number, start in enumerate(starts):
        asked = ask(5, 100, (20, 20, 10), each=size(2))
        assert placed(plan, asked, left=left, number=number) == [(start, 40), (start + 10, 0)]
    with pytest.raises(PlanningError):
        placed(plan, ask(5, 100, (45, 45, 10)), left=left, number=9)


@pytest.mark.parametrize(
    ("left", "wanted"),
    [
        (True, [(0, 20), (10, 10), (30, 0), (32, 20), (42, 10), (62, 0)]),
        (False, [(0, 20), (10, 10), (30, 0), (40, 20), (50, 10), (70, 0)]),
    ],
)
def test_a_chain_goes_around_a_block(left: bool, wanted: list[tuple[int, int]]) -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(30, 32, 100)]))
    asked = ask(0, 70, (20, 1, 10), (10, 10, 20), (20, 1, 10), (10, 10, 20), interpreter=Interpreter.ORDER)
    assert placed(plan, asked, left=left) == wanted


def test_a_chain_without_gaps_cannot_go_around_a_block() -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(30, 32, 100)]))
    asked = ask(0, 70, (20, 1, 10), (10, 10, 20), (20, 1, 10), (10, 10, 20), interpreter=Interpreter.ORDER_NO_GAP)
    with pytest.raises(PlanningError):
        placed(plan, asked, left=True)


def test_gangs_fill_the_window() -> None:
    assert placed(plan_of(), ask(100, 120, (200, 10, 10)), left=True) == [(100, 100), (120, 0)]


@pytest.mark.parametrize(("left", "wanted"), [(True, [(100, 5), (110, 0)]), (False, [(110, 20), (120, 0)])])
def test_of_alternatives_the_first_or_the_last_that_fits_is_taken(left: bool, wanted: list[tuple[int, int]]) -> None:
    asked = ask(100, 120, (5, 5, 10), (20, 10, 10), (110, 110, 10), interpreter=Interpreter.ANY)
    assert placed(plan_of(), asked, left=left) == wanted


def test_from_the_right_what_is_full_just_before_an_interval_stands_in_its_way() -> None:
    """As in Hadoop, whose search looks one step too far."""
    plan = plan_of()
    plan.restore(fixed(1, [(0, 10, 100)]))
    assert placed(plan, ask(0, 20, (1, 1, 10)), left=True) == [(10, 1), (20, 0)]
    plan = plan_of()
    plan.restore(fixed(1, [(0, 10, 100)]))
    with pytest.raises(PlanningError):
        placed(plan, ask(0, 20, (1, 1, 10)), left=False)


@given(loads, st.integers(0, 10), st.integers(1, 20), st.integers(1, 8), st.integers(1, 100))
def test_from_the_left_a_gang_finds_the_first_place_that_there_is(
    load: list[tuple[int, int, int]], arrival: int, window: int, duration: int, count: int
) -> None:
    plan = loaded(load)
    starts = range(arrival, arrival + window - duration + 1)
    naive = [one for one in starts if all(plan.committed(time)[1] + count <= 100 for time in range(one, one + duration))]
    try:
        assert placed(plan, ask(arrival, arrival + window, (count, count, duration)), left=True)[0] == (naive[0], count)
    except PlanningError:
        assert naive == []


@given(loads, st.integers(40, 60), st.integers(1, 3), st.integers(1, 6), st.integers(1, 40), st.booleans())
def test_looking_at_a_part_of_the_window_first_finds_the_same(
    load: list[tuple[int, int, int]], end: int, duration: int, gangs: int, gang: int, left: bool
) -> None:
    plan = plan_of()
    for number, (start, length, more) in enumerate(load):
        begins = start if left else end - start - length
        plan.restore(fixed(number, [(begins, begins + length, more)]))
    if any(value[1] > 100 for _, _, value in plan.load.segments(0, end)):
        return
    asked = ask(0, end, (gangs * gang, gang, duration))
    found = []
    for whole in (True, False):
        search, greed = Search(plan, "u", asked, None, OverTime(2)), Greedy(left)
        one = asked.requests[0]
        found.append(greed._within(search, one, 0, end, duration, whole=True) if whole else greed(search, one, 0, end))
    assert found[0] == found[1]
