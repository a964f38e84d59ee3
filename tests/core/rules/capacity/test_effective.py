"""What a queue is due and may have at most in the cluster of this moment, where capacities are parts or amounts (legacy mode)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rules.capacity.trees import amount, limited, memory, percent, tree_of, weight


def test_percentages_are_products_down_the_tree() -> None:
    queues = tree_of(percent("root.p", 40, children=("x",)), percent("root.p.x", 100), percent("root.q", 60)).queues()
    assert [memory(queues[path]) for path in ("root.p", "root.p.x", "root.q")] == [400, 400, 600]


def test_weights_share_what_the_parent_has() -> None:
    queues = tree_of(weight("root.a", 3), weight("root.b", 1)).queues()
    assert [memory(queues[path]) for path in ("root.a", "root.b")] == [750, 250]


def test_amounts_are_scaled_down_when_the_parent_has_less_than_it_promised() -> None:
    tree = tree_of(amount("root.a", 600), amount("root.b", 400))
    tree.context.total = tree.context.partitions[""] = [500, 500, 0]
    tree.follow()
    assert [memory(leaf) for leaf in tree.leaves()] == [300, 200]


def test_a_maximum_is_a_part_of_the_parents() -> None:
    queues = tree_of(limited("root.p", 100, 50, children=("x",)), limited("root.p.x", 100, 50)).queues()
    assert [queues[path].share("").maximum[0] for path in ("root.p", "root.p.x")] == [500, 250]


@pytest.mark.parametrize("size", [0, 1, 7, 1000, 10**12])
def test_what_is_due_follows_the_size_of_the_cluster(size: int) -> None:
    tree = tree_of(percent("root.a", 25), percent("root.b", 75))
    tree.context.total = tree.context.partitions[""] = [size, size, 0]
    tree.follow()
    first, second = (memory(leaf) for leaf in tree.leaves())
    assert first == pytest.approx(size / 4, rel=1e-6, abs=1)
    assert first + second <= size


@given(weights=st.lists(st.integers(1, 50), min_size=1, max_size=6), size=st.integers(1, 10**9))
def test_children_are_due_no_more_than_their_parent_has(weights: list[int], size: int) -> None:
    tree = tree_of(*(weight(f"root.q{number}", value) for number, value in enumerate(weights)))
    tree.context.total = tree.context.partitions[""] = [size, size, 0]
    tree.follow()
    assert sum(memory(leaf) for leaf in tree.leaves()) <= size * (1 + 1e-6) + 1
