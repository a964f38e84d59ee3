"""After which period, or at which times of a week, something has begun again and again. No clock: times are in seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY, WEEK = 60, 3_600, 86_400, 604_800
PERIODS = tuple(minutes * MINUTE for minutes in (10, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720))
"""Periods of less than a day that are looked for, in seconds: each day has the same times then."""
NEAR = 0.1
"""The part of a period, or of a day, by which a beginning may be early or late."""
MOST = 0.8
"""The part of the beginnings that have to be near, so that there is a rhythm."""
LEAST = 3
"""Beginnings without which no rhythm is told."""
MOST_DAYS = 0.7
"""The part of the Mondays, say, on which it has to have begun, so that it does so on Mondays: more than every second week, and not without a holiday."""
WEEKS = 2
"""Weeks without which days of the week are not told apart."""
_MONDAY = datetime(1970, 1, 5)  # noqa: DTZ001 - what a clock shows, in whatever zone


@dataclass(frozen=True, slots=True)
class Rhythm:
    """It begins ``at`` so many seconds after each beginning of a ``period`` (of UTC), or, where that is a day, after the midnight of the ``days`` (Monday is 0) in a zone."""

    period: int
    at: int
    days: tuple[int, ...] = tuple(range(7))
    zone: ZoneInfo | None = None

    @property
    def recurrence(self) -> str:
        """What a Reservation says for it: a period, or a cron expression."""
        if self.period < DAY:
            return f"{self.period // HOUR}h" if self.period % HOUR == 0 else f"{self.period // MINUTE}m"
        if self.zone is None and len(self.days) in {1, 7}:
            return "24h" if len(self.days) == 7 else "168h"
        days = "*" if len(self.days) == 7 else ",".join(str((day + 1) % 7) for day in self.days)
        return f"{self.at % HOUR // MINUTE} {self.at // HOUR} * * {days}"

    @property
    def apart(self) -> int:
        """The least seconds between two beginnings, by the clock of the zone."""
        if self.period < DAY:
            return self.period
        return DAY * min((after - day - 1) % 7 + 1 for day, after in zip(self.days, (*self.days[1:], self.days[0]), strict=True))

    def near(self, time: float) -> Iterator[float]:
        """Yield beginnings around a time, in order: the last one at or before it, and later ones, are among them."""
        if self.period < DAY:
            first = (time - self.at) // self.period * self.period + self.at
            yield from (first + number * self.period for number in range(-1, 3))
            return
        zone = self.zone or UTC
        day = datetime.fromtimestamp(time, zone).date() - timedelta(days=7)
        for _ in range(16):
            if day.weekday() in self.days:
                shown = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(seconds=self.at)  # as the clock shows it
                yield shown.timestamp()
            day += timedelta(days=1)

    def nearest(self, time: float) -> float:
        """Return the beginning that is the nearest to a time."""
        return min(self.near(time), key=lambda at: abs(at - time))

    def next(self, time: float) -> float:
        """Return the first beginning after a time."""
        return next(at for at in self.near(time) if at > time)


def rhythm(starts: Sequence[float], zone: ZoneInfo | None = None) -> Rhythm | None:
    """Return the rhythm of times of beginning, as a clock of a zone shows them (UTC if none is given); None if there is none.

    The usual time between two decides whether it is one of ``PERIODS``; else they are compared by the time of day, and by the day of the week.
    Beginnings are as early or late as their median; some may be missing.
    """
    if len(starts) < LEAST:
        return None
    times = sorted(starts)
    usual = median(after - before for before, after in pairwise(times))
    for period in PERIODS:
        if abs(usual - period) <= NEAR * period:
            at = _phase(times, period)
            return None if at is None else Rhythm(period, at)
    if usual < (1 - NEAR) * DAY:
        return None
    shown = [(datetime.fromtimestamp(time, zone or UTC).replace(tzinfo=None) - _MONDAY).total_seconds() for time in times]
    at = _phase(shown, DAY)
    if at is None:
        return None
    on = [round((time - at) / DAY) for time in shown]
    days = _days(on)
    return Rhythm(DAY, at, days, zone) if days else None


def _phase(times: Sequence[float], period: int) -> int | None:
    """Return how long after the beginning of a period times are, in whole minutes; None if too few of them are near that."""
    last = times[-1]
    late = [(time - last + period / 2) % period - period / 2 for time in times]
    usual = median(late)
    if sum(abs(one - usual) <= NEAR * period for one in late) < MOST * len(late):
        return None
    return int((last + usual) % period // MINUTE * MINUTE)


def _days(on: Sequence[int]) -> tuple[int, ...]:
    """Return the days of the week of days counted from a Monday: those on most of which it was. Empty where that tells of too few of them."""
    first, last = on[0], on[-1]
    if last - first + 1 < WEEKS * 7:
        return tuple(range(7)) if len(set(on)) >= MOST * (last - first + 1) else ()
    there = set(on)
    found = []
    for weekday in range(7):
        could = [day for day in range(first, last + 1) if day % 7 == weekday]
        if could and sum(day in there for day in could) >= MOST_DAYS * len(could):
            found.append(weekday)
    kept = sum(day % 7 in found for day in on)
    return tuple(found) if kept >= MOST * len(on) else ()
