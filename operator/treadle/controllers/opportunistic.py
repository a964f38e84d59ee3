"""From the settings of opportunistic pods to what the core is told."""

from treadle.api.opportunistic import Opportunistic, OpportunisticPreemption, Prediction, Threshold, Thresholds, Usage
from treadle.api.quantities import seconds
from treadle.core.errors import InvalidSpec
from treadle.core.model.opportunistic import NodePolicy, OpportunisticSettings, PredictionSettings
from treadle.core.model.opportunistic import Threshold as ThresholdSpec

PERCENT = 10
"""A percent in thousandths."""


def settings(said: Opportunistic | None) -> OpportunisticSettings:
    """Translate the settings. Raises ``InvalidSpec``."""
    usual = OpportunisticSettings()
    if said is None:
        return usual
    usage, preemption = said.usage or Usage(), said.preemption or OpportunisticPreemption()
    return OpportunisticSettings(
        source=usage.source or usual.source,
        old_after=_seconds(usage.max_age, "usage.maxAge", usual.old_after, least=1.0),
        warm_up=_seconds(usage.warm_up, "usage.warmUp", usual.warm_up),
        policy=_policy(said.thresholds, said.maximum_percent),
        overrides=tuple(
            (tuple(sorted(one.match_labels.items())), _policy(one.thresholds, one.maximum_percent)) for one in said.nodes or ()
        ),
        prediction=_prediction(said.prediction or Prediction()),
        order=preemption.order or usual.order,
        minimum_run=_seconds(preemption.minimum_run_time, "preemption.minimumRunTime", usual.minimum_run),
    )


def _policy(thresholds: Thresholds | None, most: int | None) -> NodePolicy:
    named = {} if thresholds is None else {"cpu": thresholds.cpu, "memory": thresholds.memory}
    found = tuple((name, _threshold(one)) for name, one in named.items() if one is not None)
    return NodePolicy(found) if most is None else NodePolicy(found, most * PERCENT)


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
