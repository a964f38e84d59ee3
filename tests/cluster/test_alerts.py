"""The chart's alerts, run by Prometheus' own tool over series of events in which each fires, and others in which it must not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cluster.control_plane import PROMETHEUS

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
