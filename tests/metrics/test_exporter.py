"""The metrics page: names that follow the rules, help for every one, and a number of series that pods cannot raise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from core.builders import a_node, a_pod
from metrics.samples import QUEUE, SAMPLES
from treadle.core import Core
from treadle.core.events import NodeSeen, PodSeen
from treadle.metrics.exporter import Samples, render

LABELS = {
    "queue",
    "resource",
    "kind",
    "state",
    "result",
    "use",
    "method",
    "code",
    "solver",
    "reason",
    "le",
    "phase",
    "side",
    "during",
    "partition",
    "what",
    "inside",
    "user",
    "profile",
    "door",
}
"""Labels whose values are bounded by queues, resource types and constants; users are told of up to a number."""
UNITS = {"seconds", "bytes", "ratio"}
NOT_BASE = (
    "milliseconds",
    "minutes",
    "hours",
    "mib",
    "gib",
    "kib",
    "megabytes",
    "millis",
    "millicores",
    "percent",
    "count_total",
)


def families(samples: Samples = SAMPLES) -> list[Metric]:
    return list(text_string_to_metric_families(render(samples).decode()))


def ours(found: Iterable[Metric] | None = None) -> list[Metric]:
    return [family for family in found or families() if family.name.startswith("treadle_")]


def value(name: str, samples: Samples = SAMPLES, **labels: str) -> float:
    (found,) = [
        sample.value
        for family in families(samples)
        for sample in family.samples
        if sample.name == name and sample.labels == labels
    ]
    return float(found)


def test_the_page_can_be_read_and_has_the_process_own_numbers_too() -> None:
    names = {family.name for family in families()}

    assert "process_cpu_seconds" in names
    assert len(ours()) >= 15


def test_every_metric_says_in_a_sentence_what_it_is() -> None:
    for family in ours():
        assert family.documentation.endswith("."), family.name
        assert len(family.documentation) > 10, family.name


def test_counters_end_in_total_and_nothing_else_does() -> None:
    for family in ours():
        assert family.type in {"counter", "gauge", "histogram"}, family.name
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter"), sample.name


def test_units_are_base_units_and_stand_last() -> None:
    for family in ours():
        assert not family.name.endswith(NOT_BASE), family.name
        words = family.name.split("_")
        assert not UNITS & set(words[:-1]), family.name


def test_no_label_names_a_pod_a_node_or_an_application() -> None:
    for family in ours():
        for sample in family.samples:
            assert set(sample.labels) <= LABELS, sample.name


def test_no_family_and_no_series_stands_twice() -> None:
    found = families()
    series = [(sample.name, tuple(sorted(sample.labels.items()))) for family in found for sample in family.samples]

    assert len({family.name for family in found}) == len(found)
    assert len(set(series)) == len(series)


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("treadle_queue_resource", {"queue": "root.a", "resource": "cpu", "kind": "used"}, 1.5),
        ("treadle_queue_resource", {"queue": "root.a", "resource": "memory", "kind": "used"}, 1 << 30),
        ("treadle_queue_resource", {"queue": "root.a", "resource": "cpu", "kind": "pending"}, 0.25),
        ("treadle_queue_resource", {"queue": "root.a", "resource": "cpu", "kind": "fair_share"}, 4),
        ("treadle_queue_resource", {"queue": "root.a", "resource": "cpu", "kind": "guaranteed"}, 1),
        ("treadle_queue_resource", {"queue": "root.a", "resource": "nvidia.com/gpu", "kind": "maximum"}, 8),
        ("treadle_queue_applications", {"queue": "root.a", "state": "running"}, 1),
        ("treadle_queue_applications", {"queue": "root.a", "state": "accepted"}, 2),
        ("treadle_queue_waiting_pods", {"queue": "root.a"}, 3),
        ("treadle_pods", {"state": "waiting"}, 3),
        ("treadle_nodes", {}, 4),
        ("treadle_decisions_total", {}, 10),
        ("treadle_binds_total", {"result": "bound"}, 8),
        ("treadle_bind_seconds_total", {}, 1.25),
        ("treadle_binds_in_flight", {}, 2),
        ("treadle_binds_in_flight_limit", {}, 17.5),
        ("treadle_passes_total", {}, 99),
        ("treadle_engine_busy_seconds_total", {}, 0.5),
        ("treadle_engine_backlog_events", {}, 6),
        ("treadle_api_requests_total", {"use": "bind", "method": "POST", "code": "201"}, 8),
        ("treadle_api_requests_total", {"use": "status", "method": "PATCH", "code": "0"}, 1),
        ("treadle_watch_relists_total", {"resource": "pods"}, 1),
        ("treadle_watches_opened_total", {"resource": "pods"}, 5),
        ("treadle_queue_wait_seconds_bucket", {"queue": "root.a", "le": "5"}, 2),
        ("treadle_queue_wait_seconds_bucket", {"queue": "root.a", "le": "+Inf"}, 3),
        ("treadle_queue_wait_seconds_sum", {"queue": "root.a"}, 12.5),
        ("treadle_waiting_pods", {"reason": "Unschedulable"}, 3),
        ("treadle_waited_seconds_total", {"reason": "Unschedulable"}, 4.5),
        ("treadle_user_pods", {"user": "ann", "state": "placed"}, 1),
        ("treadle_user_resource", {"user": "ann", "resource": "cpu"}, 1.5),
        ("treadle_watch_silent_seconds", {"resource": "pods"}, 12.5),
        ("treadle_pass_duration_seconds_count", {}, 3),
        ("treadle_bind_duration_seconds_count", {}, 3),
        ("treadle_leader", {}, 0),
        ("treadle_certificate_expiry_timestamp_seconds", {"door": "service"}, 1.8e9),
        ("treadle_certificate_problem", {"door": "service"}, 0),
        ("treadle_http_connections", {"door": "service"}, 3),
        ("treadle_http_refused_total", {"door": "service", "reason": "unauthorized"}, 2),
        ("scheduler_scheduling_algorithm_duration_seconds_count", {}, 3),
        ("rest_client_requests_total", {"code": "201", "host": "10.0.0.1:6443", "method": "POST"}, 8),
        ("rest_client_requests_total", {"code": "<error>", "host": "10.0.0.1:6443", "method": "PATCH"}, 1),
        ("rest_client_request_duration_seconds_sum", {"host": "10.0.0.1:6443", "verb": "POST"}, 12.5),
        ("treadle_status_writes_total", {}, 7),
        ("treadle_events_recorded_total", {}, 3),
    ],
)
def test_every_number_arrives(name: str, labels: dict[str, str], expected: float) -> None:
    assert value(name, **labels) == expected


def test_a_leader_is_one() -> None:
    assert value("treadle_leader", replace(SAMPLES, leader=True)) == 1


def test_more_pods_make_no_more_series() -> None:
    def series(pods: int) -> int:
        core = Core()
        core.handle(NodeSeen(a_node("n", cpu=1000, memory=1000, pods=1000)), 0.0)
        for number in range(pods):
            core.handle(PodSeen(a_pod(f"p{number}", application=f"app{number}")), 0.0)
        core.plan(1.0)
        state = core.state
        queues = [replace(QUEUE, path=queue.path, used=state.types.named(queue.usage)) for queue in state.tree.queues.values()]
        return sum(len(family.samples) for family in ours(families(replace(SAMPLES, queues=queues))))

    assert series(1) == series(500)


def test_a_queues_path_may_have_any_character_that_a_path_can_have() -> None:
    odd = replace(SAMPLES, queues=[replace(QUEUE, path='root.a"\\\n')])

    assert value("treadle_queue_waiting_pods", odd, queue='root.a"\\\n') == 3


def test_an_empty_cluster_has_a_page() -> None:
    empty = replace(SAMPLES, queues=[], pods={}, binds={}, requests={}, watches={})

    assert ours(families(empty))


def test_opportunistic_pods_are_counted_by_state_with_what_they_were_given() -> None:
    assert value("treadle_opportunistic_pods", state="running") == 5
    assert value("treadle_opportunistic_room", resource="cpu") == 2.5
    assert value("treadle_opportunistic_room", resource="memory") == 1 << 30
    assert value("treadle_opportunistic_pods_removed_total", reason="Requests") == 4
    assert value("treadle_opportunistic_removal_seconds_bucket", le="5") == 2
    assert value("treadle_opportunistic_removal_seconds_bucket", le="+Inf") == 3
    assert value("treadle_opportunistic_removal_seconds_sum") == 12.5
    assert value("treadle_opportunistic_predictions_total", resource="cpu") == 5
    assert value("treadle_opportunistic_predictions_below_total", resource="cpu") == 1
    assert value("treadle_opportunistic_prediction_shortfall_total", resource="cpu") == 0.2
