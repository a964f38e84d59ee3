"""The settings of opportunistic pods as the core is told them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.core.errors import InvalidSpec
from treadle.core.model.opportunistic import (
    FULL,
    NEWEST,
    SOME,
    AgentSettings,
    NodePolicy,
    NodeQueueSettings,
    OpportunisticSettings,
    PredictionSettings,
    PressureThreshold,
    PrometheusSettings,
    Threshold,
)


def told(settings: dict[str, Any] | None) -> OpportunisticSettings:
    spec = {} if settings is None else {"opportunistic": settings}
    return translate.scheduler(
        parse("Scheduler", {"kind": "Scheduler", "metadata": {"name": "treadle"}, "spec": spec}), ()
    ).opportunistic


def test_what_is_not_said_is_as_usual() -> None:
    assert told(None) == told({}) == told({"usage": {}, "preemption": {}}) == OpportunisticSettings()


def test_all_that_is_said_is_told() -> None:
    cpu = {"allocationPercent": 70, "preemptionPercent": 90, "borneSamples": 2}
    memory = {"allocationPercent": 60, "preemptionPercent": 80}
    found = told(
        {
            "usage": {"source": "Metrics", "maxAge": "30s", "warmUp": "10s"},
            "thresholds": {"cpu": cpu, "memory": memory},
            "maximumPercent": 150,
            "prediction": {
                "method": "Largest",
                "percentile": 95,
                "marginPercent": 20,
                "deviations": 3,
                "halfLife": "1h",
                "horizon": "10m",
            },
            "preemption": {"order": "Newest", "minimumRunTime": "1m", "emergencyPercent": 95},
            "nodes": [
                {"matchLabels": {"pool": "batch", "age": "old"}, "thresholds": {"memory": memory}, "maximumPercent": 0},
                {"matchLabels": {"pool": "batch"}},
            ],
        }
    )
    on_memory = ("memory", Threshold(600, 800))
    assert found == OpportunisticSettings(
        "Metrics",
        30.0,
        10.0,
        NodePolicy((("cpu", Threshold(700, 900, 2)), on_memory), 1500),
        (((("age", "old"), ("pool", "batch")), NodePolicy((on_memory,), 0)), ((("pool", "batch"),), NodePolicy())),
        PredictionSettings("Largest", 950, 200, 3.0, 3600.0, 600.0),
        NEWEST,
        60.0,
        950,
    )


def test_queues_at_nodes_are_told_as_far_as_they_are_said() -> None:
    assert told({"nodeQueues": {}}).node_queues == NodeQueueSettings()
    said = {"order": "QueueWaitTime", "candidates": 3, "nodesPerPod": 1, "deviations": 0, "minimum": 2, "maximum": 4}
    assert told({"nodeQueues": said}).node_queues == NodeQueueSettings(True, 3, 1, 0.0, 2, 4)


def test_thresholds_of_pressure_are_told_and_so_are_those_of_nodes() -> None:
    cpu = {"allocationPercent": 20, "preemptionPercent": 40}
    memory = {"of": "Full", "allocationPercent": 5, "preemptionPercent": 10, "borneSamples": 2}
    nodes = [{"matchLabels": {"a": "b"}, "pressure": {"cpu": cpu}}]
    found = told({"usage": {"source": "Agent"}, "pressure": {"cpu": cpu, "memory": memory}, "nodes": nodes})
    on_cpu = PressureThreshold("cpu", SOME, 200, 400)
    assert found.policy.pressure == (on_cpu, PressureThreshold("memory", FULL, 50, 100, 2))
    assert found.overrides[0][1].pressure == (on_cpu,)


def test_a_prometheus_is_told_with_its_queries() -> None:
    said = {
        "url": "https://p:9090/x/",
        "cpuQuery": "c",
        "memoryQuery": "m",
        "nodeLabel": "instance",
        "window": "2m",
        "timeout": "3s",
    }
    found = told({"usage": {"source": "Prometheus", "interval": "15s", "prometheus": said}})
    assert found.prometheus == PrometheusSettings("https://p:9090/x", (("cpu", "c"), ("memory", "m")), "instance", 120.0, 3.0)
    assert (found.source, found.every, found.by_usage) == ("Prometheus", 15.0, True)


@pytest.mark.parametrize("bundle", ["none", "né", "é"])
def test_a_bundle_without_certificates_is_refused_by_its_field(bundle: str) -> None:
    said = {"url": "https://p", "cpuQuery": "c", "memoryQuery": "m", "caBundle": bundle}
    with pytest.raises(InvalidSpec) as caught:
        told({"usage": {"source": "Prometheus", "prometheus": said}})
    words = f"spec.opportunistic.usage.prometheus.caBundle: {bundle!r} has no certificates in PEM"
    assert str(caught.value).startswith(words)


def test_what_stands_beside_certificates_in_other_letters_does_not_matter() -> None:
    pem = (Path(__file__).parents[1] / "kube" / "certificates" / "server.pem").read_text()
    said = {"url": "https://p", "cpuQuery": "c", "memoryQuery": "m", "caBundle": f"# Société\n{pem}"}
    found = told({"usage": {"source": "Prometheus", "prometheus": said}}).prometheus
    assert found is not None
    assert found.authorities == f"# Socit\n{pem}"


def test_agents_are_asked_every_two_seconds_unless_something_else_is_said() -> None:
    said = {"namespace": "there", "matchLabels": {"b": "1", "a": "2"}, "port": 9, "timeout": "4s"}
    found = told({"usage": {"source": "Agent", "agent": said}})
    assert found.agent == AgentSettings("there", (("a", "2"), ("b", "1")), 9, 4.0)
    assert found.every == 2.0
    assert told({"usage": {"source": "Agent"}}).agent == AgentSettings()


@pytest.mark.parametrize(("block", "field"), [("usage", "maxAge"), ("prediction", "halfLife"), ("prediction", "horizon")])
def test_times_that_would_be_over_at_once_are_refused(block: str, field: str) -> None:
    settings: dict[str, Any] = {"usage": {"source": "Metrics"}}
    settings[block] = {**settings.get(block, {}), field: "0s"}
    with pytest.raises(InvalidSpec) as caught:
        told(settings)
    assert str(caught.value) == f"spec.opportunistic.{block}.{field}: '0s' is too short; allowed are 1s and more"
