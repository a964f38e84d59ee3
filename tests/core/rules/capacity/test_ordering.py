"""Who comes first: siblings by the used part of what they are due, applications by the order of their leaf."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import percent, tree_of
from treadle.core.rules.capacity import ordering
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree


def three(order: str = "utilization", **priorities: int) -> CapacityTree:
    tree = tree_of(
        *(percent(f"root.{name}", of, priority=priorities.get(name, 0)) for name, of in zip("abc", (50, 30, 20), strict=True))
    )
    tree.root.order = order
    return tree


def using(tree: CapacityTree, **used: int) -> list[str]:
    for name, amount in used.items():
        queue = tree.queues()[f"root.{name}"]
        queue.usage.of("").used = [amount, amount, 1]
        queue.update_statistics()
    return [child.name for child in ordering.siblings(tree.root, "")]


def test_the_sibling_that_uses_the_least_part_of_its_capacity_is_first() -> None:
    assert using(three(), a=250, b=30, c=180) == ["b", "a", "c"]


def test_of_siblings_that_use_as_much_the_one_with_more_capacity_is_first() -> None:
    assert using(three()) == ["a", "b", "c"]


def test_priorities_count_only_where_the_parent_says_so() -> None:
    assert using(three(c=5), a=0, b=0, c=100) == ["a", "b", "c"]
    assert using(three(ordering.BY_PRIORITY, c=5), a=0, b=0, c=100) == ["c", "a", "b"]


def test_a_sibling_over_its_capacity_comes_after_those_below_whatever_its_priority() -> None:
    assert using(three(ordering.BY_PRIORITY, c=5), a=0, b=0, c=300) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("one", "other", "mine", "theirs", "expected"),
    [(0.2, 0.5, 0, 0, -1), (0.5, 0.5, 0, 0, 0), (0.9, 0.1, 2, 1, -1), (1.5, 0.1, 2, 1, 1), (1.5, 2.0, 1, 2, 1)],
)
def test_priority_decides_where_both_or_neither_have_all_they_are_due(
    one: float, other: float, mine: int, theirs: int, expected: int
) -> None:
    assert ordering.by_part(one, other, mine, theirs) == expected


def leaf_with(order: str, *members: tuple[str, int, int]) -> CapacityQueue:
    """A leaf with applications: name, priority, usage; submitted in this order."""
    leaf = tree_of(percent("root.a", 100, order=order)).leaves()[0]
    for number, (name, priority, used) in enumerate(members):
        application = CapacityApplication(name, "ann", leaf, number, priority)
        application.usage.change("", "used", [used, used, 1])
        leaf.active.append(application)
        ordering.rank_anew(leaf, application)
    return leaf


def names(applications: list[CapacityApplication]) -> list[str]:
    return [each.name for each in applications]


def test_fifo_serves_the_urgent_first_and_then_those_that_came_first() -> None:
    leaf = leaf_with("fifo", ("late", 0, 0), ("urgent", 3, 900), ("later", 0, 0))
    assert names(ordering.in_order(leaf)) == ["urgent", "late", "later"]


def test_a_fair_leaf_serves_the_one_that_has_the_least() -> None:
    leaf = leaf_with("fair", ("much", 9, 500), ("little", 0, 10), ("some", 0, 100))
    assert names(ordering.in_order(leaf)) == ["little", "some", "much"]


def test_a_fair_leaf_ranks_an_application_anew_only_when_told_of_its_usage() -> None:
    leaf = leaf_with("fair", ("one", 0, 100), ("other", 0, 200))
    assert names(ordering.in_order(leaf)) == ["one", "other"]
    leaf.active[0].usage.change("", "used", [500, 500, 1])
    assert names(ordering.in_order(leaf)) == ["one", "other"]
    ordering.rank_anew(leaf, leaf.active[0])
    assert names(ordering.in_order(leaf)) == ["other", "one"]


def test_those_that_give_back_first_are_those_that_are_served_last() -> None:
    leaf = leaf_with("fifo", ("first", 0, 0), ("second", 0, 0))
    assert names(ordering.for_preemption(leaf)) == ["second", "first"]
