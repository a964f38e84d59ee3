"""Queues that were made go when no application uses them, in the round after the one that marked them."""

from __future__ import annotations

from core.rules.capacity.trees import NOW, busy, flexible, memory
from treadle.core.model.capacity import (
    CapacityQueueSpec,
    FlexibleCreation,
)
from treadle.core.rules.capacity.auto.creation import create
from treadle.core.rules.capacity.auto.removal import Removal


def test_an_empty_queue_goes_in_the_round_after_the_one_that_marked_it() -> None:
    tree, removal = flexible(), Removal()
    create(tree, "root.flex.x", NOW).last_submitted = NOW
    later = NOW + tree.context.settings.idle_before_removal
    assert removal.round(tree, later) == []
    assert removal.marked == {"root.flex.x"}
    assert [queue.path for queue in removal.round(tree, later)] == ["root.flex.x"]
    assert "root.flex.x" not in tree.queues()


def test_a_queue_that_was_used_lately_has_to_be_marked_again() -> None:
    tree, removal = flexible(), Removal()
    create(tree, "root.flex.x", NOW).last_submitted = NOW
    removal.mark(tree.root.walk())
    assert removal.round(tree, NOW + 1) == []
    assert removal.marked == frozenset()


def test_queues_with_applications_or_removal_switched_off_stay() -> None:
    tree, removal = flexible(leaf=CapacityQueueSpec("t", flexible=FlexibleCreation(removal=False))), Removal()
    create(tree, "root.flex.x", NOW)
    removal.mark(tree.root.walk())
    assert removal.marked == frozenset()
    tree = flexible()
    busy(create(tree, "root.flex.x", NOW))
    removal.mark(tree.root.walk())
    assert removal.marked == frozenset()


def test_the_siblings_of_a_queue_that_goes_share_what_it_had() -> None:
    tree = flexible()
    first, second = create(tree, "root.flex.x", NOW), create(tree, "root.flex.y", NOW)
    tree.remove(second)
    assert memory(first) == 500
