"""The history on the real API server, in a real PostgreSQL: one row for an application, whoever leads meanwhile."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.client import eventually
from cluster.treadle_process import Cluster, Treadle, pod, queue
from history.postgres import postgres

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
PODS = "/api/v1/namespaces/default/pods"


def finish(cluster: Cluster, name: str, phase: str) -> None:
    status, answer = cluster.plane.api(
        "PATCH", f"{PODS}/{name}/status", {"status": {"phase": phase}}, content_type="application/merge-patch+json"
    )
    assert status == 200, answer


def kept(url: str, *arguments: str) -> list[dict[str, Any]]:
    """What ``treadle history`` tells a program."""
    command = [sys.executable, "-m", "treadle", "history", "--store", url, "--output=json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []


def test_the_history_survives_a_scheduler_that_is_killed(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(1, "8", "16Gi")
    cluster.queues(queue("root.a"))
    with postgres() as url:
        options = (cluster.plane.scheduler_kubeconfig(), tmp_path, "--leader-elect", "--history", url)
        with Treadle(*options) as first, Treadle(*options) as second:
            both = [first.wait_ready(), second.wait_ready()]
            leader = eventually(lambda: next((one for one in both if one.metric("treadle_leader") == 1), None), 30, "a leader")
            (heir,) = [one for one in both if one is not leader]
            cluster.pods([pod(name, "root.a", "etl", cpu="1") for name in ("p0", "p1", "p2")])
            cluster.wait_bound(3)
            finish(cluster, "p0", "Succeeded")
            (begun,) = eventually(lambda: [run for run in kept(url) if run["succeeded"] == 1], 120, "it is written under way")
            assert (begun["application"], begun["queue"], begun["pods"], begun["ended"]) == ("default/etl", "root.a", 3, None)
            leader.kill()
            eventually(lambda: heir.metric("treadle_leader") == 1, 60, "the other leads")
            finish(cluster, "p1", "Failed")
            finish(cluster, "p2", "Succeeded")
            (run,) = eventually(lambda: [run for run in kept(url) if run["ended"]], 150, "it is over")
            assert (run["pods"], run["succeeded"], run["failed"], run["deleted"]) == (3, 2, 1, 0)
            assert (run["started"], run["submitted"]) == pytest.approx((begun["started"], begun["submitted"]), abs=2)
            assert max(step[1].get("cpu", 0) for step in run["steps"]) == 3000
            assert run["steps"][-1][1] == {}
            assert len(kept(url)) == 1
            assert kept(url, "--queue=root.a", "--samples")
            assert heir.metric('treadle_history_records_total{result="written"}') > 0
            assert heir.metric('treadle_history_records_total{result="dropped"}') == 0
            assert "secret" not in leader.log.read_text() + heir.log.read_text()


def test_the_scheduler_object_says_that_the_history_cannot_be_written_and_nothing_is_lost(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = fresh_cluster(1, "8", "16Gi")
    cluster.queues(queue("root.a"))
    scheduler = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {}}
    assert cluster.plane.api("POST", "/apis/treadle.dev/v1alpha1/schedulers", scheduler)[0] == 201
    file = tmp_path / "history.db"
    url = f"sqlite:///{file}"
    said = lambda: cluster.condition("schedulers", "treadle", "Ready")  # noqa: E731
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--history", url) as treadle:
        treadle.wait_ready()
        eventually(lambda: kept(url, "--queue=root", "--samples"), 60, "the store is made")
        holder = sqlite3.connect(file)
        holder.execute("BEGIN IMMEDIATE")
        cluster.pods([pod("p0", "root.a", "etl", cpu="1")])
        cluster.wait_bound(1)
        words = "the history in sqlite:"
        found = eventually(lambda: said() if words in said().get("message", "") else None, 150, "the object says it")
        assert (found["status"], found["message"].partition("cannot be written: ")[2]) == ("True", "database is locked")
        holder.rollback()
        holder.close()
        (run,) = eventually(lambda: kept(url), 60, "it is written")
        assert (run["application"], run["pods"], run["ended"]) == ("default/etl", 1, None)
        eventually(lambda: words not in said().get("message", ""), 30, "the object says no more")
