"""What parents leave to their children, and how many applications a leaf takes."""

from __future__ import annotations

import pytest

from core.rules.capacity.trees import limited, percent, tree_of
from treadle.core.rules.capacity.limits import Limits, headroom, limits_of, may_get_more, of_child, tell_room
from treadle.core.rules.capacity.queue import CapacityQueue
from treadle.core.rules.capacity.tree import CapacityTree


def pair(**said: object) -> CapacityTree:
    """A leaf that is due 300 and may have 600, and one that is due the rest."""
    return tree_of(limited("root.a", 30, 60, **said), percent("root.b", 70), max_applications=100)


def use(queue: CapacityQueue, amount: int) -> None:
    for above in queue.chain:
        above.usage.change("", "used", [amount, amount, 1])


def leaf(tree: CapacityTree, name: str) -> CapacityQueue:
    return tree.queues()[f"root.{name}"]


def test_a_child_is_left_what_its_siblings_do_not_use() -> None:
    tree = pair()
    use(leaf(tree, "b"), 700)
    use(leaf(tree, "a"), 100)
    assert of_child(tree.root, leaf(tree, "a"), Limits(tree.context.total), "", net=False).limit[0] == 300


def test_what_is_kept_for_a_blocked_sibling_is_left_to_nobody() -> None:
    tree = pair()
    limits = Limits(tree.context.total)
    limits.block([200, 0, 0])
    assert limits.net[0] == 800
    assert of_child(tree.root, leaf(tree, "a"), limits, "", net=True).limit[0] == 800


@pytest.mark.parametrize(("used", "within", "more"), [(599, True, True), (600, True, False), (600, False, True)])
def test_a_queue_gets_more_while_it_is_below_its_maximum(used: int, within: bool, more: bool) -> None:
    tree = pair()
    use(leaf(tree, "a"), used)
    assert may_get_more(leaf(tree, "a"), "", Limits(tree.context.total), tree.context.none(), within=within) is more


def test_the_headroom_of_a_user_is_the_least_of_what_limits_and_the_cluster_leave() -> None:
    tree = pair(user_limit_factor=2.0)
    queue = leaf(tree, "a")
    use(queue, 100)
    queue.users.charge("ann", "", [100, 100, 1])
    queue.users.user("ann").active = 1
    queue.users.wants("ann", "app")
    tell_room(queue)
    user = queue.users.user("ann")
    assert headroom(queue, user, "", [100, 100, 1])[0] == 200, "what the user may have of the 300 that the leaf is due"
    assert headroom(queue, user, "", [950, 950, 1])[0] == 50


def test_limits_are_handed_down_level_by_level() -> None:
    tree = tree_of(
        limited("root.p", 50, 80, children=("x", "y")), percent("root.p.x", 50), percent("root.p.y", 50), percent("root.q", 50)
    )
    use(tree.queues()["root.p.y"], 200)
    assert limits_of(tree.queues()["root.p.x"]).limit[0] == 600


def test_a_leaf_takes_its_part_of_the_applications_and_a_user_the_users_part() -> None:
    queue = leaf(pair(user_limit=50.0, user_limit_factor=1.0), "a")
    assert (queue.max_applications, queue.max_applications_of_user) == (30, 15)


def test_a_leaf_takes_as_many_applications_as_its_definition_says() -> None:
    queue = leaf(pair(max_applications=7), "a")
    assert (queue.max_applications, queue.max_applications_of_user) == (7, 7)
