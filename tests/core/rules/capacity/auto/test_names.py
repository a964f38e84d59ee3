"""Queues of a tree of capacities as mapping rules see them."""

from __future__ import annotations

from core.rules.capacity.trees import flexible, managed
from treadle.core.rules.capacity.auto.names import TreeNames


def test_mapping_rules_see_where_queues_may_be_made() -> None:
    names = TreeNames(flexible())
    flex, leaf = names.find("flex"), names.find("root.a")
    assert flex is not None
    assert (flex.path, flex.leaf, flex.makes, flex.deep) == ("root.flex", False, True, True)
    assert leaf is not None
    assert (leaf.leaf, leaf.makes) == (True, False)
    man = TreeNames(managed()).find("root.man")
    assert man is not None
    assert (man.makes, man.deep) == (True, False)
