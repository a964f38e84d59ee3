"""How far predictions are off: each is held against the most that was used until its time was over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Errors:
    """What was found of predictions. Amounts are relative to the real peak, in thousandths; a prediction below it harms, one above it wastes."""

    count: int = 0
    below: int = 0
    """How many were below the peak."""
    shortfall: float = 0.0
    """The sum of what was lacking."""
    worst: float = 0.0
    """The most that was lacking of one."""
    waste: float = 0.0
    """The sum of what was too much."""

    def add(self, predicted: int, peak: int) -> None:
        """Count a prediction whose time is over."""
        self.count += 1
        off = (predicted - peak) * 1000 / max(peak, 1)
        if off < 0:
            self.below += 1
            self.shortfall -= off
            self.worst = max(self.worst, -off)
        else:
            self.waste += off

    @property
    def often_below(self) -> float:
        """The part of the predictions that were below the peak, in thousandths."""
        return self.below * 1000 / self.count if self.count else 0.0

    @property
    def mean_waste(self) -> float:
        """How much too much was predicted on average, in thousandths of the peak."""
        return self.waste / self.count if self.count else 0.0


class Watched:
    """One prediction at a time of one node, and the peak since. When ``horizon`` seconds are over it is counted and the next one is taken."""

    __slots__ = ("_at", "_peak", "_predicted", "errors", "horizon")

    def __init__(self, horizon: float, errors: Errors) -> None:
        self.horizon = horizon
        self.errors = errors
        self._predicted: int | None = None
        self._peak = 0
        self._at = 0.0

    def use(self, used: int, predicted: int, at: float) -> None:
        """Take a sample and what is predicted with it."""
        if self._predicted is not None and at - self._at <= self.horizon:
            self._peak = max(self._peak, used)
            return
        if self._predicted is not None:
            self.errors.add(self._predicted, self._peak)
        self._predicted, self._peak, self._at = predicted, used, at

    def forget(self) -> None:
        """Pods came or went, so that the prediction was about others: it is not counted."""
        self._predicted = None
