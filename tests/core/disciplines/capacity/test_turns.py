"""The capacity discipline at work: who is served next, what a queue and a user may have, and what a pod that waits is told."""

from __future__ import annotations

import pytest

from core.builders import by_queue
from core.clusters import Cluster
from treadle.controllers.capacity import capacity as read
from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_queues_get_what_they_are_guaranteed_when_all_want_more(cluster: Cluster) -> None:
    cluster.classic().nodes(5, cpu=20, memory=40)
    for leaf in ("prod", "dev.eng", "dev.science"):
        cluster.pods(100, leaf, f"root.{leaf}", leaf)
    binds = by_queue(cluster.plan())
    assert binds == {"root.prod": 40, "root.dev.eng": 30, "root.dev.science": 30}


def test_a_queue_borrows_what_others_do_not_use_up_to_its_maximum_and_says_so(cluster: Cluster) -> None:
    cluster.classic().nodes(5, cpu=20, memory=40)
    cluster.pods(100, "e", "root.dev.eng")
    assert by_queue(cluster.plan()) == {"root.dev.eng": 75}
    assert cluster.why("e-99") == (
        "QueueMaximum",
        "queue root.dev is at its maximum (capacity.maximum): cpu 75 used of 75, 1 wanted, 1 missing",
    )


def test_one_user_has_at_most_the_guarantee_times_the_factor(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=10)
    cluster.pods(10, "p", "root.a", user="ann")
    assert len(cluster.plan()) == 6  # the limit is looked at before a pod is added, as in YARN
    reason, message = cluster.why("p-9")
    assert reason == "UserLimit"
    assert message == (
        "user ann holds cpu 6 in queue root.a of the 5 that one user may have now "
        "(minimumUserLimitPercent 100, userLimitFactor 1, 1 active user)"
    )


def test_two_users_share_a_queue_and_the_one_left_gets_more_when_the_other_is_done(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "100%", user_limit=50.0).nodes(1, cpu=10)
    cluster.pods(10, "ann", "root.a", "ann", user="ann")
    cluster.pods(10, "bob", "root.a", "bob", user="bob")
    cluster.settle()
    running = [record.spec.user for record in cluster.core.state.pods.values() if record.spec.node]
    assert sorted((running.count("ann"), running.count("bob"))) == [4, 6]
    fewer = min("ann", "bob", key=running.count)
    more = "bob" if fewer == "ann" else "ann"
    cluster.gone(*(f"{more}-{number}" for number in range(10))).settle()
    running = [record.spec.user for record in cluster.core.state.pods.values() if record.spec.node]
    assert running.count(fewer) == 10


def test_who_finds_a_queue_full_is_not_overtaken_by_a_smaller_one(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%", "50%").share("root.b", "50%").nodes(2, cpu=10)
    cluster.pods(9, "s", "root.a", "s", created=1.0)
    cluster.settle()
    cluster.pod("large", "root.a", "large", cpu=2, created=2.0)
    cluster.pod("small", "root.a", "small", created=3.0)
    assert cluster.plan() == []
    assert cluster.why("large")[0] == "QueueMaximum"
    assert cluster.why("small")[0] == "WaitingForTurn"
    cluster.gone("s-0")
    assert [bind.uid for bind in cluster.plan()] == ["large"]
    cluster.gone("s-1")
    assert [bind.uid for bind in cluster.plan()] == ["small"]


def test_an_ask_for_more_than_the_maximum_blocks_nobody(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%", "50%").share("root.b", "50%").nodes(2, cpu=10)
    cluster.pod("huge", "root.a", "huge", cpu=11, created=1.0)
    cluster.pod("small", "root.a", "small", created=2.0)
    assert [bind.uid for bind in cluster.plan()] == ["small"]


def test_a_blocked_queue_goes_on_when_the_one_that_found_it_full_is_deleted(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%", "50%").share("root.b", "50%").nodes(2, cpu=10)
    cluster.pods(9, "s", "root.a", "s", created=1.0)
    cluster.settle()
    cluster.pod("large", "root.a", "large", cpu=2, created=2.0)
    cluster.pod("small", "root.a", "small", created=3.0)
    cluster.plan()
    cluster.gone("large")
    assert [bind.uid for bind in cluster.plan()] == ["small"]


def test_masters_of_a_queue_hold_at_most_their_part_of_it(cluster: Cluster) -> None:
    cluster.capacity(master_share=0.2)
    cluster.share("root.a", "100%").nodes(1, cpu=10)
    for number in range(4):
        cluster.pod(f"driver-{number}", "root.a", f"app-{number}", role="master", user=f"user-{number}")
    assert len(cluster.plan()) == 2
    reason, message = cluster.why("driver-3")
    assert reason == "MasterShare"
    assert "hold cpu 2 of the 2 that they may together (maximumAMResourcePercent), 1 wanted" in message
    cluster.settle().gone("driver-0")
    assert len(cluster.plan()) == 1


def test_the_urgent_application_of_a_queue_is_first(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "100%").nodes(1, cpu=1)
    cluster.application("late", priority=5)
    cluster.pod("early", "root.a", "early", created=1.0)
    cluster.pod("late", "root.a", "late", created=2.0)
    assert [bind.uid for bind in cluster.plan()] == ["late"]


def test_priorities_have_a_ceiling(cluster: Cluster) -> None:
    cluster.capacity(max_priority=0)
    cluster.share("root.a", "100%").nodes(1, cpu=1)
    cluster.application("late", priority=5)
    cluster.pod("early", "root.a", "early", created=1.0)
    cluster.pod("late", "root.a", "late", created=2.0)
    assert [bind.uid for bind in cluster.plan()] == ["early"]


def test_a_fair_leaf_serves_who_has_least(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "100%", order="fair", user_limit_factor=-1).nodes(1, cpu=6)
    cluster.pods(10, "one", "root.a", "one", created=1.0)
    cluster.pods(10, "two", "root.a", "two", created=2.0)
    binds = [bind.uid.partition("-")[0] for bind in cluster.plan()]
    assert (binds.count("one"), binds.count("two")) == (3, 3)


def test_a_queue_of_higher_priority_is_first_while_both_are_below_their_guarantee(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.queue("root", capacity=CapacityQueueSpec("root", order="priority-utilization"))
    cluster.share("root.low", "50%").share("root.high", "50%", priority=1).nodes(1, cpu=10)
    cluster.pods(10, "low", "root.low", "low")
    cluster.pods(10, "high", "root.high", "high")
    first = [bind.queue for bind in cluster.plan(budget=5)]
    assert first == ["root.high"] * 5


def test_a_percentage_of_the_cluster_is_what_people_mean_by_it(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "70%", "70%", user_limit_factor=-1).share("root.b", "30%").nodes(1, cpu=100, memory=400)
    cluster.pods(100, "p", "root.a")
    assert len(cluster.plan()) == 70


def test_absolute_capacities_are_scaled_when_the_cluster_is_smaller(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "[memory=80Gi,cpu=80]", user_limit_factor=-1)
    cluster.share("root.b", "[memory=20Gi,cpu=20]", user_limit_factor=-1).nodes(1, cpu=50, memory=50)
    cluster.pods(60, "a", "root.a", "a")
    cluster.pods(60, "b", "root.b", "b")
    assert by_queue(cluster.plan()) == {"root.a": 40, "root.b": 10}


def test_a_queue_may_have_quantities_of_devices_that_no_node_has_yet(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "[memory=10Gi,cpu=10,example.com/gpu=2]", "[memory=10Gi,cpu=10,example.com/gpu=2]")
    cluster.share("root.b", "[memory=10Gi,cpu=10]").nodes(1, cpu=20, memory=20)
    cluster.pods(3, "p", "root.a", "p", resources={"example.com/gpu": 1})
    assert cluster.plan() == []
    cluster.node("devices", cpu=20, memory=20, resources={"example.com/gpu": 4}).wait(1.0)
    assert len(cluster.plan()) == 2
    assert (
        cluster.why("p-2")[1]
        == "queue root.a is at its maximum (capacity.maximum): example.com/gpu 2 used of 2, 1 wanted, 1 missing"
    )


def test_weights_share_like_percentages(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "3w", user_limit_factor=-1).share("root.b", "1w", user_limit_factor=-1).nodes(1, cpu=40, memory=80)
    cluster.pods(40, "a", "root.a", "a")
    cluster.pods(40, "b", "root.b", "b")
    assert by_queue(cluster.plan()) == {"root.a": 30, "root.b": 10}


# -- one tree, two disciplines


def test_a_tree_without_capacities_keeps_the_fair_discipline_and_says_why(cluster: Cluster) -> None:
    cluster.queue("root.a").capacity().nodes()
    cluster.pod("p", "root.a")
    assert len(cluster.plan()) == 1
    state = cluster.core.state
    assert state.discipline.name == "Fair"
    assert state.discipline_problem == (
        "spec.discipline: Capacity cannot be in force: root.a: spec.capacity is missing, which the discipline Capacity needs of every "
        "queue but the root; Fair stays in force"
    )


def test_the_discipline_changes_as_soon_as_the_tree_allows_it_and_back(cluster: Cluster) -> None:
    cluster.queue("root.a").capacity().nodes(1, cpu=10)
    cluster.pods(4, "p", "root.a", user="ann")
    cluster.settle()
    cluster.share("root.a", "100%", "50%")
    cluster.pods(8, "q", "root.a", "q", user="ann")
    cluster.settle()
    assert cluster.core.state.discipline.name == "Capacity"
    assert cluster.used("root.a") == 5
    cluster.scheduler(discipline="Fair").settle()
    assert cluster.used("root.a") == 10


def test_definitions_that_do_not_go_together_leave_the_last_good_set_in_force(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%", "50%").share("root.b", "50%", "50%").nodes(1, cpu=10)
    cluster.settle().share("root.a", "80%", "80%").plan()
    problem = cluster.core.state.tree.problems["root.a"]
    assert (problem.reason, problem.kept) == ("CapacityRefused", True)
    assert "the children's sum is 130%" in problem.message
    cluster.pods(10, "p", "root.a", user="ann")
    assert len(cluster.plan()) == 5
    cluster.share("root.b", "20%").settle()
    assert cluster.core.state.tree.problems == {}
    assert cluster.used("root.a") == 8


def test_a_stopped_queue_drains_and_takes_nobody(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "100%").nodes(1, cpu=10)
    cluster.pod("old", "root.a", "old")
    cluster.settle()
    cluster.share("root.a", "100%", running=False)
    cluster.pod("new", "root.a", "new")
    cluster.settle()
    assert cluster.core.state.tree.queues["root.a"].state == "Draining"
    assert cluster.why("new")[0] == "QueueStopped"
    cluster.gone("old", "new").settle()
    assert cluster.core.state.tree.queues["root.a"].state == "Stopped"


def test_a_deleted_queue_in_use_drains_without_a_guarantee(cluster: Cluster) -> None:
    cluster.capacity()
    cluster.share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=10)
    cluster.pods(2, "a", "root.a", "a")
    cluster.settle()
    cluster.without_queue("root.a").share("root.b", "100%")
    cluster.pods(20, "b", "root.b", "b")
    cluster.settle()
    assert cluster.used("root.b") == 8
    assert cluster.core.state.tree.queues["root.a"].state == "Draining"


def test_what_a_refused_edit_keeps_may_not_go_with_the_rest_and_pods_are_placed_all_the_same(cluster: Cluster) -> None:
    cluster.queue("root", policy="fair").queue("root.a", policy="fair").nodes(1, cpu=10)
    cluster.plan()
    block = CapacityQueueSpec("root.a", partitions={"": PartitionShare(read("guaranteed", "100%"))})
    cluster.queue("root.a", policy="drf", capacity=block).capacity()
    cluster.pods(3, "p", "root.a")
    assert len(cluster.plan()) == 3
    state = cluster.core.state
    assert state.tree.problems["root.a"].reason == "ParentPolicy"
    assert state.discipline_problem.startswith("all queues share alike, since the capacities in force do not go together: root.a")
    cluster.queue("root.a", policy="fair", capacity=block)
    cluster.pods(3, "q", "root.a", "q")
    assert len(cluster.plan()) == 3
    assert state.discipline_problem == ""
