"""What nodes may have of a set, and which nodes are one class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treadle.core.rules.constraints.formulas import Counted, TooLarge
from treadle.core.rules.constraints.patterns import MOST_GROUNDS, Ground, Item, Patterns

NODE, RACK = 0, 1
CPU, MEMORY = 0, 1
APART = Counted(0, NODE, most=0)


def nodes(
    *free: tuple[int, int], items: int, racks: list[int] | None = None, here: list[int] | None = None, **columns: Any
) -> Ground:
    count = len(free)
    usual = {
        "admits": np.ones((items, count), dtype=np.bool_),
        "says": np.zeros((0, count), dtype=np.bool_),
        "costs": np.zeros((items, count), dtype=np.int64),
    }
    return Ground(
        free=np.array(free, dtype=np.int64).T.reshape(2, count),
        domains=np.array([range(count), racks or [0] * count]),
        here=np.array([here or [0] * count]),
        **{**usual, **columns},
    )


def patterns(items: list[Item], ground: Ground) -> list[tuple[int, ...]]:
    return sorted(Patterns(items, ground).all)


def test_patterns_are_what_fits_the_roomiest_node() -> None:
    items = [Item(2, ((CPU, 2),)), Item(1, ((CPU, 1), (MEMORY, 3)))]

    assert patterns(items, nodes((3, 1), (1, 3), items=2)) == [(0, 1), (1, 0), (1, 1)]
    assert patterns(items, nodes((9, 9), items=2)) == [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_pods_that_keep_apart_are_never_in_one_pattern() -> None:
    items = [Item(5, ((CPU, 1),), counts=frozenset({0}), rule=APART), Item(5, ((CPU, 1),), rule=APART)]

    assert patterns(items, nodes((9, 9), items=2)) == [(0, number) for number in range(1, 6)] + [(1, 0)]


def test_pods_that_clash_are_never_in_one_pattern() -> None:
    items = [Item(2, ((CPU, 1),), clashes=frozenset({0, 1})), Item(2, ((CPU, 1),), clashes=frozenset({0}))]

    assert patterns(items, nodes((9, 9), items=2)) == [(0, 1), (0, 2), (1, 0)]


def test_nodes_are_one_class_where_the_same_patterns_do() -> None:
    items = [Item(2, ((CPU, 2),))]
    ground = nodes((6, 1), (9, 2), (7, 7), (1, 9), (3, 3), items=1, large=((CPU, 2),))
    classes = list(Patterns(items, ground).classes())

    assert [one.nodes for one in classes] == [(0, 1, 2), (4,)]
    assert [choice.pattern for choice in classes[0].choices] == [0, 1]
    assert [(choice.pattern, choice.breaks) for choice in classes[1].choices] == [(0, True)]


def test_racks_and_what_is_on_nodes_part_them() -> None:
    items = [Item(1, ((CPU, 1),), counts=frozenset({0}), rule=APART)]
    ground = nodes((4, 4), (4, 4), (4, 4), (4, 4), items=1, racks=[0, 0, 1, 1], here=[0, 0, 0, 1])

    assert [one.nodes for one in Patterns(items, ground).classes()] == [(0, 1), (2,)]


def test_a_node_that_admits_no_pod_of_the_set_is_in_no_class() -> None:
    ground = nodes((4, 4), (4, 4), items=1, admits=np.array([[True, False]]))

    assert [one.nodes for one in Patterns([Item(1, ((CPU, 1),))], ground).classes()] == [(0,)]


def test_a_node_that_has_less_than_nothing_of_what_is_not_asked_for_is_as_good_as_any() -> None:
    assert [one.nodes for one in Patterns([Item(1, ((CPU, 1),))], nodes((4, -5), items=1)).classes()] == [(0,)]


def test_what_a_pattern_demands_of_its_rack_is_left_open() -> None:
    items = [Item(1, ((CPU, 1),), counts=frozenset({0}), rule=Counted(0, RACK, most=1))]
    (only,) = Patterns(items, nodes((4, 4), items=1)).classes()

    assert [choice.conditions for choice in only.choices] == [frozenset({Counted(0, RACK, 0, 2)})]


def test_costs_are_those_of_all_pods_of_a_pattern() -> None:
    ground = nodes((4, 4), items=1, costs=np.array([[7]]))
    (only,) = Patterns([Item(2, ((CPU, 1),))], ground).classes()

    assert [choice.cost for choice in only.choices] == [7, 14]


def test_more_kinds_of_nodes_than_can_be_looked_at_are_too_large() -> None:
    count = MOST_GROUNDS + 1
    ground = nodes(*[(4, 4)] * count, items=1, costs=np.array([range(count)]))
    with pytest.raises(TooLarge, match="kinds of nodes"):
        list(Patterns([Item(1, ((CPU, 1),))], ground).classes())


def test_without_nodes_there_is_nothing() -> None:
    empty = Ground(*(np.zeros((1, 0), dtype=np.int64) for _ in range(6)))

    assert not list(Patterns([Item(1, ((CPU, 1),))], empty).classes())
