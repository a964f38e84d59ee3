"""What is given away is the same in columns as step by step, whatever was added and taken."""

from __future__ import annotations

import random
from typing import Any

import pytest

from core.rules.reservations.plans import drawn_cycle, drawn_once
from treadle.core.rules.reservations.columns import columns
from treadle.core.rules.reservations.cycles import Cycle, Load
from treadle.core.rules.reservations.loads import given, shaped
from treadle.core.rules.reservations.over_time import OverTime


def listed(table: Any) -> list[tuple[int, int, tuple[int, ...]]]:
    times, values = table[0].tolist(), table[1].tolist()
    return [(one, other, tuple(value)) for one, other, value in zip(times, times[1:], values, strict=False)]


@pytest.mark.parametrize("seed", range(60))
def test_columns_follow_what_is_added_and_taken(seed: int) -> None:
    rng, load, there = random.Random(seed), Load(3), list[OverTime | Cycle]()
    for _ in range(30):
        if there and rng.random() < 0.45:
            load.add(there.pop(rng.randrange(len(there))), -1)
        else:
            one = drawn_cycle(rng) if rng.random() < 0.2 else drawn_once(rng, rng.choice([10, 100, 1000]))
            there.append(one)
            load.add(one)
        if rng.random() < 0.6:  # several changes may come between two looks
            times, values = load.columns()
            fresh = columns(load.once)
            assert times.tolist() == fresh[0].tolist()
            assert values.tolist() == fresh[1].tolist()
        start = rng.randrange(120)
        end = start + rng.randint(1, 60)
        assert listed(given(load, start, end)) == list(load.segments(start, end))


@pytest.mark.parametrize("seed", range(30))
def test_what_one_reservation_has_is_the_same_in_columns(seed: int) -> None:
    rng = random.Random(seed)
    shape = drawn_cycle(rng) if seed % 2 else drawn_once(rng)
    start = rng.randrange(100)
    for one, other, value in listed(shaped(shape, start, start + 50)):
        for time in range(one, other):
            assert shape.at(time) == value
