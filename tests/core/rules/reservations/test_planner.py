"""Requests that follow one another without a gap, and requests that contradict themselves."""

from __future__ import annotations

import pytest

from core.rules.reservations.plans import ask, plan_of, size
from treadle.core.rules.reservations.errors import ContractError
from treadle.core.rules.reservations.greedy import Greedy
from treadle.core.rules.reservations.over_time import OverTime, Segment
from treadle.core.rules.reservations.planner import Planner, follows
from treadle.core.rules.reservations.stages import whole_window

FOUND = OverTime(2, [(10, 20, size(1))])


@pytest.mark.parametrize(
    ("given", "left", "wanted"),
    [
        ([(20, 30, size(1))], True, True),
        ([(21, 30, size(1))], True, False),
        ([(20, 25, size(1)), (25, 30, size(2))], True, True),
        ([(20, 24, size(1)), (25, 30, size(1))], True, False),
        ([(5, 10, size(1))], False, True),
        ([(5, 9, size(1))], False, False),
    ],
)
def test_a_block_without_a_gap(given: list[Segment], left: bool, wanted: bool) -> None:
    assert follows(FOUND, given, left=left) is wanted


@pytest.mark.parametrize(
    ("request_of", "each", "words"),
    [
        ((10, 0, 1), size(1), r"requests\[0\].concurrency: 0 is less than 1"),
        ((0, 1, 1), size(1), r"requests\[0\].count: 0 is less than 1"),
        ((10, 3, 1), size(1), r"requests\[0\].count: 10 is no multiple of concurrency, which is 3"),
        ((10, 1, 0), size(1), r"requests\[0\].duration: 0 ms is less than 1 ms"),
        ((10, 1, 1), size(9), r"requests\[0\].demand: \(9216, 9\) is more than the largest container, which is \(8192, 8\)"),
    ],
)
def test_a_request_that_contradicts_itself_is_told(request_of: tuple[int, int, int], each: tuple[int, int], words: str) -> None:
    with pytest.raises(ContractError, match=words):
        Planner(whole_window, Greedy()).find(plan_of(), "r", "u", ask(0, 10, request_of, each=each))
