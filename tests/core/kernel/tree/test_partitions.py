"""Partitions of nodes: each is shared on its own, shareable ones lend what nobody there asks for."""

from __future__ import annotations

from typing import Any

import pytest

from core.builders import by_node, by_queue, replaced
from core.clusters import LABEL, Partitioned
from treadle.core.events import NodeSeen


@pytest.fixture
def cluster() -> Partitioned:
    found = Partitioned().partitions(gpu=True)
    return found.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%")


def nodes_of(binds: Any) -> set[str]:
    return {bind.node.partition("-")[0] for bind in binds}


def test_pods_go_to_the_nodes_of_the_partition_that_they_ask_for(cluster: Partitioned) -> None:
    cluster.machines(1, 1)
    cluster.pods(3, "g", "root.a", "g", partition="gpu")
    cluster.pods(3, "d", "root.a", "d")
    assert by_node(cluster.plan()) == {"gpu-0": 3, "plain-0": 3}


def test_an_exclusive_partition_stays_idle_rather_than_serve_others(cluster: Partitioned) -> None:
    cluster.machines(1, 1)
    cluster.pods(15, "d", "root.a", "d")
    assert by_node(cluster.plan()) == {"plain-0": 10}
    assert cluster.why("d-14") == (
        "Unschedulable",
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were in another partition.",
    )


def test_a_shareable_partition_lends_what_nobody_there_asks_for() -> None:
    cluster = Partitioned().partitions(gpu=False)
    cluster.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%").machines(1, 1)
    cluster.pods(15, "d", "root.b", "d")
    assert by_node(cluster.plan()) == {"plain-0": 10, "gpu-0": 5}
    part = cluster.core.state.tree.queues["root.b"].parts["gpu"]
    assert part.usage[1] == 5000


def test_who_asks_for_a_shareable_partition_is_served_before_it_is_lent() -> None:
    cluster = Partitioned().partitions(gpu=False)
    cluster.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%").machines(1, 1)
    cluster.pods(15, "d", "root.b", "d")
    cluster.pods(8, "g", "root.a", "g", partition="gpu")
    binds = cluster.plan()
    assert by_queue([bind for bind in binds if bind.node == "gpu-0"]) == {"root.a": 8, "root.b": 2}


def test_masters_are_not_placed_on_what_is_lent() -> None:
    cluster = Partitioned().partitions(gpu=False)
    cluster.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%").machines(0, 1)
    cluster.pod("driver", "root.b", "d", role="master")
    cluster.pod("worker", "root.b", "d")
    assert [bind.uid for bind in cluster.plan()] == ["worker"]


def test_shares_and_orders_are_those_of_the_partition() -> None:
    cluster = Partitioned().partitions(gpu=True)
    cluster.shares("root.a", "50%", "20%").shares("root.b", "50%", "80%").machines(1, 1)
    for name in "ab":
        cluster.pods(20, f"{name}g", f"root.{name}", f"{name}g", partition="gpu")
        cluster.pods(20, f"{name}d", f"root.{name}", f"{name}d")
    binds = cluster.plan()
    assert by_queue([bind for bind in binds if bind.node == "gpu-0"]) == {"root.a": 2, "root.b": 8}
    assert by_queue([bind for bind in binds if bind.node == "plain-0"]) == {"root.a": 5, "root.b": 5}


def test_the_maximum_of_a_partition_is_its_own() -> None:
    cluster = Partitioned().partitions(gpu=True)
    cluster.shares("root.a", "50%", "20%", "30%").shares("root.b", "50%", "80%").machines(1, 1)
    cluster.pods(20, "g", "root.a", "g", partition="gpu")
    assert len(cluster.plan()) == 3
    assert cluster.why("g-19") == (
        "QueueMaximum",
        "queue root.a is at its maximum of partition gpu (capacity.maximum): cpu 3 used of 3, 1 wanted, 1 missing",
    )


def test_a_queue_may_have_a_default_partition(cluster: Partitioned) -> None:
    cluster.shares("root.a", "50%", "100%", default_partition="gpu").machines(1, 1)
    cluster.pods(2, "p", "root.a")
    cluster.pod("q", "root.b", "q")
    assert {bind.uid: bind.node for bind in cluster.plan()} == {"p-0": "gpu-0", "p-1": "gpu-0", "q": "plain-0"}


def test_a_change_of_the_default_partition_moves_what_waits(cluster: Partitioned) -> None:
    cluster.machines(0, 1)
    cluster.pods(2, "p", "root.a")
    assert cluster.plan() == []
    cluster.shares("root.a", "50%", "100%", default_partition="gpu")
    assert len(cluster.plan()) == 2


def test_a_queue_that_may_not_use_a_partition_says_so(cluster: Partitioned) -> None:
    cluster.shares("root.b", "50%", None, accessible=frozenset()).machines(1, 1)
    cluster.pod("g", "root.b", "g", partition="gpu")
    assert cluster.plan() == []
    reason, message = cluster.why("g")
    assert reason == "PartitionDenied"
    assert message == "queue root.b may not use partition gpu (accessiblePartitions)"


def test_a_queue_without_a_share_of_a_partition_says_so(cluster: Partitioned) -> None:
    cluster.shares("root.a", "50%", "100%").shares("root.b", "50%", "0%", "0%").machines(1, 1)
    cluster.pod("g", "root.b", "g", partition="gpu")
    assert cluster.plan() == []
    reason, message = cluster.why("g")
    assert reason == "ZeroMaximum"
    assert "partition gpu" in message


def test_what_runs_on_a_node_is_counted_where_the_node_is_when_its_label_changes(cluster: Partitioned) -> None:
    cluster.machines(2, 0)
    cluster.pods(15, "p", "root.a")
    cluster.settle()
    queue = cluster.core.state.tree.queues["root.a"]
    assert queue.usage[1] == 15000
    spec = cluster.core.state.nodes.specs[cluster.core.state.nodes.row["plain-0"]]
    assert spec is not None
    cluster.tell(NodeSeen(replaced(spec, labels={LABEL: "gpu"}))).settle()
    assert queue.usage[1] + queue.parts["gpu"].usage[1] == 15000
    assert queue.parts["gpu"].usage[1] in {5000, 10000}


def test_what_is_due_in_partitions_follows_a_node_that_changes_its_label(cluster: Partitioned) -> None:
    cluster.machines(2, 0)
    cluster.pods(1, "p", "root.a")
    cluster.settle()
    queue = cluster.core.state.tree.queues["root.a"]
    assert queue.minimum is not None
    assert queue.minimum[1] == 10000
    spec = cluster.core.state.nodes.specs[cluster.core.state.nodes.row["plain-0"]]
    assert spec is not None
    cluster.tell(NodeSeen(replaced(spec, labels={LABEL: "gpu"}))).settle()
    assert queue.minimum[1] == 5000
    cluster.pods(2, "g", "root.a", "g", partition="gpu")
    cluster.settle()
    assert queue.parts["gpu"].minimum is not None
    assert queue.parts["gpu"].minimum[1] == 10000


def test_applications_move_with_what_they_hold_in_every_partition(cluster: Partitioned) -> None:
    cluster.shares("root.b", "50%", "0%", "100%").machines(1, 1)
    cluster.pods(2, "g", "root.a", "app", partition="gpu")
    cluster.pods(3, "d", "root.a", "app")
    cluster.settle()
    cluster.application("app", "root.b").settle()
    queues = cluster.core.state.tree.queues
    assert (queues["root.a"].usage[1], queues["root.a"].parts["gpu"].usage[1]) == (0, 0)
    assert (queues["root.b"].usage[1], queues["root.b"].parts["gpu"].usage[1]) == (3000, 2000)


def test_after_the_switch_to_the_fair_discipline_partitions_do_not_matter(cluster: Partitioned) -> None:
    cluster.machines(1, 1)
    cluster.pods(5, "g", "root.a", "g", partition="gpu")
    cluster.settle()
    cluster.pods(20, "d", "root.a", "d")
    cluster.settle()
    cluster.scheduler(discipline="Fair").settle()
    assert cluster.used("root.a") == 20
    assert cluster.core.state.tree.roots == {}
    cluster.partitions(gpu=True).settle()
    assert cluster.core.state.tree.queues["root.a"].parts["gpu"].usage[1] == 10000


def test_a_user_limit_holds_in_each_partition_by_itself() -> None:
    cluster = Partitioned().partitions(gpu=True)
    cluster.shares("root.a", "50%", "50%", user_limit_factor=1.0).shares("root.b", "50%", "50%").machines(1, 1)
    cluster.pods(10, "g", "root.a", "g", partition="gpu", user="ann")
    cluster.pods(10, "d", "root.a", "d", user="ann")
    binds = cluster.plan()
    assert by_node(binds) == {"gpu-0": 6, "plain-0": 6}
    assert cluster.why("g-9")[0] == "UserLimit"


def test_a_pod_found_on_a_node_of_a_partition_is_counted_there(cluster: Partitioned) -> None:
    cluster.machines(1, 1)
    cluster.settle()
    cluster.pod("found", "root.b", "f", node="gpu-0")
    assert cluster.core.state.tree.queues["root.b"].parts["gpu"].usage[1] == 1000
    cluster.gone("found")
    assert cluster.core.state.tree.queues["root.b"].parts["gpu"].usage[1] == 0
