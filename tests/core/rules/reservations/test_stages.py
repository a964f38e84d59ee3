"""Between when each of several requests may be placed."""

from __future__ import annotations

from core.rules.reservations.plans import ask, size
from treadle.core.model.reservations import Interpreter
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.stages import by_demand, down, up, whole_window

CHAIN = ask(0, 100, (10, 1, 10), (30, 1, 10), interpreter=Interpreter.ORDER)
NOTHING = OverTime(2)


def test_times_are_rounded_to_steps() -> None:
    assert [up(time, 10) for time in (0, 1, 10, 11)] == [0, 10, 10, 20]
    assert [down(time, 10) for time in (0, 9, 10, 19)] == [0, 0, 10, 10]


def test_the_whole_window_is_what_is_left_of_it() -> None:
    placed = OverTime(2, [(20, 30, size(1))])
    assert whole_window(CHAIN, 1, placed, 1, left=True) == (30, 100)
    assert whole_window(CHAIN, 0, placed, 1, left=False) == (0, 20)
    assert whole_window(ask(0, 100, (1, 1, 1)), 0, placed, 1, left=True) == (0, 100)


def test_by_demand_each_gets_its_duration_and_a_part_of_the_rest() -> None:
    assert by_demand(CHAIN, 0, NOTHING, 1, left=True) == (0, 10 + 80 // 4)
    assert by_demand(CHAIN, 1, NOTHING, 1, left=False) == (100 - 10 - 60, 100)
    assert by_demand(CHAIN, 1, OverTime(2, [(0, 10, size(1))]), 1, left=True) == (10, 100)


def test_requests_in_no_order_have_the_whole_window() -> None:
    assert by_demand(ask(0, 100, (10, 1, 10), (30, 1, 10)), 0, NOTHING, 1, left=True) == (0, 100)
