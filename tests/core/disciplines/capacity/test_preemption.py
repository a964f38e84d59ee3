"""Live preemption under the capacity discipline: what is guaranteed comes back, and nobody goes for more than that."""

from __future__ import annotations

import pytest

from core.builders import a_pod
from core.clusters import LABEL, QUICK, Partitioned, Preempting, settings
from treadle.core.effects import Evict
from treadle.core.events import EvictFailed, PodSeen
from treadle.core.model import PodSpec
from treadle.core.model.capacity import CapacityQueueSpec
from treadle.core.rules.capacity.calculators import AllTypes


def with_gpu(name: str, queue: str) -> PodSpec:
    return a_pod(name, f"root.{queue}", queue, resources={"nvidia.com/gpu": 1})


@pytest.fixture
def cluster() -> Preempting:
    return Preempting()


def test_borrowed_capacity_comes_back_to_whom_it_is_guaranteed(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(30, "a", "root.a", "a")
    cluster.run(1)
    assert cluster.running() == {"a": 20}
    cluster.pods(30, "b", "root.b", "b")
    asked = cluster.run(8)
    assert cluster.running() == {"a": 10, "b": 10}
    assert len(asked) == 10
    assert {one.queue for one in asked} == {"root.a"}
    assert asked[0].why == "queue root.b is owed what queue root.a holds beyond what it is guaranteed"
    assert cluster.run(20) == []


def test_a_queue_that_lacks_less_than_a_pod_is_helped_as_far_as_others_keep_what_they_are_guaranteed(cluster: Preempting) -> None:
    """Guarantees of 40, 40 and 20 of a hundred, pods of a quarter each. Hadoop ends with 1, 2 and 1: its last victim brings its queue below the guarantee."""
    cluster.preempting().share("root.a", "40%").share("root.b", "40%").share("root.c", "20%").nodes(1, cpu=8, memory=32)
    cluster.pods(4, "a", "root.a", "a", cpu=2, memory=8)
    cluster.run(1)
    cluster.pods(4, "b", "root.b", "b", cpu=2, memory=8).pods(4, "c", "root.c", "c", cpu=2, memory=8)
    cluster.run(20)
    assert cluster.running() == {"a": 2, "b": 1, "c": 1}
    assert cluster.run(60) == []


def test_nothing_is_preempted_unless_it_is_asked_for(cluster: Preempting) -> None:
    cluster.preempting(enabled=False).share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(30, "a", "root.a", "a")
    cluster.run(1)
    cluster.pods(30, "b", "root.b", "b")
    assert cluster.run(8) == []


def test_observing_only_asks_nobody_to_go_and_holds_nothing(cluster: Preempting) -> None:
    cluster.preempting(observe_only=True).share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(30, "a", "root.a", "a")
    cluster.run(1)
    cluster.pods(30, "b", "root.b", "b")
    assert cluster.run(8) == []
    assert not cluster.core.state.preemption.holds
    assert any("would preempt" in str(step) for step in cluster.core.state.story.newest())


def test_a_round_takes_a_part_of_the_cluster_at_the_most(cluster: Preempting) -> None:
    cluster.preempting(per_round=0.1).share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(30, "a", "root.a", "a")
    cluster.run(1)
    cluster.pods(30, "b", "root.b", "b")
    assert [len(cluster.run(1)) for _ in range(7)] == [2, 2, 2, 2, 2, 0, 0]


def test_a_round_takes_only_a_part_of_what_is_borrowed_and_leaves_the_rest_to_end_by_itself(cluster: Preempting) -> None:
    cluster.preempting(natural_termination=0.2).share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(30, "a", "root.a", "a")
    cluster.run(1)
    cluster.pods(30, "b", "root.b", "b")
    assert len(cluster.run(1)) == 2
    cluster.run(30)
    assert cluster.running()["b"] >= 9  # what is within the dead zone of 10% is not taken


def test_a_queue_that_may_not_be_preempted_keeps_what_it_has(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "30%", disable_preemption=True).share("root.b", "30%").share("root.c", "40%").nodes(5)
    cluster.pods(10, "a", "root.a", "a")
    cluster.pods(10, "b", "root.b", "b")
    cluster.run(1)
    cluster.pods(30, "c", "root.c", "c")
    asked = cluster.run(10)
    assert {one.queue for one in asked} == {"root.b"}
    assert cluster.running()["a"] == 10


def test_below_a_full_parent_one_child_gives_back_to_the_other(cluster: Preempting) -> None:
    cluster.preempting().share("root.prod", "40%").share("root.dev", "60%", "60%")
    cluster.share("root.dev.eng", "50%").share("root.dev.science", "50%").nodes(5)
    cluster.pods(30, "eng", "root.dev.eng", "eng")
    cluster.run(1)
    assert cluster.running() == {"eng": 12}
    cluster.pods(30, "science", "root.dev.science", "science")
    cluster.run(10)
    assert cluster.running() == {"eng": 6, "science": 6}


class Both(Preempting, Partitioned):
    """With partitions."""


def test_cores_come_back_from_a_queue_that_is_guaranteed_more_memory_than_it_uses(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "[cpu=16,memory=8Gi]").share("root.b", "[cpu=4,memory=72Gi]").nodes(5)
    cluster.pods(15, "b", "root.b", "b").run(1)
    assert cluster.running() == {"b": 15}
    cluster.pods(30, "a", "root.a", "a", memory=0)
    asked = cluster.run(10)
    assert cluster.running() == {"a": 16, "b": 4}
    assert {one.queue for one in asked} == {"root.b"}
    cluster.pods(10, "c", "root.b", "c", memory=8).run(20)
    assert cluster.running()["a"] == 16


@pytest.mark.parametrize("began", [0, 1, 2, 3])
def test_a_borrower_gives_back_every_gpu_of_which_it_is_guaranteed_none(cluster: Preempting, began: int) -> None:
    cluster.preempting(ignored_over_capacity=0.0)
    cluster.share("root.a", "[memory=50Gi,cpu=5,nvidia.com/gpu=4]").share("root.b", "[memory=50Gi,cpu=5]")
    cluster.nodes(1, cpu=10, memory=100, resources={"nvidia.com/gpu": 4})
    for name, count in (("a", began), ("b", 8)):
        cluster.tell(*(PodSeen(with_gpu(f"{name}-{number}", name)) for number in range(count)))
        cluster.run(2)
    cluster.tell(*(PodSeen(with_gpu(f"a-more{number}", "a")) for number in range(4 - began)))
    cluster.run(20)
    assert cluster.running() == {"a": 4}


@pytest.mark.parametrize("guaranteed", ["1", "100Ki", "10Mi"])
def test_a_round_is_short_though_a_queue_is_guaranteed_next_to_nothing_of_a_type(cluster: Preempting, guaranteed: str) -> None:
    cluster.preempting().share("root.a", f"[cpu=10,memory={guaranteed}]").share("root.b", "[cpu=10,memory=79Gi]").nodes(5)
    cluster.pods(15, "a", "root.a", "a").run(1)
    cluster.pods(20, "b", "root.b", "b", memory=0).run(3)
    assert cluster.running()["b"] >= 8


def test_what_is_borrowed_in_a_partition_comes_back_though_a_type_is_in_that_partition_alone() -> None:
    both = Both()
    both.scheduler(discipline="Capacity", capacity=settings(preemption=QUICK, partitions={"gpu": True}))
    both.shares("root.a", "50%", "50%").shares("root.b", "50%", "50%").nodes(2, "plain", cpu=10, memory=20)
    both.nodes(2, "gpu", cpu=10, memory=20, labels={LABEL: "gpu"}, resources={"nvidia.com/gpu": 4})
    both.pods(20, "b", "root.b", "b", partition="gpu").run(1)
    assert both.running() == {"b": 20}
    both.pods(20, "a", "root.a", "a", partition="gpu").run(8)
    assert both.running() == {"b": 10, "a": 10}


def test_lent_nodes_come_back_to_their_partition() -> None:
    both = Both()
    both.scheduler(discipline="Capacity", capacity=settings(preemption=QUICK, partitions={"gpu": False}))
    both.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%").machines(1, 1)
    both.pods(20, "b", "root.b", "b")
    both.run(1)
    assert both.running() == {"b": 20}
    both.pods(6, "a", "root.a", "a", partition="gpu")
    asked = both.run(8)
    assert both.running() == {"b": 14, "a": 6}
    assert len(asked) == 6


def test_masters_are_the_last_to_go(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "50%", master_share=1.0).share("root.b", "50%").nodes(1, cpu=10)
    cluster.pod("driver-0", "root.a", "a", role="master", created=9.0)
    cluster.pods(9, "a", "root.a", "a", created=1.0)
    cluster.run(1)
    cluster.pods(5, "b", "root.b", "b")
    asked = cluster.run(8)
    assert len(asked) == 5
    assert "driver-0" not in {one.uid for one in asked}


def test_the_newest_and_least_urgent_go_first(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=10)
    for number in range(10):
        cluster.pod(f"a-{number}", "root.a", "a", created=float(number), priority=5 if number == 9 else 0)
    cluster.run(1)
    cluster.pods(2, "b", "root.b", "b")
    assert {one.uid for one in cluster.run(5)} == {"a-8", "a-7"}


def test_applications_of_higher_priority_go_before_those_of_the_same_queue(cluster: Preempting) -> None:
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%").nodes(1, cpu=10)
    cluster.pods(10, "low", "root.a", "low")
    cluster.run(1)
    cluster.application("high", priority=10)
    cluster.pods(3, "high", "root.a", "high")
    asked = cluster.run(10)
    assert len(asked) == 3
    assert cluster.running() == {"low": 7, "high": 3}
    assert asked[0].why == "application ns/high comes before ns/low in queue root.a"


def test_large_pods_of_higher_priority_all_get_room_though_the_least_urgent_are_on_other_nodes(cluster: Preempting) -> None:
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%").nodes(5, cpu=4)
    places = [0, 0, 1, 2, 3, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4]  # beside one of them there is room for a large one
    for number, place in enumerate(places):
        cluster.pod(f"low-{number}", "root.a", f"low-{number}", cpu=0.9, created=float(number), node=f"node-{place}")
    for number in range(5):
        cluster.application(f"high-{number}", priority=10)
        cluster.pod(f"high-{number}", "root.a", f"high-{number}", cpu=3)
    asked = cluster.run(10)
    assert cluster.running() == {"high": 5, "low": 5}
    assert len(asked) == 15


def test_a_round_within_a_queue_looks_at_each_application_a_few_times_however_many_there_are(
    cluster: Preempting, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    compare = AllTypes.compare

    def counted(self: AllTypes, *amounts: list[int]) -> int:
        nonlocal compared
        compared += 1
        return compare(self, *amounts)

    monkeypatch.setattr(AllTypes, "compare", counted)
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%").nodes(50, cpu=4)
    for number in range(200):
        cluster.pod(f"low-{number}", "root.a", f"low-{number}", created=float(number), node=f"node-{number // 4}")
        cluster.pod(f"high-{number}", "root.a", f"high-{number}", created=float(number), priority=10)
    assert len(cluster.run(1)) == 200
    assert compared < 40 * 400


def test_a_user_below_the_limit_gets_what_another_has_over_it(cluster: Preempting) -> None:
    cluster.preempting(intra_queue=True, intra_limit=1.0)
    cluster.share("root.a", "100%", user_limit=50.0).nodes(1, cpu=10)
    cluster.pods(10, "ann", "root.a", "ann", user="ann")
    cluster.run(1)
    cluster.pods(10, "bob", "root.a", "bob", user="bob")
    cluster.run(20)
    running = cluster.running()
    assert running["ann"] + running["bob"] == 10
    assert running["bob"] in {4, 5}


def test_a_queue_of_higher_priority_takes_from_lower_ones_what_it_is_guaranteed(cluster: Preempting) -> None:
    cluster.preempting(by_priority=True)
    cluster.queue("root", capacity=CapacityQueueSpec("root", order="priority-utilization"))
    cluster.share("root.low", "50%").share("root.high", "50%", priority=1).nodes(1, cpu=10)
    cluster.pods(5, "low", "root.low", "low")
    cluster.pods(5, "high", "root.high", "high")
    cluster.run(1)
    cluster.gone(*(f"high-{number}" for number in range(3)))
    cluster.pods(3, "low2", "root.low", "low2")
    cluster.run(1)
    cluster.pods(3, "high2", "root.high", "high2")
    cluster.run(6)
    assert cluster.running()["high2"] == 3


def test_a_victim_that_stays_ends_the_hold_and_others_are_looked_for(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "50%").share("root.b", "50%").nodes(1, cpu=4)
    cluster.pods(4, "a", "root.a", "a")
    cluster.run(1)
    cluster.pods(1, "b", "root.b", "b")
    cluster.wait(1.0).plan()
    first = [effect for effect in cluster.effects if isinstance(effect, Evict)]
    assert len(first) == 1
    cluster.tell(EvictFailed(first[0].uid, "a disruption budget"))
    cluster.wait(1.0).plan()
    second = [effect for effect in cluster.effects if isinstance(effect, Evict)]
    assert len(second) == 1
    assert second[0].uid != first[0].uid


def test_nobody_goes_for_a_pod_that_no_node_could_take(cluster: Preempting) -> None:
    cluster.preempting().share("root.a", "50%").share("root.b", "50%").nodes(5)
    cluster.pods(20, "a", "root.a", "a")
    cluster.run(1)
    cluster.pod("b-0", "root.b", "b", cpu=8)
    assert cluster.run(5) == []


@pytest.mark.parametrize("which", ["disable_intra_preemption", "disable_preemption"])
def test_a_queue_may_keep_its_applications_from_preempting_each_other(cluster: Preempting, which: str) -> None:
    cluster.preempting(intra_queue=True, intra_by_priority=True, intra_limit=1.0)
    cluster.share("root.a", "100%", **{which: True}).nodes(1, cpu=10)
    cluster.pods(10, "low", "root.a", "low")
    cluster.run(1)
    cluster.application("high", priority=10)
    cluster.pods(3, "high", "root.a", "high")
    assert cluster.run(5) == []


def test_what_nobody_is_guaranteed_is_balanced_only_if_that_is_asked_for() -> None:
    for balance in (False, True):
        world = Preempting().preempting(balance=balance, ignored_over_capacity=0.0)
        world.share("root.a", "10%").share("root.b", "10%").share("root.idle", "80%").nodes(5)
        world.pods(20, "a", "root.a", "a")
        world.run(1)
        world.pods(20, "b", "root.b", "b")
        world.run(15)
        assert world.running()["b"] == (10 if balance else 2)
