"""Agents try one planner after the other, and put what they find into the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.reservations.plans import ask, fixed, loaded, loads, plan_of
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


several = st.tuples(
    st.integers(0, 19),
    st.integers(4, 9),
    st.integers(1, 60),
    st.integers(1, 4),
    st.sets(st.integers(1, 19), min_size=1, max_size=3),
)


@given(load=loads, wanted=st.lists(several, min_size=1, max_size=4), spread=st.booleans(), left=st.booleans())
def test_what_begins_several_times_in_a_period_has_its_place_each_time_and_nobody_is_promised_more_than_there_is(
    load: list[tuple[int, int, int]], wanted: list[tuple[int, int, int, int, set[int]]], spread: bool, left: bool
) -> None:
    plan, agent = loaded(load), aligned(left=left) if spread else greedy(left=left)
    for number, (arrival, window, count, duration, starts) in enumerate(wanted):
        definition = replace(
            ask(arrival, arrival + window, (count, 1, duration), recurrence=20), starts=(0, *sorted(starts)), apart=20
        )
        before = dict(plan.reservations)
        try:
            found = agent.create(plan, Wanted(f"s{number}", 100 + number, "u", definition), 7)
        except PlanningError:
            assert plan.reservations == before
            continue
        for base in range(0, 100, 20):
            for later in definition.starts:
                begun = arrival + base + later
                had = sum(found.shape.at(time)[1] for time in range(begun, begun + window))
                assert had >= count * duration
                assert found.active(begun)
                assert found in plan.overlapping(begun, begun)
    assert all(sum(one.at(time)[1] for one in plan.reservations.values()) <= 100 for time in range(200))


def test_a_place_that_is_taken_at_one_of_the_times_is_not_had_at_the_others() -> None:
    plan = plan_of()
    plan.restore(fixed(1, [(47, 50, 60)]))  # the window that begins 7 later, two periods on
    definition = replace(ask(0, 4, (50, 50, 1), recurrence=20), starts=(0, 7))
    found = greedy().create(plan, Wanted("s", 2, "u", definition), 0)
    assert [time for time in range(20) if found.shape.at(time)[1]] == [3, 10]


def test_an_update_is_placed_with_all_its_times_given_back() -> None:
    plan = plan_of()
    definition = replace(ask(0, 4, (80, 80, 4), recurrence=20), starts=(0, 3, 7))
    greedy().create(plan, Wanted("s", 2, "u", definition), 0)
    assert greedy().update(plan, Wanted("s", 2, "u", replace(definition, starts=(0, 2, 9))), 1) is not None
    assert [time for time in range(20) if plan.committed(time)[1]] == [*range(6), *range(9, 13)]
    plan.delete("s")
    assert plan.load.empty
