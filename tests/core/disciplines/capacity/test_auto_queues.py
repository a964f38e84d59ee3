"""Queues of the capacity discipline that applications make: by which template, with what capacity, and when they go."""

from __future__ import annotations

import pytest

from core.builders import by_queue, capacity_state, replaced
from core.clusters import Growing, template
from treadle.core.events import PodSeen
from treadle.core.model.capacity import FlexibleCreation


@pytest.fixture
def cluster() -> Growing:
    return Growing()


def test_a_queue_that_is_asked_for_is_made_below_a_parent_that_allows_it(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("p", "root.users.ann", "app", user="ann")
    assert by_queue(cluster.plan()) == {"root.users.ann": 1}
    assert cluster.due("root.users.ann") == 10


def test_queues_that_are_made_share_by_the_weights_of_their_template(cluster: Growing) -> None:
    cluster.flexible(leaf=template("3w"), common=template("1w"))
    cluster.pods(30, "a", "root.users.ann", "a").pods(30, "b", "root.users.team.bob", "b").pods(
        30, "r", "root.rest", "r", user="r"
    )
    binds = by_queue(cluster.plan())
    assert cluster.due("root.users.ann") == pytest.approx(7.5)
    assert cluster.due("root.users.team") == pytest.approx(2.5)
    assert binds["root.users.ann"] > binds["root.users.team.bob"] > 0
    assert cluster.core.state.tree.queues["root.users.team"].dynamic


def test_no_queue_is_made_deeper_than_is_allowed_and_the_pod_is_told_the_limit(cluster: Growing) -> None:
    cluster.flexible(max_depth=1)
    cluster.pod("p", "root.users.a.b.c", "app")
    cluster.plan()
    reason, message = cluster.why("p")
    assert reason == "PlacementRejected"
    assert message == "queue root.users.a.b.c: it is 3 levels below root.users; allowed are 1 (maximum-queue-depth)"


def test_no_more_queues_are_made_than_a_parent_allows(cluster: Growing) -> None:
    cluster.flexible(max_queues=1)
    cluster.pod("a", "root.users.a", "a").pod("b", "root.users.b", "b")
    assert by_queue(cluster.plan()) == {"root.users.a": 1}
    assert cluster.why("b") == (
        "PlacementRejected",
        "queue root.users.b: root.users has 1 child queues, which is its limit (max-queues)",
    )


def test_an_idle_queue_goes_after_its_time_in_two_rounds_and_what_it_had_is_shared_again(cluster: Growing) -> None:
    cluster.flexible(idle_before_removal=301.0, removal_interval=300.0)
    cluster.pod("a", "root.users.a", "a").pod("b", "root.users.b", "b")
    cluster.settle(1)
    assert cluster.due("root.users.a") == 5
    cluster.gone("b")
    cluster.wait(299).plan()
    cluster.wait(1).plan()
    assert "root.users.b" in cluster.queues, "it is only marked"
    timer = cluster.core.next_timer()
    assert timer is not None
    assert timer > cluster.now
    cluster.wait(300).plan()
    assert "root.users.b" not in cluster.queues
    assert "root.users.a" in cluster.queues
    assert cluster.due("root.users.a") == 10


def test_a_queue_that_is_used_again_stays(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.gone("a").wait(400).plan()
    cluster.pod("again", "root.users.a", "again").settle(1)
    cluster.gone("again").wait(299).plan()
    assert "root.users.a" in cluster.queues
    cluster.wait(300).plan()
    cluster.wait(300).plan()
    cluster.wait(300).plan()
    assert "root.users.a" not in cluster.queues


def test_parents_that_were_made_go_after_their_children(cluster: Growing) -> None:
    cluster.flexible(idle_before_removal=2.0, removal_interval=1.0)
    cluster.pod("a", "root.users.team.a", "a").settle(1)
    cluster.gone("a")
    for _ in range(10):
        cluster.wait(1.0).plan()
    assert cluster.queues == {"root", "root.users", "root.rest"}
    assert capacity_state(cluster.core.state).automatic.removed_at is None, "nobody is woken for nothing"


def test_a_queue_made_for_good_says_so_in_its_template(cluster: Growing) -> None:
    cluster.flexible(idle_before_removal=2.0, removal_interval=1.0, leaf=template(flexible=FlexibleCreation(removal=False)))
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.gone("a")
    for _ in range(10):
        cluster.wait(1.0).plan()
    assert "root.users.a" in cluster.queues


def test_what_runs_is_put_back_where_it_was_bound_although_no_template_allows_it_any_more(cluster: Growing) -> None:
    cluster.capacity().share("root.users", "50%").share("root.rest", "50%").nodes(1, cpu=20)
    cluster.pod("r", "root.old.ann", "app", node="node-0", held_in="root.old.ann")
    assert cluster.used("root.old.ann") == 1
    assert cluster.due("root.old.ann") == 0
    cluster.plan()
    cluster.gone("r").wait(301).plan()
    assert "root.old.ann" not in cluster.queues


def test_what_runs_is_put_back_into_a_queue_with_its_template(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("r", "", "app", node="node-0", held_in="root.users.ann")
    cluster.plan()
    assert cluster.used("root.users.ann") == 1
    assert cluster.due("root.users.ann") == 10


def test_creation_is_not_switched_off_while_queues_that_were_made_are_used(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.share("root.users", "1w").plan()
    problem = cluster.core.state.tree.problems["root.users"]
    assert problem.kept
    assert (
        "queue root.users.a was made below it and has applications; it can be switched off when they have left" in problem.message
    )
    assert cluster.due("root.users.a") == 10
    cluster.gone("a").share("root.users", "2w").plan()
    assert cluster.core.state.tree.problems == {}


def test_a_queue_object_makes_a_queue_that_was_made_a_declared_one(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pods(30, "a", "root.users.a", "a").pods(30, "b", "root.users.b", "b").plan()
    cluster.share("root.users.a", "3w", user_limit_factor=-1.0).plan()
    assert not cluster.core.state.tree.queues["root.users.a"].dynamic
    assert (cluster.due("root.users.a"), cluster.due("root.users.b")) == (7.5, 2.5)


def test_an_edited_template_reaches_queues_that_were_made_already(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").pod("b", "root.users.deep.b", "b").settle(1)
    assert cluster.due("root.users.a") == 5
    cluster.share("root.users", "1w", flexible=FlexibleCreation(enabled=True, leaf=template("4w"))).plan()
    assert cluster.due("root.users.a") == 8


def test_a_queue_of_another_discipline_stays_until_it_is_empty(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.scheduler(discipline="Fair").plan()
    assert cluster.used("root.users.a") == 1
    cluster.gone("a").wait(10).plan()
    assert "root.users.a" not in cluster.queues


def test_a_managed_leaf_has_all_the_capacity_of_its_template_or_none(cluster: Growing) -> None:
    cluster.managed()
    for name in ("a", "b", "c"):
        cluster.pod(name, f"root.managed.{name}", name, created=float(ord(name)))
    cluster.plan()
    assert [cluster.due(f"root.managed.{name}") for name in "abc"] == [10, 10, 0]


def test_a_managed_leaf_without_applications_gives_its_capacity_to_one_that_has_some(cluster: Growing) -> None:
    cluster.managed()
    for name in ("a", "b", "c"):
        cluster.pod(name, f"root.managed.{name}", name, created=float(ord(name)))
    cluster.settle(1)
    cluster.gone("a").wait(1.5).plan()
    assert [cluster.due(f"root.managed.{name}") for name in "abc"] == [0, 10, 10]


def test_a_managed_leaf_for_which_there_is_no_capacity_is_not_made_if_so_wished(cluster: Growing) -> None:
    cluster.managed(fail_on_excess=True)
    for name in ("a", "b", "c"):
        cluster.pod(name, f"root.managed.{name}", name)
    cluster.plan()
    assert cluster.why("c") == ("PlacementRejected", "queue root.managed.c: the leaves of root.managed have all its capacity")


def test_only_one_level_is_made_below_a_managed_parent(cluster: Growing) -> None:
    cluster.managed().pod("p", "root.managed.a.b", "app")
    cluster.plan()
    assert cluster.why("p")[0] == "PlacementRejected"
    assert cluster.queues == {"root", "root.managed"}


def test_a_resource_that_appears_later_does_not_disturb_queues_that_were_made(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.node("gpu", cpu=20, memory=40, resources={"nvidia.com/gpu": 8})
    cluster.pod("g", "root.users.g", "g", resources={"nvidia.com/gpu": 1}).settle(2)
    assert cluster.used("root.users.g") == 1
    assert cluster.due("root.users.a") == 10


def test_a_deleted_parent_lets_what_it_made_drain(cluster: Growing) -> None:
    cluster.flexible()
    cluster.pod("a", "root.users.a", "a").settle(1)
    cluster.without_queue("root.users").plan()
    assert cluster.core.state.tree.problems["root.users"].reason == "Draining"
    assert cluster.used("root.users.a") == 1
    pod = cluster.core.state.pods["a"].spec
    cluster.tell(PodSeen(replaced(pod, finished=True)))
    cluster.wait(301).plan()
    cluster.wait(301).plan()
    assert cluster.queues == {"root", "root.rest"}
