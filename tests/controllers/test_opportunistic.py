"""The settings of opportunistic pods as the core is told them."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.api.objects import parse
from treadle.controllers import translate
from treadle.core.errors import InvalidSpec
from treadle.core.model.opportunistic import (
    NEWEST,
    NodePolicy,
    OpportunisticSettings,
    PredictionSettings,
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
            "preemption": {"order": "Newest", "minimumRunTime": "1m"},
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
    )


@pytest.mark.parametrize(("block", "field"), [("usage", "maxAge"), ("prediction", "halfLife"), ("prediction", "horizon")])
def test_times_that_would_be_over_at_once_are_refused(block: str, field: str) -> None:
    settings: dict[str, Any] = {"usage": {"source": "Metrics"}}
    settings[block] = {**settings.get(block, {}), field: "0s"}
    with pytest.raises(InvalidSpec) as caught:
        told(settings)
    assert str(caught.value) == f"spec.opportunistic.{block}.{field}: '0s' is too short; allowed are 1s and more"
