"""What masters may hold in a leaf and of one user, and which applications start."""

from __future__ import annotations

from core.rules.capacity.trees import percent, tree_of
from treadle.core.rules.capacity import am_share
from treadle.core.rules.capacity.limits import tell_room
from treadle.core.rules.capacity.queue import CapacityApplication, CapacityQueue


def leaf_with(*demands: int, users: str = "abc", **said: object) -> CapacityQueue:
    """A leaf that is due half of 1,000 and may have all, its masters a tenth, with applications whose masters demand so much."""
    leaf = tree_of(percent("root.a", 50, master_share=0.1, **said), percent("root.b", 50)).leaves()[0]
    for number, demand in enumerate(demands):
        application = CapacityApplication(f"app{number}", users[number], leaf, number, 0)
        application.master_demand = [demand, 1, 1]
        leaf.pending.append(application)
        leaf.users.user(users[number]).pending += 1
    tell_room(leaf)
    return leaf


def started(leaf: CapacityQueue) -> list[str]:
    am_share.start_applications(leaf)
    return [each.name for each in leaf.active]


def test_masters_hold_no_more_than_their_part_of_what_the_leaf_may_have() -> None:
    leaf = leaf_with(40, 40, 40)
    assert am_share.limit_of_leaf(leaf, "")[0] == 100
    assert started(leaf) == ["app0", "app1"]
    assert leaf.usage.of("").masters[0] == 80


def test_one_that_does_not_fit_is_passed_over_and_smaller_ones_start() -> None:
    assert started(leaf_with(40, 90, 40)) == ["app0", "app2"]


def test_one_application_may_always_start() -> None:
    assert started(leaf_with(900, 10)) == ["app0"]


def test_masters_of_one_user_hold_no_more_than_their_part_of_what_the_leaf_is_due() -> None:
    leaf = leaf_with(30, 30, 30, users="aab")
    assert started(leaf) == ["app0", "app2"]
    assert am_share.limit_of_user(leaf, "", "a")[0] == 50


def test_a_factor_lets_masters_of_one_user_hold_more_but_no_more_than_the_leaf_may() -> None:
    assert started(leaf_with(30, 30, 30, users="aab", user_limit_factor=2.0)) == ["app0", "app1", "app2"]
    assert am_share.limit_of_user(leaf_with(1, user_limit_factor=9.0), "", "a")[0] == 100


def test_what_stops_is_charged_no_longer() -> None:
    leaf = leaf_with(40, 40, 40)
    started(leaf)
    am_share.stop(leaf, leaf.active[0])
    assert leaf.usage.of("").masters[0] == 40
    assert started(leaf) == ["app1", "app2"]


def test_the_limit_that_was_computed_last_is_nothing_before_any_was() -> None:
    leaf = tree_of(percent("root.a", 100)).leaves()[0]
    assert not any(am_share.last_limit_of_leaf(leaf, "gpu"))
