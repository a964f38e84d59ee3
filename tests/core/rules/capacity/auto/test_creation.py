"""Queues that are made when applications ask for them, and what a refresh makes of them."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import NOW, busy, flexible, memory, percent, tree_of, weight
from treadle.core.model.capacity import (
    CapacityQueueSpec,
    FlexibleCreation,
)
from treadle.core.rules.capacity.auto.creation import CreationRefused, create
from treadle.core.rules.capacity.validation import Refused


def test_missing_parents_are_made_with_the_leaf() -> None:
    tree = flexible()
    leaf = create(tree, "root.flex.x.y", NOW)
    assert (leaf.path, leaf.parental, leaf.dynamic) == ("root.flex.x.y", False, True)
    made = tree.queues()["root.flex.x"]
    assert (made.parental, made.dynamic) == (True, True)
    assert memory(leaf) == 500


def test_queues_that_are_made_share_with_their_siblings_by_weight() -> None:
    tree = flexible()
    first, second = create(tree, "root.flex.x", NOW), create(tree, "flex.y", NOW)
    assert second.path == "root.flex.y"
    assert [memory(first), memory(second)] == [250, 250]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("root.flex.x.y.z", "3 levels below root.flex; allowed are 2"),
        ("root.a.x", "root.a is a leaf"),
        ("root.x", "no queues are made below root"),
        ("flex", "only below another queue"),
        ("root.flex..x", "no empty part"),
        ("elsewhere.x", "there is no queue above it"),
    ],
)
def test_a_queue_that_may_not_be_made_is_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(CreationRefused, match=why):
        create(flexible(), path, NOW)


def test_the_depth_is_counted_from_the_first_declared_queue() -> None:
    tree = flexible()
    create(tree, "root.flex.x.y", NOW)
    with pytest.raises(CreationRefused, match="3 levels"):
        create(tree, "root.flex.x.q.z", NOW)


def test_no_more_queues_are_made_than_the_limit() -> None:
    tree = flexible(max_queues=1)
    create(tree, "root.flex.x", NOW)
    with pytest.raises(CreationRefused, match="which is its limit"):
        create(tree, "root.flex.y", NOW)


def test_nothing_is_made_beside_percentages() -> None:
    creation = FlexibleCreation(enabled=True)
    tree = tree_of(percent("root.flex", 100, children=("s",), flexible=creation), percent("root.flex.s", 100))
    with pytest.raises(CreationRefused, match="percentages or amounts"):
        create(tree, "root.flex.x", NOW)


def test_a_template_with_a_percentage_makes_no_queue() -> None:
    tree = flexible(common=percent("t", 20))
    with pytest.raises(CreationRefused, match="allowed is a weight"):
        create(tree, "root.flex.x", NOW)
    assert tree.queues()["root.flex"].children == []


def test_a_refresh_keeps_queues_that_were_made_and_gives_them_the_new_template() -> None:
    tree = flexible()
    first, second = create(tree, "root.flex.x", NOW), create(tree, "root.flex.y", NOW)
    creation = FlexibleCreation(enabled=True, common=CapacityQueueSpec("t", max_applications=5))
    tree.reload({**tree.specs, "root.flex": weight("root.flex", 3, flexible=creation)})
    assert [leaf.max_applications for leaf in (first, second)] == [5, 5]
    assert [memory(leaf) for leaf in (first, second)] == [375, 375]


def test_a_queue_that_is_declared_later_is_not_removed_any_more() -> None:
    tree = flexible()
    leaf = create(tree, "root.flex.x", NOW)
    declared = weight("root.flex", 1, children=("x",), flexible=FlexibleCreation(enabled=True))
    tree.reload({**tree.specs, "root.flex": declared, "root.flex.x": weight("root.flex.x", 4)})
    assert tree.queues()["root.flex.x"] is leaf
    assert not leaf.dynamic


def test_a_refresh_that_leaves_no_place_for_running_applications_is_refused_and_changes_nothing() -> None:
    tree = flexible()
    leaf = create(tree, "root.flex.x", NOW)
    busy(leaf)
    tree.queues()["root.flex"].applications_below = 1
    with pytest.raises(Refused, match="only when nothing runs below it"):
        tree.reload({**tree.specs, "root.flex": weight("root.flex", 1)})
    assert tree.queues()["root.flex.x"] is leaf
    assert leaf.dynamic
