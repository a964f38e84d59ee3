"""A Reservation that comes again holds under a flood of other work for 24 occurrences, though schedulers are killed, nodes lost and the API server restarted in between.

What would be an hour is half a minute here, for which the schedulers are let plan periods that are shorter than ten minutes. By hand only: ``make occurrences``; it prints how many seconds after the start of its window each occurrence ran in full.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually, fake_node
from cluster.control_plane import ControlPlane
from cluster.treadle_process import Cluster, Treadle, capacity_queue, pod

pytestmark = [pytest.mark.cluster, pytest.mark.soak, pytest.mark.slow, pytest.mark.timeout(1_200)]
TREADLE = "/apis/treadle.dev/v1alpha1"
NAMESPACED = f"{TREADLE}/namespaces/default"
OCCURRENCES, PERIOD, WINDOW = 24, 30, 20
SIZE, FLOOD = 4, 30
"""Pods of an occurrence, and those of others that run or wait at any time; the cluster has room for 16."""
DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"
PREEMPTION = {
    "enabled": True,
    "monitoringInterval": "1s",
    "maxWaitBeforeKill": "2s",
    "totalPreemptionPerRound": "1",
    "naturalTerminationFactor": "1",
}
SCALED = "import treadle.core.kernel.reservations.checks as checks\nchecks.SHORTEST_PERIOD = 1_000\n"
LATE, LATE_AFTER_A_FAULT = 4.0, 12.0
"""Seconds after the start of its window by which an occurrence runs in full; both are within what it is promised."""


class Life:
    """A cluster with a plan, a flood of pods that never end, and faults before some of the occurrences."""

    def __init__(self, plane: ControlPlane, folder: Path, discipline: str) -> None:
        self.plane, self.cluster = plane, Cluster(plane)
        self.treadle = Treadle(plane.scheduler_kubeconfig(), folder)
        self.made = 0
        plane.apply_crds()
        plane.create_nodes(4, "4", "64Gi")
        plane.start_controller_manager()
        plane.start_kwok()
        settings = {"discipline": discipline, "fair": {"preemption": True}, "capacity": {"preemption": PREEMPTION}}
        self.make(f"{TREADLE}/schedulers", {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": settings})
        half, other = capacity_queue("root.plan", "50%"), capacity_queue("root.rest", "50%")
        half["spec"]["reservations"] = {"policy": "NoOverCommit", "leadTime": "12s"}
        self.cluster.queues(half, other)
        self.make(
            f"{NAMESPACED}/applications",
            {"kind": "Application", "metadata": {"name": "report"}, "spec": {"reservation": "hourly"}},
        )

    def make(self, path: str, body: dict[str, Any]) -> None:
        code, answer = self.plane.api("POST", path, {"apiVersion": "treadle.dev/v1alpha1", **body})
        assert code == 201, answer

    def reserve(self, start: datetime) -> None:
        requests = [{"demand": {"cpu": "1", "memory": "1Gi"}, "count": SIZE, "concurrency": SIZE, "duration": "14s"}]
        spec = {
            "queue": "root.plan",
            "arrival": _text(start),
            "deadline": _text(start + timedelta(seconds=WINDOW)),
            "recurrence": f"{PERIOD}s",
            "expression": {"requests": requests},
        }
        self.make(f"{NAMESPACED}/reservations", {"kind": "Reservation", "metadata": {"name": "hourly"}, "spec": spec})

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.api("GET", f"{NAMESPACED}/reservations/hourly")[1].get("status", {})
        return found

    def flood(self) -> None:
        there = sum(one["metadata"]["name"].startswith("flood") for one in self.cluster.all_pods())
        more = range(self.made, self.made + max(0, FLOOD - there))
        self.made += len(more)
        self.cluster.pods([pod(f"flood-{number}", "root.rest", f"flood-{number % 5}", cpu="1", memory="1Gi") for number in more])

    def submit(self, number: int) -> None:
        found = [pod(self.name(number, one), application="report", cpu="1", memory="1Gi") for one in range(SIZE)]
        for one in found:
            one["metadata"]["annotations"] = {DELAY: "6s"}
        self.cluster.pods(found)

    def name(self, number: int, one: int) -> str:
        return f"report-{number}-{one}"

    def running(self, number: int) -> bool:
        names = {self.name(number, one) for one in range(SIZE)}
        return names <= {one["metadata"]["name"] for one in self.cluster.bound()}

    # -- faults, each some seconds before an occurrence

    def kill(self) -> None:
        self.treadle.kill()
        self.treadle.start()

    def lose_a_node(self) -> None:
        self.plane.api("DELETE", f"/api/v1/nodes/{self._node()}")

    def give_nodes(self) -> None:
        names = {one["metadata"]["name"] for one in self.plane.api("GET", "/api/v1/nodes")[1]["items"]}
        for number in range(4 - len(names)):
            self.plane.api("POST", "/api/v1/nodes", fake_node(f"node-new-{int(time.time())}-{number}", "4", "64Gi"))

    def restart_api_server(self) -> None:
        self.plane.stop_apiserver()
        self.plane.start_apiserver()

    def _node(self) -> str:
        """A node on which nothing of the reservation runs."""
        name: str = self.plane.api("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
        return name

    def faults(self) -> dict[int, Callable[[], None]]:
        return {
            3: self.kill,
            6: self.lose_a_node,
            8: self.give_nodes,
            10: self.restart_api_server,
            13: self.kill,
            15: self.lose_a_node,
            16: self.kill,
            18: self.give_nodes,
            20: self.restart_api_server,
            22: self.kill,
        }


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def until(when: datetime) -> None:
    left = (when - datetime.now(UTC)).total_seconds()
    eventually(lambda: datetime.now(UTC) >= when, max(left, 0.0) + 5, f"it is {when}", 0.2)


@pytest.fixture(params=["Fair", "Capacity"])
def life(
    request: pytest.FixtureRequest,
    fresh_control_plane: Callable[..., ControlPlane],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Life]:
    (tmp_path / "sitecustomize.py").write_text(SCALED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = Life(fresh_control_plane(), tmp_path, request.param)
    found.treadle.start()
    yield found
    found.treadle.kill()


def test_an_hourly_reservation_holds_for_24_occurrences(life: Life) -> None:
    life.treadle.wait_ready()
    life.flood()
    life.cluster.wait_bound(16)
    first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=25)
    life.reserve(first)
    eventually(lambda: life.status().get("phase"), 5, "the reservation decided")
    assert life.status()["phase"] == "Accepted", life.status()
    promised = life.status()["accepted"]
    faults, late = life.faults(), list[float]()
    for number in range(OCCURRENCES):
        start = first + timedelta(seconds=number * PERIOD)
        until(start - timedelta(seconds=9))
        life.flood()
        life.submit(number)
        if number in faults:
            faults[number]()
        limit = LATE_AFTER_A_FAULT if faults.keys() & {number, number - 1} else LATE  # what ran last may end late after a fault
        eventually(lambda: life.running(number), 9 + WINDOW, f"occurrence {number} runs", 0.2)  # noqa: B023 - it is over when that is another
        late.append((datetime.now(UTC) - start).total_seconds())
        assert late[-1] <= limit, (number, late)
    print("seconds after the start of their windows:", [round(one, 1) for one in late])
    assert life.status()["accepted"] == promised, "it was never decided anew"
    assert life.status()["phase"] in {"Accepted", "Active"}
