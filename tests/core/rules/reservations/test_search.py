"""How many gangs some room is enough for, and what was placed can be given back."""

from __future__ import annotations

from core.rules.reservations.plans import ask, plan_of, size
from treadle.core.rules.reservations.over_time import OverTime
from treadle.core.rules.reservations.search import MANY, Search


def search() -> Search:
    return Search(plan_of(), "u", ask(0, 10, (1, 1, 1)), None, OverTime(2))


def test_gangs_are_whole() -> None:
    assert search().gangs(size(19), size(5)) == 3
    assert search().gangs(size(4), size(5)) == 0
    assert search().gangs((0, 0), (0, 0)) == 0
    assert search().gangs(size(1), (0, 0)) == MANY


def test_what_was_placed_is_given_back() -> None:
    found = search()
    found.placed.add(0, 5, size(3))
    found.give_back([(0, 5, size(3))])
    assert found.placed.empty
    assert found.room(0, 10) == [(0, 10, size(100))]
