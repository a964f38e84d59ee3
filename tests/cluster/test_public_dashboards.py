"""Public dashboards, rules and alerts for kube-scheduler, asked of a real Prometheus that scrapes a real Treadle with work."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.client import eventually
from cluster.prometheus import Prometheus
from cluster.public_queries import GONE, NOT_GIVEN, asked, metrics
from cluster.treadle_process import Cluster, Treadle, pod, queue

JOB = "kube-scheduler"
VARIABLES = {"cluster": "here", "job": JOB, "instance": ".+", "__rate_interval": "20s"}
QUIET = ("absent(", "== 0", 'code=~"3..', 'code=~"4..', 'code=~"5..')
"""Marks of queries with an answer only where something is wrong: the alerts, and rates of answers that are none of success."""


def filled(query: str) -> str:
    return re.sub(r"\$(\w+)", lambda found: VARIABLES[found[1]], query)


def has_no_answer(query: str) -> bool:
    return bool(metrics(query) & (GONE | NOT_GIVEN)) or any(mark in query for mark in QUIET)


@pytest.mark.timeout(400)
def test_each_public_query_that_can_be_answered_is(fresh_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = fresh_cluster(2, "64", "256Gi")
    cluster.queues(queue("root.prod"))
    numbers = itertools.count()
    with Treadle(cluster.plane.scheduler_kubeconfig(), tmp_path) as treadle:
        treadle.wait_ready()
        with Prometheus(tmp_path, f"127.0.0.1:{treadle.port}", job=JOB, cluster="here", pod="treadle-0") as prometheus:
            eventually(lambda: prometheus.answers("treadle_leader"), 60, "the first scrape")
            answered: set[str] = set()

            def look() -> bool:
                """Let pods come, of which one is placed and one waits in vain, and ask what has not been answered."""
                number = next(numbers)
                cluster.pods(
                    [pod(f"p{number}", "root.prod", "prod", cpu="100m"), pod(f"w{number}", "root.prod", "large", cpu="900")]
                )
                answered.update(query for query in asked() if query not in answered and prometheus.answers(filled(query)))
                return all(query in answered or has_no_answer(query) for query in asked())

            with contextlib.suppress(AssertionError):  # which query it is, is said below
                eventually(look, 90, "an answer to every query", 0.5)
            assert [query for query in asked() if query not in answered and not has_no_answer(query)] == []
            assert not {query for query in answered if metrics(query) & (GONE | NOT_GIVEN)}
            for alert in ('absent(up{job="kube-scheduler"})', 'up{job="kube-scheduler"} == 0'):
                assert alert in asked()
                assert alert not in answered, "an alert that fires in a healthy run"
            for query in ("sum(rate(scheduler_scheduling_algorithm_duration_seconds_count[1m]))", "sum(scheduler_pending_pods)"):
                assert prometheus.answers(f"{query} > 0"), query
            decided = "sum(scheduler_scheduling_algorithm_duration_seconds_sum) <= sum(scheduler_scheduling_attempt_duration_seconds_sum)"
            assert prometheus.answers(decided), "an attempt is the decision and the bind"
