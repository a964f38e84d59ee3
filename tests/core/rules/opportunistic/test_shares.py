"""Whose the opportunistic room is: in proportion to weights, what one does not want goes to the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.rules.opportunistic.shares import Claim, divide, fill, over, pool


@pytest.mark.parametrize(
    ("sentence", "total", "weights", "most", "expected"),
    [
        ("in proportion to the weights", 100, [1, 3], [100, 100], [25, 75]),
        ("what one does not want goes to the others", 100, [1, 1, 2], [10, 100, 100], [10, 30, 60]),
        ("where all want less than there is, the rest is nobody's", 100, [1, 1], [10, 20], [10, 20]),
        ("what does not come out even goes to the first", 10, [1, 1, 1], [9, 9, 9], [4, 3, 3]),
        ("without a weight nothing", 100, [0, 1], [50, 50], [0, 50]),
        ("of nothing nobody gets anything", 0, [1, 1], [5, 5], [0, 0]),
    ],
)
def test_an_amount_is_divided(sentence: str, total: int, weights: list[int], most: list[int], expected: list[int]) -> None:
    assert fill(total, weights, most) == expected, sentence


def test_each_type_is_divided_by_itself() -> None:
    claims = [Claim("a", 1, [100, 0]), Claim("b", 1, [100, 100])]
    assert divide([100, 60], claims) == {"a": [50, 0], "b": [50, 60]}


def test_a_limit_holds_a_queue_and_all_below_it() -> None:
    below = [Claim("root.a.x", 1, [100]), Claim("root.a.y", 1, [100])]
    claims = [Claim("root.a", 1, [0], limit=[30], children=below), Claim("root.b", 1, [100])]
    assert divide([100], claims) == {"root.a": [30], "root.a.x": [15], "root.a.y": [15], "root.b": [70]}


def test_a_queue_gets_no_more_than_those_below_it_want() -> None:
    claims = [Claim("a", 9, [0], children=[Claim("a.x", 1, [5])]), Claim("b", 1, [100])]
    assert divide([100], claims) == {"a": [5], "a.x": [5], "b": [95]}


def test_what_is_divided_is_the_room_and_what_is_held_already() -> None:
    total = pool([10], [[60], [30]])
    parts = divide(total, [Claim("a", 1, [80]), Claim("b", 1, [80])])
    assert (total, parts) == ([100], {"a": [50], "b": [50]})
    assert (over([60], parts["a"]), over([30], parts["b"])) == ([10], [0])


QUEUES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10**20)), min_size=1, max_size=6)


@given(st.integers(0, 10**20), QUEUES)
def test_nobody_gets_more_than_it_can_use_and_nothing_is_left_over(total: int, queues: list[tuple[int, int]]) -> None:
    weights, most = [weight for weight, _ in queues], [amount for _, amount in queues]
    parts = fill(total, weights, most)
    assert all(0 <= part <= bound for part, bound in zip(parts, most, strict=True))
    assert sum(parts) == min(total, sum(bound for weight, bound in queues if weight))


@given(st.integers(0, 10**6), QUEUES)
def test_of_two_that_want_more_the_heavier_has_no_less_for_its_weight(total: int, queues: list[tuple[int, int]]) -> None:
    parts = fill(total, [weight for weight, _ in queues], [amount for _, amount in queues])
    hungry = [(part, weight) for part, (weight, most) in zip(parts, queues, strict=True) if weight and part < most]
    for part, weight in hungry:
        for other, its in hungry:
            assert part * its <= other * weight + its * weight + its, "but for a unit"
