"""Forecasts on the real API server: what is told of an application that waits, and what then happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.treadle_process import Cluster, Treadle, pod, queue

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
PODS = "/api/v1/namespaces/default/pods"
APPLICATIONS = "/apis/treadle.dev/v1alpha1/namespaces/default/applications"


def text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def patch(cluster: Cluster, path: str, body: dict[str, Any]) -> None:
    status, answer = cluster.plane.api("PATCH", path, body, content_type="application/merge-patch+json")
    assert status == 200, answer


def application(cluster: Cluster, name: str, **spec: Any) -> None:
    body = {
        "apiVersion": "treadle.dev/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"queue": "root.a", **spec},
    }
    status, answer = cluster.plane.api("POST", APPLICATIONS, body)
    assert status == 201, answer


def told(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("applications", name, "default").get("status", {}).get("eta") or {}
    return found


def asked(cluster: Cluster, name: str) -> str:
    command = [sys.executable, "-m", "treadle", "eta", name, "--kubeconfig", str(cluster.plane.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_an_application_is_told_when_it_starts_and_what_then_happens_is_held_against_it(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "1", "4Gi")
    cluster.queues(queue("root.a"))
    application(cluster, "runs", expectedDuration="10m")
    earlier = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=2)
    ends = earlier + timedelta(minutes=10)
    url = f"sqlite:///{tmp_path}/history.db"
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--eta", "--history", url) as treadle:
        treadle.wait_ready()
        cluster.pods([pod("runs", "root.a", "runs", cpu="1")])
        cluster.wait_bound(1)
        patch(cluster, f"{PODS}/runs/status", {"status": {"phase": "Running", "startTime": text(earlier)}})
        application(cluster, "waits", expectedDuration="1h", deadline=text(ends + timedelta(minutes=59)))
        cluster.pods([pod("waits", "root.a", "waits", cpu="1")])
        times = eventually(lambda: told(cluster, "waits").get("firstPodStart"), 30, "a forecast")
        assert times == dict.fromkeys(("earliest", "median", "latest"), text(ends))
        found = told(cluster, "waits")
        assert found["lastPodStart"] == times
        assert found["end"]["median"] == text(ends + timedelta(hours=1))
        assert (found["confidence"], found["deadlineRisk"]) == (80, 100)
        risk = eventually(lambda: cluster.condition("applications", "waits", "DeadlineAtRisk", "default"), 10, "the risk is told")
        assert (risk["status"], risk["reason"]) == ("True", "ProbablyLate")
        words = asked(cluster, "default/waits").splitlines()
        assert words[1].split() == ["first", "pod", "starts", text(ends), f"({text(ends)}", "..", f"{text(ends)})"]
        assert words[4] == "  after its deadline in 100% of futures"
        assert asked(cluster, "default/runs").startswith("default/runs: nothing is forecast (phase Running)")
        treadle.kill()
    assert told(cluster, "waits") == found
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--eta", "--history", url) as treadle:
        treadle.wait_ready()
        eventually(lambda: told(cluster, "waits").get("asOf", "") > found["asOf"], 30, "another forecast")
        assert told(cluster, "waits")["firstPodStart"] == times
        patch(cluster, f"{PODS}/runs/status", {"status": {"phase": "Succeeded"}})
        cluster.wait_bound(2)
        outcome = 'treadle_eta_outcomes_total{inside="false",what="start"}'
        eventually(lambda: treadle.metric(outcome) == 1, 10, "it started before its time, which is counted")
