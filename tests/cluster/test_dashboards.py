"""Each query of each dashboard is answered by a real Prometheus that scrapes a real scheduler with work."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.client import eventually
from cluster.prometheus import JOB, Prometheus
from cluster.treadle_process import Cluster, Treadle, capacity_queue, pod, queue

FOLDER = Path(__file__).resolve().parents[2] / "charts" / "treadle" / "files" / "dashboards"
VARIABLES = {"job": JOB, "queue": "root.prod", "user": "default", "__rate_interval": "20s"}
EMPTY = {
    'sum (rate(treadle_queue_preempted_pods_total{job=~"$job", queue="$queue"}[$__rate_interval]))': "nobody is preempted",
    'max by (partition, resource, kind) (treadle_queue_partition_resource{job=~"$job", queue="$queue"})': "no node is in a partition",
    'max by (partition, resource, kind) (treadle_plan_resource{job=~"$job", queue="$queue"})': "the queue takes no reservations",
    'max by (phase) (treadle_reservations{job=~"$job"})': "there is no reservation",
    'sum by (door, reason) (rate(treadle_http_refused_total{job=~"$job"}[$__rate_interval]))': "nobody is refused",
    **dict.fromkeys(
        (
            'treadle_certificate_expiry_timestamp_seconds{job=~"$job"} - time()',
            'max by (door) (treadle_certificate_problem{job=~"$job"})',
        ),
        "the port is served in the clear",
    ),
    **{
        f'histogram_quantile({part}, sum by (le) (rate(scheduler_preemption_victims_bucket{{job=~"$job"}}[$__rate_interval])))': "nobody is preempted"
        for part in (0.5, 0.9, 0.99)
    },
}
"""Queries that rightly have no answer in this run, and why."""


def queries() -> Iterator[tuple[str, str]]:
    """Each query of each dashboard, with the dashboard and the panel that it is of."""
    for path in sorted(FOLDER.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{path.stem}: {panel['title']}", target["expr"]


def filled(expression: str) -> str:
    """A query with the values of the variables. ``KeyError`` where there is a variable that is not known."""
    return re.sub(r"\$(\w+)", lambda found: VARIABLES[found[1]], expression)


def disciplined(cluster: Cluster, discipline: str) -> None:
    """Make a Scheduler of a discipline and the queue root.prod."""
    made = {"apiVersion": "treadle.dev/v1alpha1", "kind": "Scheduler", "metadata": {"name": "treadle"}}
    status, answer = cluster.plane.api(
        "POST", "/apis/treadle.dev/v1alpha1/schedulers", {**made, "spec": {"discipline": discipline}}
    )
    assert status == 201, answer
    cluster.queues(queue("root.prod") if discipline == "Fair" else capacity_queue("root.prod", "100%"))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("discipline", ["Fair", "Capacity"])
def test_each_query_of_each_dashboard_has_an_answer(
    fresh_cluster: Callable[..., Cluster], tmp_path: Path, discipline: str
) -> None:
    cluster = fresh_cluster(2, "64", "256Gi")
    disciplined(cluster, discipline)
    history = f"sqlite:///{tmp_path / 'history.sqlite'}"
    numbers = itertools.count()
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path, "--history", history, "--eta") as treadle:
        treadle.wait_ready()
        with Prometheus(tmp_path, f"127.0.0.1:{treadle.port}") as prometheus:
            eventually(lambda: prometheus.answers("treadle_leader"), 60, "the first scrape")

            answered: set[str] = set()

            def look() -> bool:
                """Let pods come, of which one is placed and one waits in vain, and ask every query that has not been answered."""
                number = next(numbers)
                cluster.pods(
                    [pod(f"p{number}", "root.prod", "prod", cpu="100m"), pod(f"w{number}", "root.prod", "large", cpu="900")]
                )
                answered.update(expr for _, expr in queries() if expr not in answered and prometheus.answers(filled(expr)))
                return all(expr in answered or expr in EMPTY for _, expr in queries())

            with contextlib.suppress(AssertionError):  # which query it is, is said below
                eventually(look, 60, "an answer to every query", 0.5)
            assert {expr: where for where, expr in queries() if expr not in answered and expr not in EMPTY} == {}
            assert not answered & set(EMPTY), "what has an answer must not be listed as empty"
            for variable, metric in (
                ("queue", "treadle_queue_waiting_pods"),
                ("user", "treadle_user_pods"),
                ("job", "treadle_leader"),
            ):
                assert VARIABLES[variable] in prometheus.values(metric, variable)
