"""What public dashboards, rules and alerts ask of kube-scheduler, as queries with the variables of Grafana.

Of each project the name, the licence and the commit at which it asks so; of metrics that only a fork of kube-scheduler has, nothing is here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OWN = 'cluster="$cluster", job="kube-scheduler", instance=~"$instance"'
PARTS = (0.5, 0.9, 0.99)
NAME = re.compile(r"\b(?:scheduler|rest_client|go)_[a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Project:
    """Who asks, and what."""

    name: str
    licence: str
    commit: str
    queries: tuple[str, ...]


def _mixin() -> tuple[str, ...]:
    """The dashboard of kubernetes-mixin and its rules, which kube-prometheus and its Helm chart install."""
    timed = [
        f"scheduler_{name}_duration_seconds" for name in ("scheduling_attempt", "pod_scheduling_sli", "scheduling_algorithm")
    ]
    rate = "[$__rate_interval]"
    return (
        'up{job="kube-scheduler"}',
        'up{job="kube-scheduler", cluster="$cluster"}',
        'sum(up{cluster="$cluster", job="kube-scheduler"})',
        *(f"sum(rate({one}_count{{{OWN}}}{rate})) by (cluster, instance)" for one in timed),
        f"sum(rate(scheduler_volume_scheduling_duration_seconds_count{{{OWN}}}{rate})) by (cluster, instance)",
        *(f"histogram_quantile(0.99, sum(rate({one}_bucket{{{OWN}}}{rate})) by (cluster, instance, le))" for one in timed),
        f"histogram_quantile(0.99, sum(rate(scheduler_volume_scheduling_duration_seconds_bucket{{{OWN}}}{rate})) by (cluster, instance, le))",
        *(f'sum(rate(rest_client_requests_total{{{OWN},code=~"{first}.."}}{rate}))' for first in "2345"),
        *(
            f'histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{{{OWN}, verb="{verb}"}}{rate})) by (verb, le))'
            for verb in ("POST", "GET")
        ),
        f"process_resident_memory_bytes{{{OWN}}}",
        f"rate(process_cpu_seconds_total{{{OWN}}}{rate})",
        f"go_goroutines{{{OWN}}}",
        *(
            f'histogram_quantile({part}, sum(rate({one}_bucket{{job="kube-scheduler"}}[5m])) without(instance, pod))'
            for part in PARTS
            for one in timed
        ),
        'absent(up{job="kube-scheduler"})',
        'up{job="kube-scheduler"} == 0',
    )


def _koordinator() -> tuple[str, ...]:
    """The dashboard of Koordinator's scheduler, without what is of its own quotas and transformers."""
    job, rate = 'job=~"$job"', "[$__rate_interval]"
    attempts = "scheduler_schedule_attempts_total"
    incoming = "scheduler_queue_incoming_pods_total"
    point = "scheduler_framework_extension_point_duration_seconds"
    return (
        f'sum(rate({incoming}{{{job}, queue="active"}}{rate})) - sum(rate({attempts}{{{job}}}{rate}))',
        f'sum(scheduler_pending_pods{{{job}, queue="active"}})',
        f'avg(rate(scheduler_e2e_scheduling_duration_seconds_sum{{{job}, result="scheduled"}}{rate})) / avg(rate(scheduler_e2e_scheduling_duration_seconds_count{{{job}, result="scheduled"}}{rate}))',
        f'sum(rate({incoming}{{{job}, queue="active"}}{rate}))',
        f"sum(rate({attempts}{{{job}}}{rate}))",
        f"sum(rate(process_cpu_seconds_total{{{job}}}{rate}))",
        f"sum(process_resident_memory_bytes{{{job}}})",
        f"scheduler_pending_pods{{{job}}}",
        f"scheduler_unschedulable_pods{{{job}}}",
        f'sum(rate({incoming}{{{job}, queue="active"}}{rate})) by (queue, event)',
        f'sum(rate({incoming}{{{job}, event!="PodAdd", queue="backoff"}}{rate})) by (queue, event)',
        *(
            f'(sum(rate({attempts}{{{job}, result="{result}"}}{rate})) / sum(rate({attempts}{{{job}}}{rate}))) * 100'
            for result in ("scheduled", "error", "unschedulable")
        ),
        f"sum(rate({attempts}{{{job}}}{rate})) by (result)",
        f"rate(scheduler_preemption_attempts_total{{{job}}}{rate})",
        *(
            f"histogram_quantile({part}, sum(rate({name}_bucket{{{job}}}{rate})) by (le))"
            for name in (
                "scheduler_scheduling_attempt_duration_seconds",
                "scheduler_pod_scheduling_duration_seconds",
                "scheduler_pod_scheduling_attempts",
                "scheduler_scheduling_algorithm_duration_seconds",
            )
            for part in PARTS
        ),
        f"scheduler_goroutines{{{job}}}",
        f"sum(rate(scheduler_scheduling_algorithm_duration_seconds_count{{{job}}}{rate}))",
        f"histogram_quantile(0.99, sum(rate({point}_bucket{{{job}}}{rate})) by (le, extension_point))",
        f"topk(10, histogram_quantile(0.99, sum(rate(scheduler_plugin_execution_duration_seconds_bucket{{{job}}}{rate})) by (le, plugin, extension_point)))",
        f'sum(rate(rest_client_requests_total{{{job}, code=~"2.."}}{rate})) by (method) / sum(rate(rest_client_requests_total{{{job}}}{rate})) by (method) * 100',
        *(
            f"histogram_quantile({part}, sum(rate(rest_client_request_duration_seconds_bucket{{{job}}}{rate})) by (le, verb))"
            for part in (0.5, 0.99)
        ),
        f"sum(rate(rest_client_requests_total{{{job}}}{rate})) by (code, method, host)",
        f"histogram_quantile(0.99, sum(rate(rest_client_rate_limiter_duration_seconds_bucket{{{job}}}{rate})) by (le, verb, host))",
    )


def _dnation() -> tuple[str, ...]:
    """The scheduler's dashboard of dNation's Kubernetes Monitoring, which begins with names that kube-scheduler had before 1.23."""
    old = [
        f"scheduler_{name}_duration_seconds"
        for name in ("e2e_scheduling", "binding", "scheduling_algorithm", "volume_scheduling")
    ]
    return (
        *(f"sum(rate({one}_count{{{OWN}}}[5m])) by (instance)" for one in old),
        *(f"histogram_quantile(0.99, sum(rate({one}_bucket{{{OWN}}}[5m])) by (instance, le))" for one in old),
        *(f'sum(rate(rest_client_requests_total{{{OWN}, code=~"{first}.."}}[5m]))' for first in "2345"),
        *(
            f'histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{{{OWN}, verb="{verb}"}}[5m])) by (verb, url, le))'
            for verb in ("POST", "GET")
        ),
    )


PROJECTS = (
    Project("kubernetes-monitoring/kubernetes-mixin", "Apache-2.0", "aa38e2bfa7ea6ec6870420b483046afe790a6411", _mixin()),
    Project("koordinator-sh/koordinator", "Apache-2.0", "4cff94e55656fa90182aa63df2d25b4f9cbe153c", _koordinator()),
    Project("dNationCloud/kubernetes-monitoring", "Apache-2.0", "715469ae9db404a113ac5e9571dd9c5e8372927c", _dnation()),
)

GONE = {
    "scheduler_e2e_scheduling_duration_seconds",
    "scheduler_binding_duration_seconds",
    "scheduler_volume_scheduling_duration_seconds",
    "scheduler_pod_scheduling_duration_seconds",
}
"""What kube-scheduler had once and has no more: of it too these queries get no answer."""
NOT_GIVEN = {
    "scheduler_pod_scheduling_attempts",
    "scheduler_queue_incoming_pods_total",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_unschedulable_pods",
    "scheduler_goroutines",
    "rest_client_rate_limiter_duration_seconds",
    "go_goroutines",
}
"""What docs/metrics.md says is not given, and why."""


def asked() -> list[str]:
    """Every query."""
    return [query for project in PROJECTS for query in project.queries]


def metrics(query: str) -> set[str]:
    """The metrics that a query asks for, histograms by their own name."""
    return {re.sub(r"_(?:bucket|count|sum)$", "", name) for name in NAME.findall(query)}
