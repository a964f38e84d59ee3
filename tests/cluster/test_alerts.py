"""The chart's alerts, run by Prometheus' own tool over series of events in which each fires, and others in which it must not."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import eventually
from cluster.control_plane import PROMETHEUS
from cluster.prometheus import Prometheus
from cluster.treadle_process import Cluster, Treadle

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "charts" / "treadle" / "files" / "rules.yaml"
TESTS = ROOT / "tests" / "chart" / "alerts.yaml"


def promtool(*arguments: str) -> str:
    answer = subprocess.run(
        [str(PROMETHEUS.build() / "promtool"), *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.usefixtures("control_plane_binaries")
def test_the_rules_are_what_prometheus_understands() -> None:
    assert "12 rules found" in promtool("check", "rules", "--lint-fatal", "--lint=all", str(RULES))


@pytest.mark.usefixtures("control_plane_binaries")
def test_each_alert_fires_where_it_should_and_nowhere_else() -> None:
    assert "SUCCESS" in promtool("test", "rules", str(TESTS))


@pytest.mark.timeout(300)
def test_no_alert_is_even_pending_in_a_healthy_install_without_work(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """Right after the start of both, only that nobody leads may be pending; and what has no ``for`` never fires."""
    cluster = fresh_cluster(2, "64", "256Gi")
    history = f"sqlite:///{tmp_path / 'history.sqlite'}"
    with (
        Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--history", history, "--eta") as treadle,
        Prometheus(tmp_path, f"127.0.0.1:{treadle.port}", rules=RULES, namespace="treadle-system") as prometheus,
    ):
        treadle.wait_ready()
        eventually(lambda: prometheus.answers("treadle_leader == 1"), 60, "a scrape of the leader")
        settled = time.time()
        eventually(lambda: prometheus.answers(f"timestamp(treadle_leader) > {settled + 15}"), 60, "some seconds of rest")
        at_start = prometheus.get("/api/v1/query", query="max_over_time(ALERTS[5m])")["result"]
        assert {one["metric"]["alertname"] for one in at_start} <= {"TreadleNoLeader"}
        assert {one["metric"]["alertstate"] for one in at_start} <= {"pending"}
        at_rest = prometheus.get("/api/v1/query", query="max_over_time(ALERTS[10s])")["result"]
        assert at_rest == []
        for rule in prometheus.get("/api/v1/rules")["groups"][0]["rules"]:
            assert rule["health"] == "ok", rule
