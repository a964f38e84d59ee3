"""The plan of a live queue: what its definition says, and places by what really is free."""

from __future__ import annotations

import pytest

from treadle.core.model.reservations import GREEDY, NO_OVERCOMMIT, PlanSpec, ReservationDefinition, ReservationRequest
from treadle.core.rules.reservations.agents import Wanted
from treadle.core.rules.reservations.errors import PlanningError
from treadle.core.rules.reservations.greedy import Greedy
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.plan import Plan
from treadle.core.rules.reservations.settings import STEP, agent_of, plan_of
from treadle.core.rules.reservations.sharing import CapacityOverTime, NoOvercommit

HOUR = 3_600_000
SOME = 10**15
"""More than anybody asks for."""


def live(cpu: int, memory: int, **said: object) -> Plan:
    capacity = (memory, cpu, SOME)
    return plan_of(PlanSpec(policy=NO_OVERCOMMIT, **said), capacity, capacity)


def request(cpu: int, memory: int, count: int, hours: float, concurrency: int = 1) -> ReservationRequest:
    return ReservationRequest((memory, cpu, 0), count, concurrency, round(hours * HOUR))


def planned(
    plan: Plan, *requests: ReservationRequest, end: float = 4, agent: str = GREEDY
) -> list[tuple[float, float, int, int]]:
    definition = ReservationDefinition(0, round(end * HOUR), requests)
    name = str(len(plan.reservations))
    found = agent_of(PlanSpec(agent=agent)).create(plan, Wanted(name, 0, "ann", definition), 0)
    assert isinstance(found.shape, OverTime)
    return [(start / HOUR, stop / HOUR, value[1], value[0]) for start, stop, value in found.shape.intervals() if any(value)]


def test_a_definition_says_who_may_have_how_much_and_who_finds_places() -> None:
    plan = plan_of(PlanSpec(at_once=0.5, average=0.25, window=HOUR, cycle=6 * HOUR), (1, 2, 3), (1, 1, 1))
    sharing = plan.settings.sharing
    assert isinstance(sharing, CapacityOverTime)
    assert (sharing.at_once, sharing.average, sharing.window) == (0.5, 0.25, HOUR)
    assert (plan.settings.cycle, plan.settings.step, plan.settings.most) == (6 * HOUR, STEP, (1, 1, 1))
    assert type(live(1, 1).settings.sharing) is NoOvercommit
    assert agent_of(PlanSpec(agent=GREEDY, early=False)).planners[0].allocate == Greedy(left=False)
    assert len(agent_of(PlanSpec()).planners) == 2


@pytest.mark.parametrize("agent", ["Greedy", "Aligned"])
def test_gangs_fit_by_every_type_where_hadoop_counts_them_by_the_largest_part(agent: str) -> None:
    plan = live(cpu=10, memory=100)
    assert planned(plan, request(cpu=1, memory=90, count=1, hours=1), end=1, agent=agent) == [(0, 1, 1, 90)]
    # nine cores are free and room for one more by memory: by the larger part nine would fit
    assert planned(plan, request(cpu=1, memory=10, count=2, hours=1), end=2, agent=agent)[-1][1] == 2


def test_what_a_request_was_given_is_not_given_to_it_again() -> None:
    plan = live(cpu=4, memory=SOME)
    planned(plan, request(cpu=2, memory=0, count=1, hours=0.5), end=0.5)
    # one at first; where the load ends there is room for one more, beside the one that goes on
    assert planned(plan, request(cpu=2, memory=0, count=3, hours=1)) == [(0, 0.5, 2, 0), (0.5, 1.5, 4, 0), (1.5, 2, 2, 0)]


def test_where_too_much_is_promised_nothing_is_free_and_other_times_can_be_planned() -> None:
    plan = live(cpu=4, memory=SOME)
    planned(plan, request(cpu=4, memory=0, count=1, hours=1), end=1)
    plan.capacity = (SOME, 2, SOME)
    assert planned(plan, request(cpu=2, memory=0, count=1, hours=1), end=4) == [(1, 2, 2, 0)]


def test_a_search_ends_when_patience_does() -> None:
    plan = live(cpu=1, memory=SOME)
    with pytest.raises(PlanningError, match="no place for them is found within 20000 looks"):
        planned(plan, request(cpu=1, memory=0, count=100_000, hours=1 / 3600), end=50)
