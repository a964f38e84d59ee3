"""Backfilling on a real API server: short pods run in room that is kept for a gang or a reservation, and are gone, or have to go, when it can start."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.control_plane import STAGES, ControlPlane
from cluster.treadle_process import Cluster, Treadle, pod, queue

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"
SAYS = "treadle.dev/expected-duration"


def running_for(name: str, in_queue: str, cpu: str, says: str, runs: str) -> dict[str, Any]:
    found = pod(name, in_queue, name, cpu=cpu, memory="64Mi")
    found["metadata"]["annotations"] = {SAYS: says, **({DELAY: runs} if runs else {})}
    return found


def member(name: str) -> dict[str, Any]:
    found = pod(name, "root.train", "train", cpu="4", memory="64Mi")
    found["metadata"]["labels"] |= {"treadle.dev/gang": "workers", "treadle.dev/gang-min-member": "2"}
    return found


def bound_at(cluster: Cluster) -> dict[str, datetime]:
    """When pods were bound, by name."""
    found = {}
    for one in cluster.all_pods():
        for condition in one["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "True":
                found[one["metadata"]["name"]] = datetime.fromisoformat(condition["lastTransitionTime"])
    return found


def test_a_gang_starts_in_time_though_short_pods_ran_in_front_of_it(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(2, "4", "16Gi")
    plane.start_kwok(STAGES.read_text())
    cluster = Cluster(plane)
    cluster.queues(queue("root.small"), queue("root.train"))
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods(
            [running_for("long-1", "root.small", "3", "50s", "50s"), running_for("long-2", "root.small", "3", "50s", "50s")]
        )
        cluster.wait_bound(2)
        cluster.pods([member("worker-1"), member("worker-2")])
        eventually(lambda: treadle.metric("treadle_holds") == 2, 60, "both nodes are kept for the gang")
        cluster.pods(
            [
                running_for("short", "root.small", "1", "10s", "10s"),
                running_for("liar", "root.small", "1", "10s", ""),
                running_for("longer", "root.small", "1", "1h", ""),
            ]
        )
        eventually(lambda: {"short", "liar"} <= bound_at(cluster).keys(), 30, "what ends in time is placed")
        assert treadle.metric('treadle_backfilled_pods_total{result="placed"}') == 2
        assert not {"longer", "worker-1"} & bound_at(cluster).keys()
        eventually(lambda: {"worker-1", "worker-2"} <= bound_at(cluster).keys(), 120, "the gang has started")
        begun = bound_at(cluster)
        assert "liar" not in begun, "it was evicted"
        assert (begun["worker-1"] - begun["long-1"]).total_seconds() < 70
        assert treadle.metric('treadle_backfilled_pods_total{result="evicted"}') == 1
        events = plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
        (why,) = [one["note" if "note" in one else "message"] for one in events if one["reason"] == "Preempted"]
        assert why.endswith('room that is kept for gang "workers" of application default/train, which may start but for it')


def after(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def reason_of(cluster: Cluster, name: str) -> str:
    for one in cluster.all_pods():
        if one["metadata"]["name"] == name:
            return next(
                (each.get("reason", "") for each in one["status"].get("conditions", []) if each["type"] == "PodScheduled"), ""
            )
    return "gone"


def test_a_reservation_finds_its_room_though_short_pods_ran_in_front_of_it(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(2, "4", "16Gi")
    plane.start_kwok(STAGES.read_text())
    cluster = Cluster(plane)
    taking = queue("root.plan")
    taking["spec"]["reservations"] = {"policy": "NoOverCommit", "agent": "Greedy", "leadTime": "40s"}
    cluster.queues(queue("root.small"), taking)
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        cluster.pods([running_for(f"old-{number}", "root.small", "1", "1h", "") for number in range(4)])
        cluster.wait_bound(4)
        body = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Reservation",
            "metadata": {"name": "soon"},
            "spec": {
                "queue": "root.plan",
                "arrival": after(50),
                "deadline": after(4000),
                "expression": {"requests": [{"demand": {"cpu": "1"}, "count": 4, "concurrency": 4, "duration": "1h"}]},
            },
        }
        code, answer = plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/reservations", body)
        assert code == 201, answer
        named = {
            "apiVersion": "treadle.dev/v1alpha1",
            "kind": "Application",
            "metadata": {"name": "mine"},
            "spec": {"reservation": "soon"},
        }
        assert plane.api("POST", "/apis/treadle.dev/v1alpha1/namespaces/default/applications", named)[0] == 201
        start = datetime.fromisoformat(body["spec"]["arrival"])
        eventually(lambda: datetime.now(UTC) > start - timedelta(seconds=38), 60, "the lead has begun")
        cluster.pods(
            [
                running_for("longer", "root.small", "1", "1h", ""),
                running_for("short", "root.small", "1", "10s", "10s"),
                running_for("liar", "root.small", "1", "10s", ""),
            ]
        )
        eventually(lambda: {"short", "liar"} <= bound_at(cluster).keys(), 20, "what ends in time is placed")
        eventually(lambda: reason_of(cluster, "longer") == "KeptForReservation", 20, "what does not is told why")
        assert treadle.metric('treadle_backfilled_pods_total{result="placed"}') == 2
        eventually(lambda: datetime.now(UTC) > start, 60, "the reservation begins")
        cluster.pods([pod(f"mine-{number}", "", "mine", cpu="1", memory="64Mi") for number in range(4)])
        mine = {f"mine-{number}" for number in range(4)}
        eventually(lambda: mine <= bound_at(cluster).keys(), 30, "all of the reservation runs")
        begun = bound_at(cluster)
        assert "liar" not in begun, "it was evicted"
        assert "longer" not in begun
        assert sum((begun[name] - start).total_seconds() < 5 for name in mine) >= 3
        assert treadle.metric('treadle_backfilled_pods_total{result="evicted"}') == 1
        events = plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
        (why,) = [one["note" if "note" in one else "message"] for one in events if one["reason"] == "Preempted"]
        assert why.endswith("room that is kept for reservation default/soon, which may start but for it")
