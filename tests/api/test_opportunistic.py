"""Settings of opportunistic pods: what is refused and in which words, and which are not acted on yet."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.api.acted import not_acted_on
from treadle.api.objects import InvalidObject, parse
from treadle.api.opportunistic import URL_TEXT

METRICS = {"source": "Metrics"}
PROMETHEUS = {"url": "http://prometheus:9090", "cpuQuery": "c", "memoryQuery": "m"}


def scheduler(**settings: Any) -> dict[str, Any]:
    return {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": {"opportunistic": settings}}


def problems(**settings: Any) -> list[str]:
    with pytest.raises(InvalidObject) as caught:
        parse("Scheduler", scheduler(**settings))
    return caught.value.problems


def threshold(allocation: Any, preemption: Any, **more: Any) -> dict[str, Any]:
    return {"cpu": {"allocationPercent": allocation, "preemptionPercent": preemption, **more}}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"usage": METRICS, "thresholds": threshold(80, 70)},
            "spec.opportunistic.thresholds.cpu.preemptionPercent: must be at least allocationPercent: pods would be placed and asked to go at once",
        ),
        (
            {"nodeQueues": {"minimum": 16}},
            "spec.opportunistic.nodeQueues.minimum: minimum (5 if absent) must not be over maximum (15 if absent)",
        ),
        (
            {"nodeQueues": {"maximum": 4}},
            "spec.opportunistic.nodeQueues.minimum: minimum (5 if absent) must not be over maximum (15 if absent)",
        ),
        (
            {"thresholds": threshold(70, 80)},
            "spec.opportunistic.thresholds: is for a usage.source other than Requests: what pods request alone does not tell what is used",
        ),
        (
            {"usage": {"source": "Requests"}, "nodes": [{"matchLabels": {"a": "b"}}]},
            "spec.opportunistic.nodes: is for a usage.source other than Requests: what pods request alone does not tell what is used",
        ),
        (
            {"usage": {}, "prediction": {}},
            "spec.opportunistic.prediction: is for a usage.source other than Requests: what pods request alone does not tell what is used",
        ),
        (
            {"usage": {"source": "Prometheus"}},
            "spec.opportunistic.usage.prometheus: is required with source Prometheus, and is for it alone",
        ),
        (
            {"usage": {"source": "Metrics", "prometheus": PROMETHEUS}},
            "spec.opportunistic.usage.prometheus: is required with source Prometheus, and is for it alone",
        ),
        (
            {"usage": {"source": "Kubelets", "agent": {"port": 1}}},
            "spec.opportunistic.usage.agent: is for source Agent alone",
        ),
        (
            {"usage": {"source": "Prometheus", "prometheus": {**PROMETHEUS, "url": "http://user@host"}}},
            f"spec.opportunistic.usage.prometheus.url: 'http://user@host': {URL_TEXT}",
        ),
        (
            {"pressure": threshold(10, 20)},
            "spec.opportunistic.pressure: is for a usage.source other than Requests: what pods request alone does not tell what is used",
        ),
        (
            {"nodes": [{"matchLabels": {"a": "b"}, "pressure": threshold(10, 20)}]},
            "spec.opportunistic.nodes: is for a usage.source other than Requests: what pods request alone does not tell what is used",
        ),
        (
            {"usage": {"source": "Agent"}, "pressure": threshold(30, 20)},
            "spec.opportunistic.pressure.cpu.preemptionPercent: must be at least allocationPercent: pods would be placed and asked to go at once",
        ),
        (
            {"usage": {"source": "Guess"}},
            "spec.opportunistic.usage.source: 'Guess' is not one of 'Requests', 'Metrics', 'Kubelets', 'Prometheus' or 'Agent'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(settings: dict[str, Any], problem: str) -> None:
    assert problems(**settings) == [problem]


@pytest.mark.parametrize(
    "settings",
    [
        {"usage": METRICS, "thresholds": threshold(-1, 80)},
        {"usage": METRICS, "thresholds": threshold(10, 101)},
        {"usage": METRICS, "thresholds": threshold(10, 20, borneSamples=101)},
        {"usage": METRICS, "thresholds": {"gpu": {}}},
        {"usage": METRICS, "thresholds": {"cpu": {"allocationPercent": 10}}},
        {"usage": METRICS, "prediction": {"method": "Oracle"}},
        {"usage": METRICS, "prediction": {"percentile": 0}},
        {"usage": METRICS, "nodes": [{"matchLabels": {}}]},
        {"usage": METRICS, "nodes": [{"matchLabels": {"-": "x"}}]},
        {"usage": METRICS, "nodes": [{"matchLabels": {"a": "x" * 64}}]},
        {"maximumPercent": 1001},
        {"maximumPercent": "50"},
        {"preemption": {"order": "Oldest"}},
        {"preemption": {"minimumRunTime": "soon"}},
        {"preemption": {"emergencyPercent": 95}},
        {"usage": METRICS, "preemption": {"emergencyPercent": 101}},
    ],
)
def test_what_is_out_of_bounds_is_refused(settings: dict[str, Any]) -> None:
    assert len(problems(**settings)) == 1


def test_equal_thresholds_are_allowed() -> None:
    parse("Scheduler", scheduler(usage=METRICS, thresholds=threshold(80, 80)))


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("LastSample", []),
        ("PartOfRequests", []),
        ("NSigma", []),
        ("Percentile", ["spec.opportunistic.prediction.method"]),
        ("Reservation", ["spec.opportunistic.prediction.method"]),
        ("Largest", ["spec.opportunistic.prediction.method"]),
    ],
)
def test_methods_that_need_what_single_pods_use_are_told_not_to_be_acted_on_where_nobody_tells(
    method: str, told: list[str]
) -> None:
    settings = {"thresholds": threshold(70, 80), "maximumPercent": 50, "prediction": {"method": method, "marginPercent": 5}}
    by_prometheus = scheduler(usage={"source": "Prometheus", "prometheus": PROMETHEUS}, **settings)
    assert not_acted_on(parse("Scheduler", by_prometheus)) == told
    for source in ("Metrics", "Kubelets", "Agent"):
        assert not_acted_on(parse("Scheduler", scheduler(usage={"source": source}, **settings))) == []
