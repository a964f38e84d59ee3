"""Limits of the capacity discipline at work: users by their weights, applications at once, the largest pod, and what follows the cluster's size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.builders import GIB, a_pod, by_node, by_queue, replaced
from core.clusters import QUICK, Cluster, Partitioned, Preempting, settings
from treadle.core.effects import Evict
from treadle.core.events import ApplicationSeen, PodSeen
from treadle.core.model import ApplicationSpec
from treadle.core.units.resources import CPU, MEMORY


@pytest.fixture
def cluster() -> Cluster:
    return Cluster().capacity()


def running(cluster: Cluster) -> list[str]:
    return [record.spec.application.removeprefix("ns/") for record in cluster.core.state.pods.values() if record.spec.node]


def test_users_share_a_queue_by_their_weights(cluster: Cluster) -> None:
    cluster.share("root.a", "100%", user_limit=25.0, user_weights={"ann": 3.0}).nodes(1, cpu=16)
    for user in ("ann", "bob"):
        cluster.pods(16, user, "root.a", user, user=user)
    cluster.settle()
    assert (running(cluster).count("ann"), running(cluster).count("bob")) in {(12, 4), (11, 5), (13, 3)}


def test_a_user_has_no_less_than_the_minimum_percentage_however_many_ask() -> None:
    found = {}
    for percent in (25.0, 50.0):
        world = Cluster().capacity().share("root.a", "100%", user_limit=percent).nodes(1, cpu=16)
        for user in ("ann", "bob", "cid", "dan"):
            world.pods(16, user, "root.a", user, user=user)
        world.settle()
        found[percent] = sorted(running(world).count(user) for user in ("ann", "bob", "cid", "dan"))
    assert max(found[25.0]) == 5, "a quarter, and one pod over"
    assert max(found[50.0]) == 9, "a half, and one pod over"


def test_so_many_applications_of_a_user_run_at_once_as_the_scheduler_says() -> None:
    world = Cluster().capacity(user_max_parallel=1, user_max_parallel_of={"bob": 2})
    world.share("root.a", "100%", user_limit_factor=-1).nodes(1, cpu=16)
    for user in ("ann", "bob"):
        for number in range(3):
            world.pod(f"{user}-{number}", "root.a", f"{user}-{number}", user=user, created=float(number))
    world.settle()
    assert sorted(running(world)) == ["ann-0", "bob-0", "bob-1"]
    assert world.why("ann-1")[0] == "TooManyApplications"
    world.gone("ann-0").settle()
    assert sorted(running(world)) == ["ann-1", "bob-0", "bob-1"]


def test_so_many_applications_of_a_queue_run_at_once_as_the_scheduler_or_the_queue_says() -> None:
    world = Cluster().capacity(max_parallel=1)
    world.queue("root", max_running=10)  # the scheduler's number is that of every queue that says nothing, the root too
    world.share("root.a", "50%", user_limit_factor=-1).share("root.b", "50%", user_limit_factor=-1).nodes(1, cpu=16).settle(1)
    world.queue("root.b", capacity=world.core.state.tree.queues["root.b"].spec.capacity, max_running=2)
    for leaf in ("a", "b"):
        for number in range(3):
            world.pod(f"{leaf}-{number}", f"root.{leaf}", f"{leaf}-{number}", created=float(number))
    world.settle()
    assert sorted(running(world)) == ["a-0", "b-0", "b-1"]


def test_a_pod_larger_than_its_queue_allows_waits_and_holds_up_nobody(cluster: Cluster) -> None:
    cluster.share("root.a", "50%", "100%", user_limit_factor=-1, max_allocation={"cpu": 4000, "memory": 8 * GIB})
    cluster.share("root.b", "50%", user_limit_factor=-1).nodes(1, cpu=16)
    cluster.pod("large", "root.a", cpu=5).pod("small", "root.a", cpu=4).pod("elsewhere", "root.b", "b", cpu=5)
    assert {bind.uid for bind in cluster.plan()} == {"small", "elsewhere"}
    assert cluster.why("large")[0] == "OverMaxAllocation"


def test_an_application_without_a_priority_has_that_of_its_queue(cluster: Cluster) -> None:
    cluster.share("root.a", "100%", user_limit_factor=-1, default_application_priority=5).nodes(1, cpu=2)
    cluster.application("said", priority=3)
    cluster.pods(2, "said", "root.a", "said", created=1.0)
    cluster.pods(2, "unsaid", "root.a", "unsaid", created=2.0)
    assert {bind.application for bind in cluster.plan()} == {"ns/unsaid"}


def test_with_size_based_weight_who_asks_for_more_gets_more() -> None:
    held = {}
    for weighted in (False, True):
        world = Cluster().capacity().share("root.a", "100%", order="fair", size_based_weight=weighted, user_limit_factor=-1)
        world.nodes(1, cpu=60, memory=60)
        world.pods(100, "large", "root.a", "large").pods(35, "small", "root.a", "small")
        world.settle()
        held[weighted] = running(world).count("large")
    assert held[False] == 30
    assert held[True] > held[False]


def test_each_resource_may_have_a_kind_of_capacity_of_its_own(cluster: Cluster) -> None:
    cluster.capacity(legacy=False)
    cluster.share("root.a", "[memory=50%,cpu=4]", user_limit_factor=-1).share(
        "root.b", "[memory=1w,cpu=1w]", user_limit_factor=-1
    )
    cluster.nodes(2, cpu=10, memory=20)
    cluster.settle(1)
    queues = cluster.core.state.tree.queues
    assert [queues[path].minimum[at] for path in ("root.a", "root.b") for at in (MEMORY, CPU)] == [  # type: ignore[index]
        20 * GIB,
        4000,
        20 * GIB,
        16000,
    ]


def test_what_is_due_follows_the_size_of_the_cluster(cluster: Cluster) -> None:
    cluster.share("root.a", "25%").share("root.b", "75%", "80%").nodes(2, cpu=10)
    cluster.settle(1)
    queue = cluster.core.state.tree.queues["root.b"]
    assert queue.minimum is not None
    assert (queue.minimum[CPU], queue.maximum[CPU]) == (15000, 16000)
    cluster.nodes(2, "more", cpu=10).settle(1)
    assert (queue.minimum[CPU], queue.maximum[CPU]) == (30000, 32000)
    cluster.without_node("more-0").without_node("more-1").without_node("node-1").settle(1)
    assert (queue.minimum[CPU], queue.maximum[CPU]) == (7500, 8000)


def test_masters_of_one_user_hold_at_most_the_users_part() -> None:
    world = Cluster().capacity(master_share=0.4).share("root.a", "100%", user_limit=25.0).nodes(1, cpu=20)
    for number in range(8):
        world.pod(f"ann-{number}", "root.a", f"ann-{number}", role="master", user="ann")
    world.pod("bob-0", "root.a", "bob-0", role="master", user="bob")
    world.settle()
    placed = running(world)
    assert "bob-0" in placed
    assert len(placed) < 8
    assert world.why("ann-7")[0] == "MasterShare"


def test_the_label_that_names_partitions_may_be_another() -> None:
    world = Partitioned()
    world.scheduler(discipline="Capacity", capacity=settings(partitions={"gpu": True}), partition_label="example.com/kind")
    world.shares("root.a", "100%", "100%")
    world.node("mine", cpu=4, labels={"example.com/kind": "gpu"}).node("not", cpu=4, labels={"treadle.dev/partition": "gpu"})
    world.pods(2, "g", "root.a", "g", partition="gpu").pods(2, "d", "root.a", "d")
    assert by_node(world.plan()) == {"mine": 2, "not": 2}


def test_an_application_may_name_the_partition_for_its_pods_that_name_none() -> None:
    world = Partitioned().partitions(gpu=True).shares("root.a", "100%", "100%").machines(1, 1)
    world.tell(ApplicationSeen(ApplicationSpec("ns/app", partition="gpu")))
    world.pods(2, "p", "root.a", "app").pods(1, "other", "root.a", "other")
    assert by_node(world.plan()) == {"gpu-0": 2, "plain-0": 1}


def test_a_victim_is_given_its_time_and_is_deleted_past_budgets_only_where_that_is_asked_for() -> None:
    for delete in (False, True):
        world = Preempting()
        world.capacity(preemption=replace(QUICK, wait_before_kill=7.0, delete_blocked=delete))
        world.share("root.a", "50%", user_limit_factor=-1).share("root.b", "50%", user_limit_factor=-1).nodes(1, cpu=10)
        world.pods(10, "a", "root.a", "a").settle(1)
        world.pods(2, "b", "root.b", "b")
        victims: list[Evict] = []
        for _ in range(10):
            world.wait(1.0).confirm(world.plan())
            victims += [effect for effect in world.effects if isinstance(effect, Evict)]
        assert victims
        assert {(victim.patience, victim.delete) for victim in victims} == {(7.0, delete)}


def test_a_pod_that_is_resized_counts_as_it_is_now(cluster: Cluster) -> None:
    cluster.share("root.a", "100%", user_limit_factor=-1).nodes(1, cpu=10)
    cluster.pods(2, "p", "root.a").settle(1)
    grown = a_pod("p-0", "root.a", cpu=6)
    cluster.tell(PodSeen(replaced(cluster.core.state.pods["p-0"].spec, demand=grown.demand)))
    assert cluster.used("root.a") == 7
    cluster.pods(4, "more", "root.a")
    assert by_queue(cluster.plan()) == {"root.a": 3}


def test_a_pod_at_its_users_limit_is_placed_when_the_limit_is_raised(cluster: Cluster) -> None:
    cluster.capacity().nodes(1, cpu=10, memory=20)
    for name in "ab":
        cluster.share(f"root.{name}", "50%", user_limit_factor=0.2)
    cluster.pods(3, "p", "root.a", user="ann").settle()
    waiting = [uid for uid in ("p-0", "p-1", "p-2") if cluster.why(uid)[0] == "UserLimit"]
    assert len(waiting) == 1

    cluster.share("root.a", "50%", user_limit_factor=2.0).wait(1)
    assert [bind.uid for bind in cluster.plan()] == waiting
