"""Crashes, outages and size: every pod ends bound once, no node is over its allocatable, usage is the sum of what is bound."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, eventually, overfull_nodes, pod, queue, requested

QUEUES = 4


def prepare(plane: ControlPlane, nodes: int, pods: int) -> Cluster:
    plane.apply_crds()
    plane.create_nodes(nodes, "32", "128Gi")
    cluster = Cluster(plane)
    cluster.queues(*(queue(f"root.q{number}", weight=str(number + 1)) for number in range(QUEUES)))
    cluster.pods([pod(f"pod-{number}", f"root.q{number % QUEUES}", f"app-{number % 20}") for number in range(pods)])
    return cluster


def check(cluster: Cluster, treadle: Treadle, pods: int) -> None:
    found = cluster.all_pods()
    assert len(found) == pods
    assert all(one["spec"].get("nodeName") for one in found)
    assert all(any(c["type"] == "PodScheduled" and c["status"] == "True" for c in one["status"]["conditions"]) for one in found)
    assert overfull_nodes(found, cluster.plane.api("GET", "/api/v1/nodes")[1]["items"]) == []
    used = 'treadle_queue_resource{kind="used",queue="root",resource="cpu"}'
    eventually(lambda: treadle.metric(used) == requested(found) / 1000, 30, "usage equal to the sum of the bound pods")
    for number in range(QUEUES):
        mine = [one for one in found if one["metadata"]["labels"]["treadle.dev/queue"] == f"root.q{number}"]
        assert (
            treadle.metric(f'treadle_queue_resource{{kind="used",queue="root.q{number}",resource="cpu"}}')
            == requested(mine) / 1000
        )


def test_2000_pods_survive_three_kills_of_the_scheduler(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane()
    cluster = prepare(plane, nodes=60, pods=2000)
    moments = random.Random(7)
    treadle = Treadle(plane.scheduler_kubeconfig(), tmp_path)
    for _ in range(3):
        before = len(cluster.bound())
        with treadle:
            some = before + moments.randint(50, 400)
            eventually(
                lambda some=some - before: treadle.metric('treadle_binds_total{result="bound"}') >= some,
                60,
                "some more binds",
                0.01,
            )
            treadle.kill()
        assert len(cluster.bound()) >= some
    with treadle:
        cluster.wait_bound(2000)
        check(cluster, treadle.wait_ready(), 2000)
        assert treadle.terminate() == 0


def test_an_api_server_that_is_gone_for_ten_seconds_costs_nothing_but_the_time(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepare(plane, nodes=60, pods=2000)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        eventually(lambda: treadle.metric('treadle_binds_total{result="bound"}') >= 300, 60, "some binds", 0.01)
        plane.stop_apiserver()
        away = time.monotonic() + 10
        eventually(lambda: treadle.get("/readyz")[0] == 503, 30, "a scheduler that says it is not ready")
        eventually(lambda: time.monotonic() >= away, 15)
        assert treadle.get("/healthz")[0] == 200
        plane.start_apiserver()
        cluster.wait_bound(2000)
        check(cluster, treadle.wait_ready(), 2000)


def test_sigterm_in_the_middle_leaves_nothing_in_flight(fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    plane = fresh_control_plane()
    cluster = prepare(plane, nodes=60, pods=1000)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        eventually(lambda: treadle.metric('treadle_binds_total{result="bound"}') >= 200, 60, "some binds", 0.01)
        assert treadle.terminate() == 0
        assert "still in flight" not in treadle.log.read_text()
    left = len(cluster.bound())
    assert 200 <= left < 1000
    assert len(cluster.bound()) == left


@pytest.mark.slow
def test_10000_pods_on_1000_nodes_are_all_bound_in_under_400_mib(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepare(plane, nodes=1000, pods=10_000)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        eventually(lambda: treadle.metric('treadle_binds_total{result="bound"}') >= 10_000, 300, "10,000 binds", 0.5)
        check(cluster, treadle.wait_ready(), 10_000)
        assert treadle.peak_mib() < 400


def test_of_two_schedulers_with_one_lease_only_the_leader_binds_and_the_other_takes_over(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    cluster = prepare(plane, nodes=10, pods=50)
    arguments = ("--leader-elect", "--namespace", "default")
    with Treadle(plane.scheduler_kubeconfig(), tmp_path, *arguments) as first:
        cluster.wait_bound(50)
        with Treadle(plane.scheduler_kubeconfig(), tmp_path, *arguments) as second:
            eventually(lambda: (second.ready() or {}).get("leader", "").startswith("standby"), 30, "a standby")
            assert first.ready()["leader"] == "leader"
            cluster.pods([pod(f"late-{number}", "root.q1", "late") for number in range(20)])
            cluster.wait_bound(70)
            assert second.metric("treadle_decisions_total") == 0
            assert first.terminate() == 0
            cluster.pods([pod(f"after-{number}", "root.q2", "after") for number in range(20)])
            cluster.wait_bound(90)
            assert second.ready()["leader"] == "leader"
