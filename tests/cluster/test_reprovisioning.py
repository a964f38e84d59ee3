"""A run that lags is promised more on a real API server, keeps it when the scheduler is killed, and gives it back when it has ended."""

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
RESERVATIONS = "/apis/treadle.dev/v1alpha1/namespaces/default/reservations"


def reservation(name: str, start: datetime, end: datetime, cpus: int, seconds: int, **fields: Any) -> dict[str, Any]:
    request = {"demand": {"cpu": "1"}, "count": cpus, "concurrency": cpus, "duration": f"{seconds}s"}
    times = {"arrival": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "deadline": end.strftime("%Y-%m-%dT%H:%M:%SZ")}
    spec = {"queue": "root.plan", **times, "expression": {"requests": [request]}, **fields}
    return {"apiVersion": "treadle.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}


def running(name: str) -> dict[str, Any]:
    """A pod whose kubelet takes it, and that does not end by itself."""
    found = pod(name, "root.plan", "run-1", cpu="1", memory="64Mi")
    found["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}
    return found


def events(plane: ControlPlane, reason: str) -> list[str]:
    found = plane.api("GET", "/api/v1/namespaces/default/events")[1]["items"]
    return [one.get("note") or one["message"] for one in found if one["reason"] == reason]


def test_a_run_that_began_late_is_promised_the_rest_later_through_a_restart(
    fresh_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    plane = fresh_control_plane()
    plane.apply_crds()
    plane.create_nodes(2, "4", "16Gi")
    plane.start_kwok(STAGES.read_text())
    cluster = Cluster(plane)
    taking = queue("root.plan")
    taking["spec"]["reservations"] = {"policy": "NoOverCommit", "agent": "Greedy", "leadTime": "5s"}
    cluster.queues(queue("root.small"), taking)

    def status(name: str = "late") -> dict[str, Any]:
        return dict(plane.api("GET", f"{RESERVATIONS}/{name}")[1].get("status", {}))

    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
        body = reservation(
            "late", start, start + timedelta(seconds=200), cpus=4, seconds=60, reprovision=True, applications=["run-*"]
        )
        assert plane.api("POST", RESERVATIONS, body)[0] == 201
        eventually(lambda: status().get("phase") == "Active", 30, "its window has begun")
        eventually(lambda: datetime.now(UTC) > start + timedelta(seconds=30), 60, "half of the promise is over")
        cluster.pods([running(f"run-1-{number}") for number in range(4)])
        cluster.wait_bound(4)
        eventually(lambda: status().get("reprovisioned"), 60, "it is promised more")
        given = status()["reprovisioned"]
        assert given["behind"] in {f"{seconds}s" for seconds in range(29, 45)}, given
        (one,) = given["allocations"]
        assert one["demand"] == {"cpu": "4"}
        assert datetime.fromisoformat(one["start"]) == start + timedelta(seconds=60)
        (note,) = eventually(lambda: events(plane, "ReservationReprovisioned"), 20, "its owner is told")
        assert note.startswith(
            f"its run is {given['behind']} behind what it was promised; queue root.plan promises it up to cpu 4 more"
        )
        metric = 'treadle_reservations_lagging_total{result="reprovisioned"}'
        eventually(lambda: treadle.metric(metric) == 1, 20, "it is counted")
        soon = start + timedelta(seconds=62)
        other = reservation("other", soon, soon + timedelta(seconds=20), cpus=1, seconds=20)
        assert plane.api("POST", RESERVATIONS, other)[0] == 201
        eventually(lambda: status("other").get("phase") == "Rejected", 20, "nobody else is promised that")
        treadle.kill()
    with Treadle(plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        eventually(lambda: datetime.now(UTC) > start + timedelta(seconds=62), 90, "its first promise is over")
        assert status()["reprovisioned"]["allocations"], "it is there after a restart"
        late = datetime.fromisoformat(one["end"]) + timedelta(seconds=2)
        eventually(lambda: datetime.now(UTC) > late, 90, "what it was given is over too")
        eventually(lambda: status().get("reprovisioned"), 20, "it goes on, and so does its promise")
        for number in range(4):
            plane.api("DELETE", f"/api/v1/namespaces/default/pods/run-1-{number}?gracePeriodSeconds=0")
        eventually(lambda: "reprovisioned" not in status(), 40, "what nobody needs is given back")
