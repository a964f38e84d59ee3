"""What rules demand of a place, as far as it is known where else pods go."""

from __future__ import annotations

import pytest

from treadle.core.rules.constraints.formulas import HOLDS, NEVER, Counted, Described, Every, Some, TooLarge, demands, may_hold

NODE, RACK = 0, 1
TAGGED, OTHERS = 0, 1


def asked(formula, here=None, says=True, own=0):
    return demands(formula, lambda count: (here or {}).get(count, 0), lambda _: says, lambda _: own)


def test_what_is_about_the_node_is_decided() -> None:
    assert asked(Counted(TAGGED, NODE, most=0)) == HOLDS
    assert asked(Counted(TAGGED, NODE, most=0), {TAGGED: 1}) == NEVER
    assert asked(Counted(TAGGED, NODE, least=1)) == NEVER
    assert asked(Counted(TAGGED, NODE, least=1), {TAGGED: 1}) == HOLDS
    assert asked(Described(0), says=False) == NEVER


def test_what_is_about_a_rack_is_left_open() -> None:
    assert asked(Counted(TAGGED, RACK, least=1)) == {frozenset({Counted(TAGGED, RACK, 1)})}


def test_a_pod_that_is_counted_itself_demands_one_more() -> None:
    assert asked(Counted(TAGGED, RACK, 1, 2), own=1) == {frozenset({Counted(TAGGED, RACK, 2, 3)})}
    assert asked(Counted(TAGGED, RACK, most=0), own=1) == {frozenset({Counted(TAGGED, RACK, 0, 1)})}


def test_a_count_without_bounds_demands_nothing() -> None:
    assert asked(Counted(TAGGED, RACK)) == HOLDS


def test_alternatives_that_demand_more_than_another_one_are_left_out() -> None:
    near, far = Counted(TAGGED, RACK, 1), Counted(OTHERS, RACK, most=0)

    assert asked(Some((near, Every((near, far))))) == {frozenset({near})}
    assert asked(Some((near, Described(0)))) == HOLDS
    assert asked(Every((Some((near, far)), far))) == {frozenset({far})}


def test_more_alternatives_than_can_be_looked_at_are_too_large() -> None:
    choice = Some(tuple(Counted(number, RACK, 1) for number in range(9)))
    other = Some(tuple(Counted(number, RACK, 1) for number in range(10, 19)))
    with pytest.raises(TooLarge, match="alternatives"):
        asked(Every((choice, other)))


def test_a_formula_may_hold_unless_there_are_too_many_already() -> None:
    assert may_hold(Counted(TAGGED, NODE, least=3), lambda _: 0)
    assert not may_hold(Counted(TAGGED, RACK, most=1), lambda _: 2)
    assert may_hold(Counted(TAGGED, RACK, most=1), lambda _: 2, {RACK})
    assert may_hold(Some((Counted(TAGGED, RACK, most=1), Described(0))), lambda _: 2)
    assert not may_hold(Every((Counted(TAGGED, RACK, most=1), Described(0))), lambda _: 2)
