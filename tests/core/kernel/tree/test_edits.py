"""What an edit of one queue leaves alone: the tree of capacities, other queues and applications that it is no matter of."""

from __future__ import annotations

from core.builders import Scenario, by_queue, capacities_in, limits
from core.clusters import Growing
from treadle.core.model import FAIR
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
    capacities = capacities_in(cluster.core.state)
    cluster.share("root.a", "3w").plan()
    assert capacities_in(cluster.core.state) is capacities
    assert (cluster.due("root.a"), cluster.due("root.b")) == (30, 10)


def test_the_capacities_follow_a_leaf_that_comes_or_goes_in_place() -> None:
    cluster = shared("a", "b")
    capacities = capacities_in(cluster.core.state)
    cluster.share("root.c", "2w").plan()
    assert [cluster.due(f"root.{name}") for name in "abc"] == [10, 10, 20]
    cluster.without_queue("root.c").plan()
    assert [cluster.due(f"root.{name}") for name in "ab"] == [20, 20]
    assert capacities_in(cluster.core.state) is capacities


def test_a_leaf_that_becomes_a_parent_makes_the_capacities_anew() -> None:
    cluster = shared("a", "b")
    capacities = capacities_in(cluster.core.state)
    cluster.share("root.a.x", "1w").plan()
    assert capacities_in(cluster.core.state) is not capacities
    assert cluster.due("root.a.x") == 20


def test_a_queue_that_is_made_leaves_the_capacities_as_they_are_but_for_its_siblings() -> None:
    cluster = shared("a")
    cluster.share("root.users", "1w", flexible=FlexibleCreation(enabled=True)).plan()
    capacities = capacities_in(cluster.core.state)
    cluster.pod("p", "root.users.ann", "p", user="ann").pod("q", "root.users.bob", "q", user="bob").plan()
    assert capacities_in(cluster.core.state) is capacities
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


def test_a_maximum_that_an_edit_brings_is_told_to_a_pod_that_waits_for_a_node_once_it_is_reached() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a").pods(2, "runs", "root.a", "runs")
    scenario.confirm(scenario.plan())
    scenario.pod("large", "root.a", "other", cpu=2, memory=100).plan()
    scenario.queue("root.a", maximum=limits(cpu=4)).plan()
    assert scenario.why("large")[0] == "Unschedulable"
    scenario.pods(2, "fill", "root.a", "fill").plan()
    assert scenario.why("large")[0] == "QueueMaximum"


def full_of(cluster: Scenario) -> Scenario:
    """Two queues hold as much of a full cluster, beside two pods of a third; many applications of both wait, so that an end looks for the first alone."""
    cluster.pods(2, "c", "root.c", "c-runs", created=0.0)
    for queue in ("root.a", "root.b"):
        cluster.pods(3, queue[-1], queue, f"{queue[-1]}-runs", created=0.0)
    cluster.confirm(cluster.plan())
    for number in range(30):
        queue = "ab"[number % 2]
        cluster.pods(2, f"{queue}{number}", f"root.{queue}", f"{queue}{number:02}", created=1.0)
    assert cluster.plan() == []
    return cluster


def served_by_weight(cluster: Scenario) -> list[str]:
    return [path for bind in cluster.gone("c-0", "c-1").plan() for path in by_queue([bind])]


def test_a_weight_decides_which_of_the_queues_whose_pods_wait_is_served_when_a_third_gives_back() -> None:
    def ends(weight: str) -> list[str]:
        cluster = Growing().capacity().nodes(1, cpu=8, memory=40)
        for name in "abc":
            cluster.share(f"root.{name}", "1w", user_limit_factor=-1)
        full_of(cluster)
        cluster.share("root.b", weight, user_limit_factor=-1).plan()
        return served_by_weight(cluster)

    assert ends("1w") == ["root.a", "root.b"]
    assert ends("9w") == ["root.b", "root.b"]


def test_a_weight_under_fair_decides_which_of_the_queues_whose_pods_wait_is_served_when_a_third_gives_back() -> None:
    scenario = full_of(Scenario().nodes(1, cpu=8).queue("root.a").queue("root.b").queue("root.c"))
    scenario.queue("root.b", weight=9).plan()
    assert served_by_weight(scenario) == ["root.b", "root.b"]


def test_a_policy_that_an_edit_brings_orders_the_applications_whose_pods_wait() -> None:
    scenario = Scenario().nodes(1, cpu=4).queue("root.a", policy="fair").queue("root.b")
    scenario.pods(2, "early", "root.a", "early", created=0.0).pods(2, "b", "root.b", "b")
    scenario.confirm(scenario.plan())
    scenario.pod("more", "root.a", "early", created=2.0)
    for number in range(30):
        scenario.pod(f"late{number}", "root.a", f"late{number}", created=3.0)
    assert scenario.plan() == []
    scenario.queue("root.a", policy="fifo").plan()
    assert [bind.application for bind in scenario.gone("b-0").plan()] == ["ns/early"]


def test_a_parent_whose_made_queues_have_gone_is_a_leaf_with_limits_of_its_own_again() -> None:
    cluster = Growing().flexible()
    cluster.pod("p", "root.users.ann", "app", user="ann")
    cluster.confirm(cluster.plan())
    cluster.share("root.users", "1w").plan()
    cluster.scheduler(discipline=FAIR).plan()
    cluster.capacity(removal_interval=1.0, idle_before_removal=1.0).plan()
    assert "root.users.ann" in cluster.queues
    cluster.gone("p").plan()
    for _ in range(4):
        cluster.wait(100.0).plan()
    assert "root.users.ann" not in cluster.queues
    capacities = capacities_in(cluster.core.state)
    assert capacities is not None
    rest, users = capacities.of["root.rest"], capacities.of["root.users"]
    assert not users.parental
    assert users.max_applications == rest.max_applications > 0
    cluster.pods(2, "q", "root.users", "later", user="ann")
    assert by_queue(cluster.plan()) == {"root.users": 2}
