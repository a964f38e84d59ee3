"""Ranges that are as wide as what has happened lately says: where more than a tenth came after what the futures said, or before, that side is stretched.

This is split conformal prediction over the last outcomes (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World). The score of an outcome is how far from the median it came, in widths of that side of
the range as the futures gave it; a side is as many of its widths as a tenth of the scores are beyond. It is never narrower than the futures say.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from treadle.forecast.ranges import CONFIDENCE, Range

if TYPE_CHECKING:
    from treadle.forecast.ranges import Forecast, Told

WINDOW = 120
"""Outcomes that are remembered: the load of last week says little of today's."""
SUPPOSED = (-1.0, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.0)
"""Scores of outcomes for which nothing need be stretched, beside the first real ones: one alone changes nothing."""
MOST = 16.0
"""How many times as wide a side gets at the most."""
THIN = 0.02
"""What a width is at the least where it is stretched, as a part of how far ahead the median was told: futures may all say the same."""
TAIL = (100 - CONFIDENCE) / 200
"""The part of outcomes that is to lie beyond either side."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """How many times as wide each side of a range is told as the futures say."""

    early: float = 1.0
    late: float = 1.0


class Calibration:
    """The last outcomes of one kind: starts, or ends."""

    def __init__(self) -> None:
        self._scores: deque[float] = deque(maxlen=WINDOW)
        self.stretch = Stretch()

    def note(self, at: float, said: Range, happened: float) -> None:
        """Take an outcome: what the futures had said at a time of something, and when it happened; all in seconds since 1970."""
        if said.median is None:
            return  # more than half of the futures did not say when
        if happened < said.median:
            score = -(said.median - happened) / _width(at, said.median, said.earliest)
        elif said.latest is None:
            score = 0.5  # it is not late whenever it is
        else:
            score = (happened - said.median) / _width(at, said.median, said.latest)
        self._scores.append(score)
        found = sorted((*SUPPOSED, *self._scores))
        beyond = len(found) - ceil((1 - TAIL) * len(found))
        early, late = -found[beyond], found[-1 - beyond]
        self.stretch = Stretch(min(MOST, max(1.0, early)), min(MOST, max(1.0, late)))

    def told(self, at: float, said: Range | None) -> Range | None:
        """Return a range as it is told at a time, not before that time."""
        stretch = self.stretch
        if said is None or said.median is None:
            return said
        earliest, latest = said.earliest, said.latest
        if stretch.early > 1 and earliest is not None:
            earliest = min(earliest, max(at, said.median - stretch.early * _width(at, said.median, earliest)))
        if stretch.late > 1 and latest is not None:
            latest = said.median + stretch.late * _width(at, said.median, latest)
        return Range(earliest, said.median, latest)


def _width(at: float, median: float, side: float | None) -> float:
    """Return how wide a side of a range is, which is never nothing."""
    least = max(1.0, THIN * (median - at))
    return least if side is None else max(least, abs(side - median))


def calibrated(found: Forecast, starts: Calibration, ends: Calibration) -> Forecast:
    """Return a forecast with its ranges as they are told."""

    def of(one: Told) -> Told:
        return replace(
            one, first=starts.told(found.at, one.first), last=starts.told(found.at, one.last), end=ends.told(found.at, one.end)
        )

    return replace(found, applications={name: of(one) for name, one in found.applications.items()})
