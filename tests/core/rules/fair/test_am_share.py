"""What masters of a leaf may hold together under the FairScheduler."""

from __future__ import annotations

import pytest

from treadle.core.rules.fair.am_share import NO_LIMIT, master_limit, may_start


@pytest.mark.parametrize(
    ("fair_share", "available", "maximum", "share", "expected"),
    [
        ([1000, 100, 10], [0, 0, 0], [9999, 9999, 9999], 0.5, [500, 50, 5]),
        ([1001, 100, 10], [0, 0, 0], [9999, 9999, 9999], 0.5, [501, 50, 5]),
        ([0, 100, 10], [800, 50, 5], [9999, 9999, 9999], 0.5, [400, 50, 5]),
        ([0, 100, 10], [800, 50, 5], [600, 9999, 9999], 0.5, [300, 50, 5]),
    ],
    ids=["a part of the fair share", "rounded up", "of what is available where there is no share", "at most the leaf's maximum"],
)
def test_masters_may_hold(
    fair_share: list[int], available: list[int], maximum: list[int], share: float, expected: list[int]
) -> None:
    assert master_limit(fair_share, available, maximum, share) == expected


def test_a_master_starts_while_it_fits_beside_those_that_run() -> None:
    assert may_start([300, 1, 1], [200, 1, 1], [500, 5, 5], 0.5)
    assert not may_start([301, 1, 1], [200, 1, 1], [500, 5, 5], 0.5)


def test_each_type_is_limited() -> None:
    assert not may_start([0, 5, 0], [0, 1, 0], [500, 5, 5], 0.5)


def test_a_share_of_minus_one_is_no_limit() -> None:
    assert may_start([10**9, 0, 0], [1, 1, 1], [0, 0, 0], NO_LIMIT)
