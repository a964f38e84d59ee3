"""Leaves of a managed parent have all of their template or nothing, as long as there is some."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import NOW, busy, managed, memory
from treadle.core.rules.capacity.auto.creation import CreationRefused, create


def test_leaves_of_a_managed_parent_have_all_of_their_template_or_nothing() -> None:
    tree = managed()
    leaves = [create(tree, f"root.man.{name}", NOW) for name in "xyz"]
    assert [memory(leaf) for leaf in leaves] == [250, 250, 0]
    assert all(leaf.entitled and not leaf.dynamic for leaf in leaves)


def test_a_round_takes_capacity_from_the_idle_and_gives_it_to_those_that_wait() -> None:
    tree = managed()
    first, second, third = (create(tree, f"root.man.{name}", NOW) for name in "xyz")
    busy(second)
    busy(third)
    parent = tree.queues()["root.man"]
    assert parent.entitlements is not None
    parent.entitlements.round()
    assert [memory(leaf) for leaf in (first, second, third)] == [0, 250, 250]


def test_what_a_round_takes_away_it_does_not_give_to_the_same_leaf() -> None:
    tree = managed()
    leaf = create(tree, "root.man.x", NOW)
    parent = tree.queues()["root.man"]
    assert parent.entitlements is not None
    parent.entitlements.round()
    assert memory(leaf) == 0
    busy(leaf)
    parent.entitlements.round()
    assert memory(leaf) == 250


def test_a_managed_parent_that_fails_on_excess_makes_no_leaf_without_capacity() -> None:
    tree = managed(fail_on_excess=True)
    create(tree, "root.man.x", NOW)
    create(tree, "root.man.y", NOW)
    with pytest.raises(CreationRefused, match="have all its capacity"):
        create(tree, "root.man.z", NOW)
