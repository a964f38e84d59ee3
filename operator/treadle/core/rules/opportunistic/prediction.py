"""The most that a node will use within the next minutes, by what its pods have used.

What is given to opportunistic pods is given for minutes, so not what is used now counts but the peak until then. Several predictors are there, since none is the best
everywhere: the last sample alone (YARN-1011), a fixed part of what is requested (Borg before it learned), the sum of the pods' percentiles (Autopilot's
histograms), reservations that sink towards usage (Borg's reclamation), the node's mean and so many deviations (N-sigma), and the largest of several. How far each
is off is counted in ``accuracy``.

All amounts are of one resource type, in its unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp2, sqrt
from typing import Protocol

from treadle.core.model import opportunistic as model
from treadle.core.model.opportunistic import PredictionSettings
from treadle.core.rules.opportunistic.histograms import Histogram


@dataclass(slots=True)
class PodHistory:
    """What a pod has asked for, and what pods like it have used: the history of a kind is shared by all its pods."""

    demand: int
    used: Histogram | None = None
    reservation: Reservation | None = None


@dataclass(slots=True)
class NodeHistory:
    """The pods of a node, what the node uses by its last sample, and how that has moved."""

    pods: Sequence[PodHistory]
    used: int
    moments: Moments | None = None

    @property
    def demand(self) -> int:
        """What all its pods have asked for."""
        return sum(pod.demand for pod in self.pods)


class Predictor(Protocol):
    """Predicts a node's peak. None is below what is used now."""

    def peak(self, node: NodeHistory, now: float) -> int:
        """Return the peak."""
        ...


@dataclass(frozen=True, slots=True)
class LastSample:
    """What is used now."""

    def peak(self, node: NodeHistory, _now: float) -> int:
        """Return what is used now."""
        return node.used


@dataclass(frozen=True, slots=True)
class PartOfDemand:
    """So many thousandths of what is asked for."""

    parts: int

    def peak(self, node: NodeHistory, _now: float) -> int:
        """Return that part."""
        return max(node.used, -(-self.parts * node.demand // 1000))


@dataclass(frozen=True, slots=True)
class Percentiles:
    """For each pod what it does not exceed in ``parts`` thousandths of the time and ``margin`` thousandths of it more.

    It is all that it asks for while less than ``enough`` samples, weighed by their age, are known.
    """

    parts: int = 980
    margin: int = 100
    enough: float = 10.0

    def peak(self, node: NodeHistory, now: float) -> int:
        """Return the sum over the pods."""
        return max(node.used, sum(self.of_pod(pod, now) for pod in node.pods))

    def of_pod(self, pod: PodHistory, now: float) -> int:
        """Return the peak of a pod."""
        if pod.used is None or pod.used.weight(now) < self.enough:
            return pod.demand
        usual = pod.used.percentile(self.parts)
        return -(-usual * (1000 + self.margin) // 1000)


@dataclass(frozen=True, slots=True)
class Reservations:
    """The sum of the pods' reservations; all that a pod asks for where it has none."""

    def peak(self, node: NodeHistory, now: float) -> int:
        """Return the sum over the pods."""
        return max(node.used, sum(pod.demand if pod.reservation is None else pod.reservation.amount(now) for pod in node.pods))


@dataclass(frozen=True, slots=True)
class NSigma:
    """The node's mean and so many standard deviations; what its pods ask for while less than ``enough`` samples, weighed by their age, are known."""

    deviations: float = 5.0
    enough: float = 10.0

    def peak(self, node: NodeHistory, now: float) -> int:
        """Return mean and deviations."""
        moments = node.moments
        if moments is None or moments.weight(now) < self.enough:
            return max(node.used, node.demand)
        return max(node.used, ceil(moments.mean + self.deviations * moments.deviation))


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest of several predictions."""

    predictors: Sequence[Predictor]

    def peak(self, node: NodeHistory, now: float) -> int:
        """Return the largest."""
        return max((one.peak(node, now) for one in self.predictors), default=node.used)


def predictor(settings: PredictionSettings) -> Predictor:
    """Return the predictor that is asked for."""
    percentiles = Percentiles(settings.parts, settings.margin)
    sigma = NSigma(settings.deviations)
    found: dict[str, Predictor] = {
        model.LAST_SAMPLE: LastSample(),
        model.PART: PartOfDemand(settings.parts),
        model.PERCENTILE: percentiles,
        model.RESERVATION: Reservations(),
        model.SIGMA: sigma,
        model.LARGEST: Largest([percentiles, sigma]),
    }
    return found[settings.method]


class Reservation:
    """What is kept for a pod, as Borg does it.

    It is what the pod asks for in the beginning, then sinks by half with each half-life towards what it uses and ``margin`` thousandths more, and rises at once where it
    uses more.
    """

    __slots__ = ("_amount", "_at", "_floor", "half_life", "margin")

    def __init__(
        self, demand: int, started: float, *, margin: int = 200, half_life: float = 300.0, settled: float = 300.0
    ) -> None:
        self.margin = margin
        self.half_life = half_life
        self._amount = float(demand)
        self._floor = float(demand)
        self._at = started + settled
        """Until then it does not sink: programs use little while they start."""

    def use(self, amount: int, at: float) -> None:
        """Take what the pod uses at a time."""
        kept = self._value(at)
        self._floor = amount * (1000 + self.margin) / 1000
        self._amount = max(kept, self._floor)
        self._at = max(self._at, at)

    def amount(self, now: float) -> int:
        """Return what is kept."""
        return ceil(self._value(now))

    def _value(self, now: float) -> float:
        return self._floor + (self._amount - self._floor) * exp2(min(self._at - now, 0.0) / self.half_life)


class Moments:
    """Mean and standard deviation of what a node uses, where a sample weighs half as much for each half-life that it is older."""

    __slots__ = ("_at", "_squares", "_total", "began", "half_life", "mean")

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self.mean = 0.0
        self._total = 0.0
        self._squares = 0.0
        self.began = float("inf")
        """The time of the first sample."""
        self._at: float | None = None

    def add(self, amount: int, at: float) -> None:
        """Take what is used at a time; times do not go back."""
        kept = self.weight(at)
        factor = kept / self._total if self._total else 0.0
        self.began = min(self.began, at)
        self._at = at
        self._total = kept + 1.0
        away = amount - self.mean
        self.mean += away / self._total
        self._squares = self._squares * factor + away * (amount - self.mean)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return sqrt(max(self._squares, 0.0) / self._total) if self._total else 0.0

    def weight(self, now: float) -> float:
        """Return how many samples of now all that is known is worth."""
        return 0.0 if self._at is None else self._total * exp2(min(self._at - now, 0.0) / self.half_life)
