"""From the settings of opportunistic pods to what the core is told."""

import ssl

from treadle.api.opportunistic import (
    Agents,
    NodeQueues,
    Opportunistic,
    OpportunisticPreemption,
    Prediction,
    Pressure,
    Pressures,
    Prometheus,
    Threshold,
    Thresholds,
    Usage,
)
from treadle.api.quantities import seconds
from treadle.core.errors import InvalidSpec
from treadle.core.model.opportunistic import (
    AGENT,
    SOME,
    AgentSettings,
    NodePolicy,
    NodeQueueSettings,
    OpportunisticSettings,
    PredictionSettings,
    PressureThreshold,
    PrometheusSettings,
)
from treadle.core.model.opportunistic import Threshold as ThresholdSpec

PERCENT = 10
"""A percent in thousandths."""
EVERY_AGENT = 2.0
"""Seconds between two looks at the node agents: they have a new sample each second."""


def settings(said: Opportunistic | None) -> OpportunisticSettings:
    """Translate the settings. Raises ``InvalidSpec``."""
    usual = OpportunisticSettings()
    if said is None:
        return usual
    usage, preemption = said.usage or Usage(), said.preemption or OpportunisticPreemption()
    return OpportunisticSettings(
        source=usage.source or usual.source,
        every=_seconds(usage.interval, "usage.interval", EVERY_AGENT if usage.source == AGENT else usual.every, least=1.0),
        prometheus=None if usage.prometheus is None else _prometheus(usage.prometheus),
        agent=_agent(usage.agent or Agents()),
        old_after=_seconds(usage.max_age, "usage.maxAge", usual.old_after, least=1.0),
        warm_up=_seconds(usage.warm_up, "usage.warmUp", usual.warm_up),
        policy=_policy(said.thresholds, said.maximum_percent, said.pressure),
        overrides=tuple(
            (tuple(sorted(one.match_labels.items())), _policy(one.thresholds, one.maximum_percent, one.pressure))
            for one in said.nodes or ()
        ),
        prediction=_prediction(said.prediction or Prediction()),
        node_queues=None if said.node_queues is None else _node_queues(said.node_queues),
        order=preemption.order or usual.order,
        emergency=None if preemption.emergency_percent is None else preemption.emergency_percent * PERCENT,
        minimum_run=_seconds(preemption.minimum_run_time, "preemption.minimumRunTime", usual.minimum_run),
    )


def _node_queues(said: NodeQueues) -> NodeQueueSettings:
    usual = NodeQueueSettings()
    return NodeQueueSettings(
        said.order == "QueueWaitTime",
        said.candidates or usual.candidates,
        said.nodes_per_pod or usual.nodes_per_pod,
        usual.deviations if said.deviations is None else float(said.deviations),
        said.minimum or usual.least,
        said.maximum or usual.most,
    )


def _prometheus(said: Prometheus) -> PrometheusSettings:
    authorities = ""
    if said.ca_bundle:
        authorities = said.ca_bundle.encode("ascii", "ignore").decode()  # names of authorities in comments may have other letters
        try:
            ssl.create_default_context(cadata=authorities or "-")
        except (ssl.SSLError, ValueError) as error:
            what = "spec.opportunistic.usage.prometheus.caBundle"
            raise InvalidSpec(f"{what}: {said.ca_bundle[:40]!r} has no certificates in PEM: {str(error)[:100]}") from error
    return PrometheusSettings(
        said.url.rstrip("/"),
        (("cpu", said.cpu_query), ("memory", said.memory_query)),
        said.node_label or "node",
        _seconds(said.window, "usage.prometheus.window", 60.0),
        _seconds(said.timeout, "usage.prometheus.timeout", 5.0, least=1.0),
        authorities,
    )


def _agent(said: Agents) -> AgentSettings:
    usual = AgentSettings()
    return AgentSettings(
        said.namespace or "",
        tuple(sorted((said.match_labels or {}).items())),
        said.port or usual.port,
        _seconds(said.timeout, "usage.agent.timeout", usual.timeout, least=1.0),
    )


def _policy(thresholds: Thresholds | None, most: int | None, pressure: Pressures | None) -> NodePolicy:
    named = {} if thresholds is None else {"cpu": thresholds.cpu, "memory": thresholds.memory}
    found = tuple((name, _threshold(one)) for name, one in named.items() if one is not None)
    waits = {} if pressure is None else {"cpu": pressure.cpu, "memory": pressure.memory}
    waiting = tuple(_pressure(name, one) for name, one in waits.items() if one is not None)
    return NodePolicy(found, pressure=waiting) if most is None else NodePolicy(found, most * PERCENT, waiting)


def _pressure(resource: str, said: Pressure) -> PressureThreshold:
    allocation, preemption = said.allocation_percent * PERCENT, said.preemption_percent * PERCENT
    return PressureThreshold(resource, said.of or SOME, allocation, preemption, said.borne_samples or 0)


def _threshold(said: Threshold) -> ThresholdSpec:
    return ThresholdSpec(said.allocation_percent * PERCENT, said.preemption_percent * PERCENT, said.borne_samples or 0)


def _prediction(said: Prediction) -> PredictionSettings:
    usual = PredictionSettings()
    return PredictionSettings(
        said.method or usual.method,
        usual.parts if said.percentile is None else said.percentile * PERCENT,
        usual.margin if said.margin_percent is None else said.margin_percent * PERCENT,
        usual.deviations if said.deviations is None else float(said.deviations),
        _seconds(said.half_life, "prediction.halfLife", usual.half_life, least=1.0),
        _seconds(said.horizon, "prediction.horizon", usual.horizon, least=1.0),
    )


def _seconds(text: str | None, field: str, usual: float, *, least: float = 0.0) -> float:
    if text is None:
        return usual
    found = seconds(text)
    if found < least:
        raise InvalidSpec(f"spec.opportunistic.{field}: {text!r} is too short; allowed are {least:g}s and more")
    return found
