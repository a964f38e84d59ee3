"""How long queues at nodes may be: the mean, so many deviations, between bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.queue_limits import QueueBounds, QueueLimit


def limit(values: list[int], deviations: float = 0.0, least: int = 6, most: int = 100) -> QueueLimit:
    found = QueueLimit(QueueBounds(deviations, least, most))
    found.update(values)
    return found


@pytest.mark.parametrize(
    ("sentence", "values", "expected"),
    [
        ("before anything is known it is the least", [], 6),
        ("it is the mean of the queues", [15, 5, 10], 10),
        ("it is the most where queues are longer", [110, 120, 130, 140, 150, 160], 100),
        ("it is the least where queues are shorter", [1, 2, 3, 4, 5, 6], 6),
    ],
)
def test_the_limit_of_hadoops_own_test(sentence: str, values: list[int], expected: int) -> None:
    assert limit(values).limit() == expected, sentence


def test_so_many_deviations_are_added_to_the_mean() -> None:
    found = limit([15, 5, 10], deviations=1.5)
    assert (found.mean, found.deviation) == (10, 4)
    assert found.limit() == 16


def test_the_mean_is_rounded_down_and_the_deviation_to_the_nearest() -> None:
    found = limit([1, 2])
    assert (found.mean, found.deviation) == (1, 1)


def test_where_no_node_takes_anything_what_was_known_stays() -> None:
    found = limit([20, 30])
    found.update([])
    assert found.limit() == 25


def test_a_negative_number_of_deviations_shortens_queues() -> None:
    assert limit([15, 5, 10], deviations=-1.0, least=0).limit() == 6


@given(st.lists(st.integers(0, 10_000), max_size=20), st.floats(-3, 3, width=32), st.integers(0, 50), st.integers(0, 50))
def test_the_limit_is_always_between_its_bounds(values: list[int], deviations: float, least: int, more: int) -> None:
    assert least <= limit(values, deviations, least, least + more).limit() <= least + more


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.integers(0, 1000))
def test_queues_that_all_grow_alike_raise_the_limit_as_much(values: list[int], more: int) -> None:
    before, after = limit(values, 1.0, 0, 10_000), limit([value + more for value in values], 1.0, 0, 10_000)
    assert after.limit() == before.limit() + more
