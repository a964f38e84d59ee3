"""Amounts by partition: a partition that is only looked at is not one in which something is used."""

from __future__ import annotations

from treadle.core.rules.capacity.usage import Usage


def test_what_is_used_is_kept_apart_by_partition_and_summed_over_all() -> None:
    usage = Usage(3)
    usage.change("", "used", [5, 1, 1])
    usage.change("gpu", "used", [7, 2, 1])
    assert (usage.used(""), usage.used("gpu"), usage.all_used()) == ([5, 1, 1], [7, 2, 1], [12, 3, 2])


def test_what_is_asked_for_is_no_usage() -> None:
    usage = Usage(3)
    usage.change("", "pending", [5, 1, 1])
    assert (usage.all_pending(), usage.all_used()) == ([5, 1, 1], [0, 0, 0])


def test_what_is_given_back_is_used_no_longer() -> None:
    usage = Usage(3)
    usage.change("", "used", [5, 2, 1])
    usage.change("", "used", [3, 1, 0], less=True)
    assert usage.used("") == [2, 1, 1]


def test_looking_at_a_partition_makes_none() -> None:
    usage = Usage(3)
    assert (usage.used("gpu"), usage.see("gpu").masters) == ([0, 0, 0], [0, 0, 0])
    assert usage.partitions == {}


def test_amounts_that_are_to_be_changed_are_those_of_the_partition() -> None:
    usage = Usage(3)
    usage.of("gpu").used[0] = 4
    assert usage.used("gpu") == [4, 0, 0]
