"""Capacities of every kind beside each other: amounts first, then percentages of what is left, then weights (legacy mode off)."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import amount, limited, memory, percent, tree_of, weight
from treadle.core.model.capacity import CapacityQueueSpec, Kind, Portion
from treadle.core.rules.capacity.modern import rounded


def due(*specs: CapacityQueueSpec) -> list[int]:
    return [memory(leaf) for leaf in tree_of(*specs, legacy=False).leaves()]


def test_amounts_are_served_first_then_percentages_then_weights() -> None:
    assert due(amount("root.a", 400), percent("root.b", 50), weight("root.c", 1), weight("root.d", 2)) == [400, 300, 100, 200]


def test_amounts_over_what_there_is_are_cut_in_proportion_and_nothing_is_left_for_others() -> None:
    assert due(amount("root.a", 900), amount("root.b", 600), percent("root.c", 50)) == [600, 400, 0]


def test_percentages_over_a_hundred_are_cut() -> None:
    assert due(percent("root.a", 80), percent("root.b", 80)) == [800, 200]


def test_percentages_may_leave_something() -> None:
    assert due(percent("root.a", 20), percent("root.b", 30)) == [200, 300]


def test_what_a_maximum_keeps_from_one_is_left_to_the_kinds_after_it() -> None:
    assert due(limited("root.a", 80, 50), weight("root.b", 1)) == [500, 500]


def test_weights_share_evenly_what_cannot_be_divided() -> None:
    assert due(*(weight(f"root.{name}", 1) for name in "abc")) == [333, 333, 333]


@pytest.mark.parametrize(
    ("value", "kind", "expected"), [(2.5, Kind.WEIGHT, 3.0), (2.4, Kind.WEIGHT, 2.0), (2.9, Kind.PERCENT, 2.0)]
)
def test_weights_are_rounded_to_the_nearest_and_others_down(value: float, kind: Kind, expected: float) -> None:
    assert rounded(value, Portion(kind, 1.0)) == expected
