"""Partitions that a queue keeps apart (fifo-with-partitions): their nodes serve their own applications, and those get no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.builders import replaced
from core.clusters import Partitioned
from treadle.core.events import ApplicationSeen, PodSeen, SchedulerSeen
from treadle.core.model import ApplicationSpec
from treadle.core.rules.capacity.ordering import EXCLUSIVE


class Apart(Partitioned):
    """One queue that keeps gpu apart, with one node of the default partition, one of gpu and one of fast."""

    def tree(self, *, exclusive: bool = True, enforced: tuple[str, ...] = ("gpu",), **fields: Any) -> Apart:
        self.partitions(gpu=exclusive, fast=True)
        self.shares("root.a", "100%", "100%", order=EXCLUSIVE, enforced_partitions=frozenset(enforced), **fields)
        self.machines(1, 1)
        return self

    def says(self, name: str, partition: str) -> Apart:
        self.tell(ApplicationSeen(ApplicationSpec(f"ns/{name}", "root.a", partition=partition)))
        return self


@pytest.fixture
def cluster() -> Apart:
    return Apart().tree()


def placed(cluster: Apart) -> dict[str, str]:
    return {bind.uid: bind.node for bind in cluster.plan()}


def test_nodes_of_an_enforced_partition_serve_its_own_applications_only(cluster: Apart) -> None:
    cluster.says("other", "").pod("mine", "root.a", "mine", partition="gpu")
    cluster.pod("driver", "root.a", "other", role="master").pod("worker", "root.a", "other", partition="gpu")
    assert placed(cluster) == {"mine": "gpu-0", "driver": "plain-0"}
    reason, message = cluster.why("worker")
    assert reason == "PartitionDenied"
    assert message == (
        "queue root.a gives nodes of partition gpu to applications of that partition only (enforcedPartitions), "
        "and ns/other is one of the default partition"
    )


def test_an_application_of_an_enforced_partition_gets_no_other_nodes(cluster: Apart) -> None:
    cluster.pod("driver", "root.a", role="master", partition="gpu").pod("worker", "root.a")
    assert placed(cluster) == {"driver": "gpu-0"}
    reason, message = cluster.why("worker")
    assert reason == "PartitionDenied"
    assert message == (
        "application ns/app is one of partition gpu, and queue root.a gives such applications nodes of that partition only "
        "(enforcedPartitions)"
    )


def test_the_master_decides_where_an_application_belongs_also_if_it_comes_later(cluster: Apart) -> None:
    cluster.pod("worker", "root.a", created=5.0)
    cluster.pod("driver", "root.a", role="master", partition="gpu", created=9.0)
    assert placed(cluster) == {"driver": "gpu-0"}
    assert cluster.why("worker")[0] == "PartitionDenied"


def test_without_a_master_the_object_decides_and_else_the_first_pod(cluster: Apart) -> None:
    cluster.says("said", "gpu").pod("s", "root.a", "said")
    cluster.pod("second", "root.a", "first", created=2.0).pod("first", "root.a", "first", partition="gpu", created=1.0)
    assert placed(cluster) == {"s": "gpu-0", "first": "gpu-0"}
    assert cluster.why("second")[0] == "PartitionDenied"


def test_that_the_master_has_ended_changes_nothing(cluster: Apart) -> None:
    cluster.pod("driver", "root.a", role="master", partition="gpu", created=1.0)
    cluster.pod("worker", "root.a", partition="gpu", created=2.0)
    cluster.confirm(cluster.plan()).gone("driver").pod("next", "root.a", created=3.0)
    assert placed(cluster) == {}
    assert cluster.why("next")[0] == "PartitionDenied"


def test_the_default_partition_of_the_queue_is_that_of_applications_that_say_nothing() -> None:
    cluster = Apart().tree(default_partition="gpu")
    cluster.pod("p", "root.a")
    assert placed(cluster) == {"p": "gpu-0"}


def test_partitions_that_are_not_enforced_share_one_list(cluster: Apart) -> None:
    from core.clusters import LABEL
    from treadle.controllers.capacity import capacity as read
    from treadle.core.model.capacity import CapacityQueueSpec, PartitionShare

    cluster.node("fast-0", cpu=10, memory=20, labels={LABEL: "fast"})
    shares = {name: PartitionShare(read("guaranteed", "100%")) for name in ("", "gpu", "fast")}
    spec = CapacityQueueSpec(
        "root.a", partitions=shares, user_limit_factor=-1, order=EXCLUSIVE, enforced_partitions=frozenset({"gpu"})
    )
    cluster.queue("root.a", capacity=spec)
    cluster.pod("driver", "root.a", role="master").pod("worker", "root.a", partition="fast")
    assert placed(cluster) == {"driver": "plain-0", "worker": "fast-0"}


def test_idle_nodes_of_an_enforced_partition_are_not_lent_to_others() -> None:
    cluster = Apart().tree(exclusive=False)
    cluster.pods(12, "p", "root.a")
    assert set(placed(cluster).values()) == {"plain-0"}
    assert cluster.why("p-11")[0] == "Unschedulable"


def test_edits_let_in_and_shut_out_what_waits(cluster: Apart) -> None:
    cluster.pod("driver", "root.a", role="master").pod("p", "root.a", partition="gpu")
    assert placed(cluster) == {"driver": "plain-0"}
    cluster.says("app", "gpu")
    assert placed(cluster) == {"p": "gpu-0"}
    cluster.says("other", "fast").pod("q", "root.a", "other", partition="gpu")
    assert placed(cluster) == {}
    cluster.shares("root.a", "100%", "100%")
    assert placed(cluster) == {"q": "gpu-0"}
    cluster.pod("r", "root.a", "other", partition="gpu")
    cluster.shares("root.a", "100%", "100%", order=EXCLUSIVE, enforced_partitions=frozenset({"gpu"}))
    assert placed(cluster) == {}
    assert cluster.why("r")[0] == "PartitionDenied"


def test_a_queue_that_gets_access_to_a_partition_lets_in_what_waits() -> None:
    cluster = Partitioned().partitions(gpu=True)
    cluster.shares("root.a", "100%", None, accessible=frozenset()).machines(1, 1)
    cluster.pod("g", "root.a", partition="gpu")
    assert cluster.plan() == []
    assert cluster.why("g")[0] == "PartitionDenied"
    cluster.shares("root.a", "100%", "100%", accessible=frozenset({"gpu"}))
    assert len(cluster.plan()) == 1


def test_what_runs_in_the_wrong_partition_goes_on(cluster: Apart) -> None:
    cluster.tell(PodSeen(replaced(cluster.pod("driver", "root.a", role="master").core.state.pods["driver"].spec, node="gpu-0")))
    cluster.pod("worker", "root.a")
    assert placed(cluster) == {"worker": "plain-0"}
    assert "driver" in cluster.core.state.pods


def test_a_switch_of_the_discipline_lets_everybody_in(cluster: Apart) -> None:
    cluster.says("app", "fast").pod("p", "root.a", partition="gpu")
    assert placed(cluster) == {}
    cluster.scheduler(discipline="Fair")
    assert set(placed(cluster)) == {"p"}


def test_an_application_whose_pods_are_taken_over_anew_still_belongs_to_its_partition(cluster: Apart) -> None:
    cluster.plan()
    cluster.pod("mine", "root.a", partition="gpu")
    cluster.tell(SchedulerSeen(replace(cluster.core.state.scheduler, aliases=("another",))))
    assert placed(cluster) == {"mine": "gpu-0"}
