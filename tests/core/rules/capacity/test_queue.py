"""A queue of the capacity discipline: its shares, partitions, usage and what may be ended at any time."""

from __future__ import annotations

from core.rules.capacity.trees import busy, percent, tree_of
from treadle.core.rules.capacity.queue import CapacityQueue, by_submission


def leaf(**said: object) -> CapacityQueue:
    return tree_of(percent("root.a", 100, **said)).leaves()[0]


def test_reading_a_share_of_a_partition_makes_none() -> None:
    queue = leaf()
    assert queue.share("gpu").absolute == 0.0
    assert "gpu" not in queue.shares
    queue.own("gpu").absolute = 0.5
    assert queue.share("gpu").absolute == 0.5


def test_the_default_partition_is_every_queues_and_others_are_of_those_that_may() -> None:
    assert leaf(accessible=frozenset()).may_use("")
    assert not leaf(accessible=frozenset({"fpga"})).may_use("gpu")
    assert leaf(accessible=frozenset({"*"})).may_use("gpu")


def test_used_capacity_is_the_part_of_what_is_due_that_is_used() -> None:
    tree = tree_of(percent("root.a", 25), percent("root.b", 75))
    queue = tree.leaves()[0]
    queue.usage.change("", "used", [500, 0, 0])
    queue.update_statistics()
    assert (queue.share("").used_capacity, queue.share("").absolute_used) == (2.0, 0.5)


def test_a_container_that_may_be_ended_counts_once_and_no_longer_when_forgotten() -> None:
    queue = leaf()
    queue.note_killable("", "one", [10, 1, 1])
    queue.note_killable("", "one", [10, 1, 1])
    assert queue.killable_amount("") == [10, 1, 1]
    queue.forget_killable("", "one")
    assert queue.killable_amount("") == [0, 0, 0]


def test_hadoop_counts_such_a_container_as_often_as_it_is_noted() -> None:
    queue = leaf()
    queue.context.as_hadoop = True
    queue.note_killable("", "one", [10, 1, 1])
    queue.note_killable("", "one", [10, 1, 1])
    assert queue.killable_amount("") == [20, 2, 2]


def test_applications_are_counted_whatever_they_wait_for() -> None:
    queue = leaf()
    busy(queue)
    busy(queue)
    queue.active.append(queue.pending.pop())
    assert queue.applications == 2
    assert [each.order for each in by_submission([*queue.active, *queue.pending])] == [0, 1]


def test_a_leaf_that_becomes_a_parent_takes_no_applications() -> None:
    queue = leaf(max_applications=5)
    queue.become_parent()
    assert (queue.parental, queue.max_applications) == (True, 0)
