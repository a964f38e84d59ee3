"""The best places for reservations that the bench compares agents with are the best ones: beside all ways that there are, tried one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, pairwise, product

import pytest

from bench.optimum_model import Load, Room, best_place, cheapest, most
from treadle.core.model.reservations import Interpreter, ReservationDefinition, ReservationRequest

SLOT, SLOTS, CAPACITY = 1_000, 6, 5
Place = list[list[tuple[int, int]]]
"""From when until when each gang is, by request."""


def drawn(seed: int, interpreter: Interpreter) -> tuple[Load, ReservationDefinition]:
    """A load, and a reservation of up to two requests with two gangs each, with room or without."""
    rng = random.Random(seed)
    load = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in range(SLOTS)]
    requests = tuple(_request(rng) for _ in range(rng.randint(1, 2)))
    first = rng.randint(0, 1)
    return load, ReservationDefinition(first * SLOT, rng.randint(4, SLOTS) * SLOT, requests, interpreter)


def _request(rng: random.Random) -> ReservationRequest:
    concurrency = rng.randint(1, 2)
    return ReservationRequest(
        (rng.randint(0, 1) + 1, rng.randint(0, 2), 0), concurrency * rng.randint(1, 2), concurrency, rng.randint(1, 2) * SLOT
    )


def places(definition: ReservationDefinition) -> Iterator[tuple[Sequence[ReservationRequest], Place]]:
    """All ways to have the gangs of a reservation within its window, whatever room there is."""
    requests = [[each] for each in definition.requests] if definition.interpreter is Interpreter.ANY else [definition.requests]
    first, last = definition.arrival // SLOT, definition.deadline // SLOT
    for chosen in requests:
        ways = []
        for each in chosen:
            length = each.duration // SLOT
            starts = combinations_with_replacement(range(first, last - length + 1), each.count // each.concurrency)
            ways.append([[(at, at + length) for at in way] for way in starts])
        for place in product(*ways):
            if _as_wanted(definition.interpreter, list(place)):
                yield chosen, list(place)


def _as_wanted(interpreter: Interpreter, place: Place) -> bool:
    if interpreter not in {Interpreter.ORDER, Interpreter.ORDER_NO_GAP}:
        return True
    spans = [(min(start for start, _ in gangs), max(end for _, end in gangs)) for gangs in place]
    if any(later[0] < before[1] for before, later in pairwise(spans)):
        return False
    if interpreter is Interpreter.ORDER:
        return True
    had = {slot for gangs in place for start, end in gangs for slot in range(start, end)}
    return had == set(range(spans[0][0], spans[-1][1]))


def loaded(load: Load, requests: Sequence[ReservationRequest], place: Place) -> Load | None:
    """The load with a reservation in a place; None where there is no room for it."""
    found = [list(each) for each in load]
    for each, gangs in zip(requests, place, strict=True):
        for start, end in gangs:
            for slot in range(start, end):
                for kind in range(2):
                    found[slot][kind] += each.demand[kind] * each.concurrency
    return None if max(map(max, found)) > CAPACITY else [(one, other) for one, other in found]


def square(load: Load) -> int:
    return sum(max(each) ** 2 for each in load)


def tried(load: Load, definition: ReservationDefinition) -> int | None:
    """What the load costs at the best of all places; None where there is none."""
    every = (loaded(load, requests, place) for requests, place in places(definition))
    return min((square(each) for each in every if each is not None), default=None)


@pytest.mark.parametrize("interpreter", list(Interpreter))
def test_the_best_place_of_one_reservation_is_the_best_of_all_places(interpreter: Interpreter) -> None:
    none = 0
    for seed in range(40):
        load, definition = drawn(seed, interpreter)
        room = Room(load, CAPACITY, SLOT)
        wanted, found, whole = tried(load, definition), best_place(room, definition), cheapest(room, [definition], integral=True)

        if wanted is None:
            none += 1
            assert not found.solved
            assert not whole.solved
            continue
        assert found.solved
        assert found.value + square(load) == pytest.approx(wanted)
        assert whole.value == pytest.approx(wanted)
        assert cheapest(room, [definition]).value <= wanted + 1e-6
    assert 0 < none < 40


@pytest.mark.parametrize("seed", range(6))
def test_the_most_that_can_be_accepted_is_the_most_of_all_ways_and_the_bound_is_no_less(seed: int) -> None:
    kinds = [Interpreter.ANY, Interpreter.ALL, Interpreter.ORDER, Interpreter.ORDER_NO_GAP]
    load = drawn(seed, Interpreter.ALL)[0]
    definitions = [drawn(10 * seed + number, kind)[1] for number, kind in enumerate(kinds)]
    worth = [3.0, 5.0, 4.0, 2.0]
    reached = {tuple(load): 0.0}
    for definition, value in zip(definitions, worth, strict=True):
        for before, had in list(reached.items()):
            for requests, place in places(definition):
                after = loaded(list(before), requests, place)
                if after is not None:
                    reached[tuple(after)] = max(reached.get(tuple(after), 0.0), had + value)
    best, room = max(reached.values()), Room(load, CAPACITY, SLOT)

    assert most(room, definitions, worth, integral=True).value == pytest.approx(best)
    assert most(room, definitions, worth).value >= best - 1e-6


def test_all_of_a_set_cost_least_where_all_ways_say_so_and_the_bound_is_no_more() -> None:
    load: Load = [(0, 0)] * SLOTS
    definitions = [drawn(seed, kind)[1] for seed, kind in ((3, Interpreter.ANY), (4, Interpreter.ORDER))]
    ways = [
        after
        for one, place in places(definitions[0])
        if (before := loaded(load, one, place)) is not None
        for other, second in places(definitions[1])
        if (after := loaded(before, other, second)) is not None
    ]
    room = Room(load, CAPACITY, SLOT)

    assert cheapest(room, definitions, integral=True).value == pytest.approx(min(map(square, ways)))
    assert cheapest(room, definitions).value <= min(map(square, ways)) + 1e-6
