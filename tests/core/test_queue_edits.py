"""What an edit of one queue leaves alone: the tree of capacities, other queues and applications that it is no matter of."""

from __future__ import annotations

from core.builders import Scenario
from core.test_automatic_queues import Growing
from treadle.core.model.capacity import FlexibleCreation


def shared(*names: str) -> Growing:
    cluster = Growing()
    cluster.capacity().nodes(2, cpu=20, memory=40)
    for name in names:
        cluster.share(f"root.{name}", "1w")
    cluster.plan()
    return cluster


def test_the_capacities_follow_a_new_weight_in_place_and_the_siblings_get_less() -> None:
    cluster = shared("a", "b")
    books = cluster.core.state.books
    cluster.share("root.a", "3w").plan()
    assert cluster.core.state.books is books
    assert (cluster.due("root.a"), cluster.due("root.b")) == (30, 10)


def test_the_capacities_follow_a_leaf_that_comes_or_goes_in_place() -> None:
    cluster = shared("a", "b")
    books = cluster.core.state.books
    cluster.share("root.c", "2w").plan()
    assert [cluster.due(f"root.{name}") for name in "abc"] == [10, 10, 20]
    cluster.without_queue("root.c").plan()
    assert [cluster.due(f"root.{name}") for name in "ab"] == [20, 20]
    assert cluster.core.state.books is books


def test_a_leaf_that_becomes_a_parent_makes_the_capacities_anew() -> None:
    cluster = shared("a", "b")
    books = cluster.core.state.books
    cluster.share("root.a.x", "1w").plan()
    assert cluster.core.state.books is not books
    assert cluster.due("root.a.x") == 20


def test_a_queue_that_is_made_leaves_the_capacities_as_they_are_but_for_its_siblings() -> None:
    cluster = shared("a")
    cluster.share("root.users", "1w", flexible=FlexibleCreation(enabled=True)).plan()
    books = cluster.core.state.books
    cluster.pod("p", "root.users.ann", "p", user="ann").pod("q", "root.users.bob", "q", user="bob").plan()
    assert cluster.core.state.books is books
    assert (cluster.due("root.users.ann"), cluster.due("root.users.bob"), cluster.due("root.a")) == (10, 10, 20)


def test_a_refused_edit_says_why_as_a_check_of_the_whole_does_and_the_next_good_one_is_in_force() -> None:
    cluster = shared("a", "b")
    cluster.share("root.a", "50%").plan()
    problem = cluster.core.state.tree.problems["root.a"]
    assert problem.reason == "CapacityRefused"
    assert "mixed" in problem.message
    cluster.share("root.a", "3w").plan()
    assert not cluster.core.state.tree.problems
    assert cluster.due("root.a") == 30


def test_an_application_goes_to_the_queue_that_it_asked_for_when_that_comes() -> None:
    scenario = Scenario().nodes(1).queue("root.default").queue("root.b")
    scenario.pod("p", "root.late", "app").pod("q", "root.b", "other").plan(0)
    assert scenario.core.state.applications["ns/app"].queue is scenario.core.state.tree.queues["root.default"]
    scenario.queue("root.late").plan(0)
    assert scenario.core.state.applications["ns/app"].queue is scenario.core.state.tree.queues["root.late"]


def test_what_ran_beside_the_queue_that_it_asks_for_goes_there_with_the_first_edit_after_it_stopped() -> None:
    scenario = Scenario().nodes(1).queue("root.default").queue("root.b")
    scenario.pod("p", "root.late", "app").pod("q", "root.late", "app", cpu=9)
    (bind,) = scenario.plan()
    scenario.confirm([bind]).queue("root.late", max_running=0).plan(0)
    scenario.gone("p").queue("root.b", weight=2).plan(0)
    assert scenario.core.state.applications["ns/app"].queue is scenario.core.state.tree.queues["root.late"]
