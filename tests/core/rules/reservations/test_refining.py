"""A place is made better by moving gangs to where they cost least: never a worse one, never one that breaks what was asked for."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.model.reservations import Interpreter, PlanSpec, ReservationDefinition, ReservationRequest
from treadle.core.rules.reservations.agents import Wanted, aligned, place
from treadle.core.rules.reservations.aligned import Aligned
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan
from treadle.core.rules.reservations.planner import Planner
from treadle.core.rules.reservations.settings import plan_of
from treadle.core.rules.reservations.stages import by_demand

HOUR = 3_600_000
LENGTH = 12
SPREAD = Planner(by_demand, Aligned(), refine=True)


def plan(*taken: tuple[int, int, int, int], **spec: Any) -> Plan:
    """A plan of 100 and 100, of which so much is taken from hour to hour."""
    found = plan_of(PlanSpec(**{"policy": "NoOverCommit", **spec}), (100, 100, 0), (100, 100, 0))
    for number, (start, hours, one, two) in enumerate(taken):
        request = ReservationRequest((one, two, 0), 1, 1, hours * HOUR)
        definition = ReservationDefinition(start * HOUR, (start + hours) * HOUR, (request,))
        with suppress(PlanningError):  # there is no room for more
            aligned().create(found, Wanted(f"taken{number}", number, "u", definition), 0)
    return found


def request(one: int, two: int, count: int, hours: int, concurrency: int = 1) -> ReservationRequest:
    return ReservationRequest((one, two, 0), count, concurrency, hours * HOUR)


def wants(
    *requests: ReservationRequest, how: Interpreter = Interpreter.ALL, start: int = 0, end: int = LENGTH
) -> ReservationDefinition:
    return ReservationDefinition(start * HOUR, end * HOUR, requests, how)


def both(on: Plan, definition: ReservationDefinition) -> list[OverTime]:
    return SPREAD.both(on, "mine", "u", definition)


def hours(found: OverTime) -> list[tuple[float, float, int]]:
    return [(start / HOUR, end / HOUR, value[0]) for start, end, value in found.intervals() if any(value)]


def cost(on: Plan, found: OverTime) -> float:
    total = 0.0
    for start in range(0, 2 * LENGTH * HOUR, HOUR // 4):
        had, mine = on.committed(start), found.at(start)
        total += max((had[0] + mine[0]) / 100, (had[1] + mine[1]) / 100) ** 2
    return total


def test_a_gang_may_begin_at_any_time_and_not_only_after_whole_durations() -> None:
    on = plan((0, 1, 50, 50), (4, 1, 50, 50), (7, 2, 50, 50))
    definition = wants(request(10, 10, 1, 3), end=9)
    better, found = both(on, definition)
    assert hours(found)[0][0] in {0, 3, 6}
    assert hours(better) == [(1, 4, 10)]


def test_of_equal_places_the_one_that_was_found_stays() -> None:
    assert len(both(plan(), wants(request(10, 10, 1, 3)))) == 1


def test_requests_are_placed_beside_each_other_and_not_one_after_the_other() -> None:
    on = plan((0, 4, 60, 60), (8, 4, 60, 60))
    definition = wants(request(5, 5, 2, 4), request(30, 30, 1, 4))
    places = both(on, definition)
    assert cost(on, places[0]) <= cost(on, places[-1])


def test_a_block_without_gaps_is_moved_as_a_whole() -> None:
    on = plan((0, 3, 40, 40), (8, 4, 40, 40))
    definition = wants(request(20, 20, 1, 2), request(10, 10, 1, 3), how=Interpreter.ORDER_NO_GAP)
    better = both(on, definition)[0]
    assert hours(better) == [(3, 5, 20), (5, 8, 10)]


def test_what_comes_again_and_plans_as_hadoops_are_left_as_they_are() -> None:
    on = plan((0, 1, 50, 50))
    again = ReservationDefinition(0, 9 * HOUR, (request(10, 10, 1, 3),), recurrence=str(24 * HOUR))
    assert len(SPREAD.both(on, "mine", "u", again)) == 1
    assert len(Planner(by_demand, Aligned()).both(on, "mine", "u", wants(request(10, 10, 1, 3)))) == 1


def test_a_better_place_that_the_policy_does_not_allow_is_not_taken() -> None:
    on = plan(policy="CapacityOverTime", average=0.1, window=4 * HOUR)
    busy = ReservationDefinition(0, 4 * HOUR, (request(30, 30, 1, 1),))
    aligned().create(on, Wanted("other", 0, "v", busy), 0)
    got = aligned().create(on, Wanted("mine", 1, "u", wants(request(10, 10, 4, 1), end=8)), 0)
    assert got.name in on.reservations


amounts = st.integers(0, 30)
taken = st.lists(st.tuples(st.integers(0, LENGTH - 1), st.integers(1, 4), amounts, amounts), max_size=6)
requests = st.lists(
    st.builds(
        lambda one, two, gangs, size, length: request(one, two, gangs * size, length, size),
        st.integers(1, 8),
        st.integers(0, 8),
        st.integers(1, 5),
        st.sampled_from([1, 2]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("how", list(Interpreter))
@given(taken=taken, asked=requests, start=st.integers(0, 4), length=st.integers(3, LENGTH))
def test_a_better_place_costs_less_fits_and_has_what_was_asked_for(
    how: Interpreter, taken: list[tuple[int, int, int, int]], asked: list[ReservationRequest], start: int, length: int
) -> None:
    on = plan(*[one for one in taken if any(one[2:])])
    definition = wants(*asked, how=how, start=start, end=start + length)
    try:
        places = both(on, definition)
    except PlanningError:
        return
    found = places[-1]
    for better in places[:-1]:
        assert cost(on, better) < cost(on, found)
        work = [
            [sum(value[at] * (until - begun) for begun, until, value in one.intervals()) for at in range(2)] for one in places
        ]
        assert work[0] == work[-1]
        assert better.earliest is not None
        assert better.latest is not None
        assert start * HOUR <= better.earliest
        assert better.latest <= (start + length) * HOUR
        for time in range(0, 2 * LENGTH * HOUR, HOUR // 4):
            assert max(on.committed(time)[at] + better.at(time)[at] for at in range(2)) <= 100
        if how is Interpreter.ORDER_NO_GAP:
            by = better.earliest - (found.earliest or 0)
            assert better == found.shifted(by)
        aligned().create(on, Wanted("mine", 99, "u", definition), 0)


@given(taken=taken, asked=requests)
def test_with_an_order_each_request_begins_when_the_one_before_has_ended(
    taken: list[tuple[int, int, int, int]], asked: list[ReservationRequest]
) -> None:
    """Told apart by a type of their own."""
    on = plan_of(PlanSpec(policy="NoOverCommit"), (100, 100, 100, 100), (100, 100, 100, 100))
    own = [
        ReservationRequest((one.demand[0] if at == 0 else 0, one.demand[0] if at == 1 else 0, 0, one.demand[0] if at == 2 else 0),
                           one.count, one.concurrency, one.duration)
        for at, one in enumerate(asked)
    ]  # fmt: skip
    for number, (start, hour, one, _) in enumerate(taken):
        if one:
            busy = ReservationDefinition(
                start * HOUR, (start + hour) * HOUR, (ReservationRequest((one,) * 4, 1, 1, hour * HOUR),)
            )
            with suppress(PlanningError):
                aligned().create(on, Wanted(f"t{number}", number, "u", busy), 0)
    definition = ReservationDefinition(0, 2 * LENGTH * HOUR, tuple(own), Interpreter.ORDER)
    try:
        better = SPREAD.both(on, "mine", "u", definition)[0]
    except PlanningError:
        return
    kinds = [0, 1, 3][: len(own)]
    spans = [[(start, end) for start, end, value in better.intervals() if value[kind]] for kind in kinds]
    for before, after in pairwise(spans):
        assert max(end for _, end in before) <= min(start for start, _ in after)


def test_place_is_what_was_found_first() -> None:
    on = plan((0, 1, 50, 50), (4, 1, 50, 50), (7, 2, 50, 50))
    definition = wants(request(10, 10, 1, 3), end=9)
    assert place(SPREAD, on, Wanted("mine", 0, "u", definition)).shape == both(on, definition)[-1]
