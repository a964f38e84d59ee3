"""Queues that are made when applications ask for them: templates, creation, entitlements of managed leaves, removal."""

from __future__ import annotations

import pytest

from treadle.core.model.capacity import (
    Capacity,
    CapacityQueueSpec,
    CapacitySettings,
    FlexibleCreation,
    Kind,
    ManagedCreation,
    PartitionShare,
    Portion,
)
from treadle.core.rules.capacity.auto.creation import CreationRefused, create
from treadle.core.rules.capacity.auto.names import TreeNames
from treadle.core.rules.capacity.auto.removal import Removal
from treadle.core.rules.capacity.auto.templates import dynamic_spec
from treadle.core.rules.capacity.context import Context
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree
from treadle.core.rules.capacity.validation import Refused
from treadle.core.units.resources import ResourceTypes

NOW = 1000.0


def share(kind: Kind, value: float) -> dict[str, PartitionShare]:
    return {"": PartitionShare(Capacity(Portion(kind, value)))}


def weight(path: str, value: float, **said: object) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions=share(Kind.WEIGHT, value), **said)  # type: ignore[arg-type]


def percent(path: str, value: float, **said: object) -> CapacityQueueSpec:
    return CapacityQueueSpec(path, partitions=share(Kind.PERCENT, value), **said)  # type: ignore[arg-type]


def tree_of(*specs: CapacityQueueSpec, **settings: object) -> CapacityTree:
    """A tree of queues below the root, in a cluster with 1,000 of memory."""
    root = CapacityQueueSpec("root", children=tuple(spec.path.split(".")[1] for spec in specs if spec.path.count(".") == 1))
    context = Context(ResourceTypes(), CapacitySettings(least={"memory": 1, "cpu": 1}, **settings))  # type: ignore[arg-type]
    context.total = [1000, 1000, 0]
    context.partitions = {"": [1000, 1000, 0]}
    tree = CapacityTree({spec.path: spec for spec in (root, *specs)}, context)
    tree.follow()
    return tree


def flexible(**said: object) -> CapacityTree:
    creation = FlexibleCreation(enabled=True, **said)  # type: ignore[arg-type]
    return tree_of(weight("root.a", 1), weight("root.flex", 1, flexible=creation))


def managed(template: float = 50, **said: object) -> CapacityTree:
    creation = ManagedCreation(percent("root.man", template), **said)  # type: ignore[arg-type]
    return tree_of(percent("root.a", 50), percent("root.man", 50, managed=creation))


def memory(queue: CapacityQueue) -> int:
    return queue.share("").minimum[0]


def busy(leaf: CapacityQueue) -> None:
    """Let an application wait in a leaf."""
    leaf.pending.append(CapacityApplication(f"in-{leaf.name}", "ann", leaf, len(leaf.pending), 0))


def test_a_queue_without_a_template_weighs_one_and_its_users_may_have_all_of_it() -> None:
    spec = dynamic_spec(CapacityQueueSpec("root.flex.x"), FlexibleCreation(), leaf=True)
    assert spec.partitions[""].guaranteed == Capacity(Portion(Kind.WEIGHT, 1.0))
    assert (spec.user_limit_factor, spec.master_share) == (-1, 1.0)


def test_what_is_said_about_a_queue_goes_before_its_kinds_template_and_that_before_the_common_one() -> None:
    creation = FlexibleCreation(
        common=weight("t", 2, max_applications=1, priority=1, user_limit=10.0),
        leaf=CapacityQueueSpec("t", max_applications=2, priority=0),
    )
    spec = dynamic_spec(CapacityQueueSpec("root.flex.x", max_applications=3), creation, leaf=True)
    assert (spec.max_applications, spec.priority, spec.user_limit) == (3, 0, 10.0)
    assert spec.partitions[""].guaranteed == Capacity(Portion(Kind.WEIGHT, 2.0))


def test_a_parents_template_is_not_for_leaves() -> None:
    creation = FlexibleCreation(parent=CapacityQueueSpec("t", priority=7))
    assert dynamic_spec(CapacityQueueSpec("root.flex.x"), creation, leaf=True).priority is None
    assert dynamic_spec(CapacityQueueSpec("root.flex.x"), creation, leaf=False).priority == 7


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
